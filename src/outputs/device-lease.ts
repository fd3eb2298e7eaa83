/** Sees to it that one agent alone commands an MQTT device: a retained claim beside the command topic, alive as long as its agent is; never takes a device from a living agent. */

import type { Broker, BrokerMessage } from '../domain/ports.ts';

export interface DeviceLease {
  /** Claims the device unless a living agent has it. After each start of the link. */
  acquire(): Promise<void>;
  /** The agent that has it, when that is another one. */
  otherHolder(): string | undefined;
  release(): Promise<void>;
}

const buildLeaseTopic = (commandTopic: string) => `gridtide-owners/${commandTopic}`;
const buildAvailabilityTopicOf = (device: string) => `gridtide/${device}/availability`;

/** Names are of the safe alphabet; anything else on the claim topic is no claim. */
const parseHolder = ({ payload }: BrokerMessage): string | undefined => {
  const text = payload.byteLength > 64 ? '' : new TextDecoder().decode(payload);
  return /^[a-z0-9_-]{1,64}$/.test(text) ? text : undefined;
};

export function createDeviceLease(commandTopic: string, device: string, broker: Broker): DeviceLease {
  const topic = buildLeaseTopic(commandTopic);
  let holder: string | undefined;
  let otherAgent: string | undefined;
  /** Agents whose availability is read already on this link, with what it says. */
  let availabilities = new Map<string, string>();
  let isReleased = false;

  const publishClaim = async (): Promise<void> => {
    otherAgent = undefined;
    await broker.publish(topic, device, { retain: true });
  };

  const watchHolder = async (other: string): Promise<void> => {
    if (availabilities.has(other)) return;
    availabilities.set(other, 'unknown');
    await broker.subscribe(buildAvailabilityTopicOf(other), receiveAvailability(other), { wantsRetained: true });
    await awaitStoredMessage(buildAvailabilityTopicOf(other));
  };

  /** The death of the holder, heard live, frees the device. */
  const receiveAvailability =
    (other: string) =>
    ({ payload, retained }: BrokerMessage) => {
      const availability = new TextDecoder().decode(payload.subarray(0, 16));
      availabilities.set(other, availability);
      if (availability === 'offline' && !retained && otherAgent === other && !isReleased) void publishClaim();
    };

  const receiveClaim = (message: BrokerMessage): void => {
    holder = parseHolder(message);
    if (isReleased || message.retained) return;
    if (holder === device) otherAgent = undefined;
    if (holder === undefined || holder === device) return;
    // Of two claims at once the later one stands, and both sides see the same order.
    otherAgent = holder;
    void watchHolder(holder);
  };

  /** A second subscription is answered after the stored message of the first has come. */
  const awaitStoredMessage = (storedTopic: string) => broker.subscribe(storedTopic, () => {}, { wantsRetained: true });

  return {
    async acquire() {
      isReleased = false;
      holder = undefined;
      availabilities = new Map();
      // Without the right to read claims there is nothing to go by; the broker's refusal shows in the health.
      if (!(await broker.subscribe(topic, receiveClaim, { wantsRetained: true }))) return;
      await awaitStoredMessage(topic);
      const found = holder as string | undefined;
      if (found === undefined || found === device) return publishClaim();
      await watchHolder(found);
      if (availabilities.get(found) === 'online') otherAgent = found;
      else await publishClaim();
    },
    otherHolder: () => otherAgent,
    async release() {
      isReleased = true;
      if (otherAgent === undefined) await broker.publish(topic, '', { retain: true });
    },
  };
}
