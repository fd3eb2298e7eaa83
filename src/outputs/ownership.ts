/** Sees to it that one agent alone commands an MQTT device: a retained claim beside the command topic, alive as long as its agent is; never takes a device from a living agent. */

import type { Broker, BrokerMessage } from '../world.ts';

export interface Ownership {
  /** Claims the device unless a living agent has it. After each start of the link. */
  claim(): Promise<void>;
  /** The agent that has it, when that is another one. */
  other(): string | undefined;
  giveUp(): Promise<void>;
}

const claimTopic = (commandTopic: string) => `gridtide-owners/${commandTopic}`;
const availabilityTopic = (device: string) => `gridtide/${device}/availability`;

/** Names are of the safe alphabet; anything else on the claim topic is no claim. */
const nameIn = ({ payload }: BrokerMessage): string | undefined => {
  const text = payload.byteLength > 64 ? '' : new TextDecoder().decode(payload);
  return /^[a-z0-9_-]{1,64}$/.test(text) ? text : undefined;
};

export function ownerOf(commandTopic: string, device: string, broker: Broker): Ownership {
  const topic = claimTopic(commandTopic);
  let holder: string | undefined;
  let foreign: string | undefined;
  /** Agents whose availability is read already on this link, with what it says. */
  let watched = new Map<string, string>();
  let given = false;

  const take = async (): Promise<void> => {
    foreign = undefined;
    await broker.publish(topic, device, { retain: true });
  };

  const watch = async (other: string): Promise<void> => {
    if (watched.has(other)) return;
    watched.set(other, 'unknown');
    await broker.subscribe(availabilityTopic(other), hearAvailability(other), { stored: true });
    await answersSettled(availabilityTopic(other));
  };

  /** The death of the holder, heard live, frees the device. */
  const hearAvailability =
    (other: string) =>
    ({ payload, retained }: BrokerMessage) => {
      const says = new TextDecoder().decode(payload.subarray(0, 16));
      watched.set(other, says);
      if (says === 'offline' && !retained && foreign === other && !given) void take();
    };

  const hearClaim = (message: BrokerMessage): void => {
    holder = nameIn(message);
    if (given || message.retained) return;
    if (holder === device) foreign = undefined;
    if (holder === undefined || holder === device) return;
    // Of two claims at once the later one stands, and both sides see the same order.
    foreign = holder;
    void watch(holder);
  };

  /** A second subscription is answered after the stored message of the first has come. */
  const answersSettled = (of: string) => broker.subscribe(of, () => {}, { stored: true });

  return {
    async claim() {
      given = false;
      holder = undefined;
      watched = new Map();
      // Without the right to read claims there is nothing to go by; the broker's refusal shows in the health.
      if (!(await broker.subscribe(topic, hearClaim, { stored: true }))) return;
      await answersSettled(topic);
      const found = holder as string | undefined;
      if (found === undefined || found === device) return take();
      await watch(found);
      if (watched.get(found) === 'online') foreign = found;
      else await take();
    },
    other: () => foreign,
    async giveUp() {
      given = true;
      if (foreign === undefined) await broker.publish(topic, '', { retain: true });
    },
  };
}
