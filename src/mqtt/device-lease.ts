/** Ensures that only one agent of a broker commands an MQTT device: a retained claim under its command topic, valid while its agent lives. */

import type { Broker, BrokerMessage } from '../domain/ports.ts';
import { NAME_PATTERN } from '../domain/text-format.ts';
import type { DeviceLease } from '../outputs/output.ts';
import { buildLeaseTopic, buildTopics } from './topics.ts';

/** Names are of the safe alphabet; anything else on the claim topic is no claim. */
const parseHolder = ({ payload }: BrokerMessage): string | undefined => {
  const text = payload.byteLength > 64 ? '' : new TextDecoder().decode(payload);
  return NAME_PATTERN.test(text) ? text : undefined;
};

/** The broker answers a second subscription after it has sent the stored message of the first. */
const awaitStoredMessage = (broker: Broker, topic: string) =>
  broker.subscribe(topic, () => {}, { wantsRetained: true });

export function createDeviceLease(commandTopic: string, device: string, broker: Broker): DeviceLease {
  const topic = buildLeaseTopic(commandTopic);
  let holder: string | undefined;
  let otherAgent: string | undefined;
  /** The availability of each other agent, as published on this link. */
  let availabilities = new Map<string, string>();
  let isReleased = false;
  let onHolderChange = () => {};

  /** Its echo makes it count: a broker that is leaving tells of the holder's death too. */
  const publishClaim = () => broker.publish(topic, device, { retain: true });

  /** The death of the holder, received live, frees the device. */
  const receiveAvailability = (other: string, { payload, retained }: BrokerMessage): void => {
    const availability = new TextDecoder().decode(payload.subarray(0, 16));
    availabilities.set(other, availability);
    if (availability === 'offline' && !retained && otherAgent === other && !isReleased) void publishClaim();
  };

  const watchAvailability = async (other: string): Promise<void> => {
    if (availabilities.has(other)) return;
    availabilities.set(other, 'unknown');
    const { availability } = buildTopics({ device: other });
    await broker.subscribe(availability, (message) => receiveAvailability(other, message), { wantsRetained: true });
    await awaitStoredMessage(broker, availability);
  };

  const receiveClaim = (message: BrokerMessage): void => {
    holder = parseHolder(message);
    if (isReleased || message.retained || holder === undefined) return;
    const before = otherAgent;
    // Of two claims at once the later one counts, and both sides see the same order.
    otherAgent = holder === device ? undefined : holder;
    if (otherAgent !== undefined) void watchAvailability(otherAgent);
    if (otherAgent !== before) onHolderChange();
  };

  return {
    async acquire() {
      isReleased = false;
      holder = undefined;
      availabilities = new Map();
      // Without the right to read claims the lease counts as acquired; health names the broker's refusal.
      if (!(await broker.subscribe(topic, receiveClaim, { wantsRetained: true }))) return;
      await awaitStoredMessage(broker, topic);
      const found = holder as string | undefined;
      if (found !== undefined && found !== device) await watchAvailability(found);
      otherAgent = found !== undefined && availabilities.get(found) === 'online' ? found : undefined;
      if (otherAgent === undefined && !isReleased) await publishClaim();
    },
    otherHolder: () => otherAgent,
    watchHolder(onChange) {
      onHolderChange = onChange;
    },
    async release() {
      isReleased = true;
      if (otherAgent === undefined) await broker.publish(topic, '', { retain: true });
    },
  };
}
