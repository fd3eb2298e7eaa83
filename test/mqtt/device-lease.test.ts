/** The claim of a device: whose it is stays known over the loss of a link, however the other agent seems to have died. */

import { expect, it } from 'vitest';
import type { Broker, BrokerMessage } from '../../src/domain/ports.ts';
import { createDeviceLease } from '../../src/mqtt/device-lease.ts';

const CLAIM = 'gridtide-owners/plug/set';
const AVAILABILITY = 'gridtide/cellar/availability';

/** A broker on which "cellar" lives and has the device; `accepts`: what the link takes. */
function createClaimedBroker() {
  const stored = new Map([
    [CLAIM, 'cellar'],
    [AVAILABILITY, 'online'],
  ]);
  const receivers = new Map<string, (message: BrokerMessage) => void>();
  const link = { accepts: true };
  const deliver = (topic: string, text: string, retained: boolean) =>
    receivers.get(topic)?.({ topic, payload: Buffer.from(text), retained, duplicate: false });
  const broker: Pick<Broker, 'publish' | 'subscribe'> = {
    async publish(topic, payload) {
      if (link.accepts) {
        stored.set(topic, payload.toString());
        deliver(topic, payload.toString(), false);
      }
      return link.accepts;
    },
    async subscribe(topic, receive) {
      if (!receivers.has(topic)) receivers.set(topic, receive);
      const text = stored.get(topic);
      if (text !== undefined) deliver(topic, text, true);
      return true;
    },
  };
  return { broker: broker as Broker, link, stored, deliver };
}

//  when the holder is said to be gone            then has it
it.each([
  ['the link takes the new claim', true, undefined],
  ['the broker is leaving too: it takes nothing', false, 'cellar'],
] as const)('%s', async (_, accepts, holder) => {
  const { broker, link, deliver } = createClaimedBroker();
  const lease = createDeviceLease('plug/set', 'garage', broker);
  await lease.acquire();
  expect(lease.otherHolder()).toBe('cellar');
  link.accepts = accepts;
  deliver(AVAILABILITY, 'offline', false);
  await new Promise((turn) => setImmediate(turn));
  expect(lease.otherHolder()).toBe(holder);
});

it('that is released while the device is acquired claims nothing', async () => {
  const { broker, stored } = createClaimedBroker();
  stored.clear();
  const lease = createDeviceLease('plug/set', 'garage', broker);
  const acquired = lease.acquire();
  await lease.release();
  await acquired;
  expect(stored.get(CLAIM)).toBe('');
});
