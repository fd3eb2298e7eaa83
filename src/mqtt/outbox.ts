/** Stores the last value of each topic and publishes one at a time, so that a slow broker costs memory for one value per topic. */

import type { Broker } from '../domain/ports.ts';

export interface Outbox {
  /** Retained: published now, once `republish` has been called, and again after each start of the link. A value the broker has already is not sent twice. */
  setRetained(topic: string, payload: string): void;
  /** Retained no longer than it is valid: published as soon as the link allows, unless `secondsLeft` is 0 by then. */
  setExpiring(topic: string, payload: string, secondsLeft: () => number): void;
  /** Everything again. Resolves true when all of it has been offered to the broker, false when the link was lost. */
  republish(): Promise<boolean>;
  /** How many topics it keeps. */
  readonly size: number;
}

interface OutboxValue {
  readonly payload: string;
  readonly secondsLeft?: () => number;
}

export function createOutbox(broker: Broker): Outbox {
  const values = new Map<string, OutboxValue>();
  /** Topics whose value the broker does not have yet. */
  const dueTopics = new Set<string>();
  let isOpen = false;
  let sending: Promise<void> | undefined;

  const sendDueTopics = async (): Promise<void> => {
    for (const topic of dueTopics) {
      if (broker.state.kind !== 'online') return;
      dueTopics.delete(topic);
      const value = values.get(topic);
      const secondsLeft = value?.secondsLeft?.();
      if (value === undefined || (secondsLeft !== undefined && secondsLeft <= 0)) continue;
      const expiry = secondsLeft === undefined ? {} : { expiresSeconds: Math.ceil(secondsLeft) };
      const isAccepted = await broker.publish(topic, value.payload, { retain: true, ...expiry });
      if (!isAccepted && broker.state.kind !== 'online') dueTopics.add(topic);
    }
  };
  const ensureSending = (): Promise<void> => {
    sending ??= sendDueTopics().finally(() => {
      sending = undefined;
    });
    return sending;
  };
  const setValue = (topic: string, value: OutboxValue): void => {
    values.set(topic, value);
    dueTopics.add(topic);
    if (isOpen) void ensureSending();
  };

  return {
    setRetained(topic, payload) {
      if (values.get(topic)?.payload !== payload) setValue(topic, { payload });
    },
    setExpiring: (topic, payload, secondsLeft) => setValue(topic, { payload, secondsLeft }),
    async republish() {
      isOpen = true;
      for (const topic of values.keys()) dueTopics.add(topic);
      while (dueTopics.size > 0 && broker.state.kind === 'online') await ensureSending();
      return dueTopics.size === 0 && broker.state.kind === 'online';
    },
    get size() {
      return values.size;
    },
  };
}
