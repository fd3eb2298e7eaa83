/** Holds the last value of each topic and brings it to the broker, one at a time; a slow or absent broker costs memory for one value a topic and nothing else. */

import type { Broker } from '../world.ts';

export interface Outbox {
  /** Retained: published now, once `republish` has been called, and again after each start of the link. A value the broker has already is not sent twice. */
  hold(topic: string, payload: string): void;
  /** Not retained: published as soon as the link allows; `isValid` is asked before each later sending of the same value. */
  pass(topic: string, payload: string, isValid: () => boolean): void;
  /** Everything again. Resolves true when all of it has been offered to the broker, false when the link was lost. */
  republish(): Promise<boolean>;
  /** Topics held. */
  readonly size: number;
}

interface Held {
  readonly payload: string;
  readonly retain: boolean;
  readonly isValid: () => boolean;
}

export function createOutbox(broker: Broker): Outbox {
  const held = new Map<string, Held>();
  /** Topics whose value the broker does not have yet. */
  const due = new Set<string>();
  let isOpen = false;
  let pumping: Promise<void> | undefined;

  const pump = async (): Promise<void> => {
    for (const topic of due) {
      if (broker.state.kind !== 'online') return;
      due.delete(topic);
      const value = held.get(topic);
      if (value === undefined || !value.isValid()) continue;
      const taken = await broker.publish(topic, value.payload, { retain: value.retain });
      if (!taken && broker.state.kind !== 'online') due.add(topic);
    }
  };
  const run = (): Promise<void> => {
    pumping ??= pump().finally(() => {
      pumping = undefined;
    });
    return pumping;
  };
  const put = (topic: string, value: Held): void => {
    held.set(topic, value);
    due.add(topic);
    if (isOpen) void run();
  };

  return {
    hold(topic, payload) {
      if (held.get(topic)?.payload !== payload) put(topic, { payload, retain: true, isValid: () => true });
    },
    pass: (topic, payload, isValid) => put(topic, { payload, retain: false, isValid }),
    async republish() {
      isOpen = true;
      for (const topic of held.keys()) due.add(topic);
      while (due.size > 0 && broker.state.kind === 'online') await run();
      return due.size === 0 && broker.state.kind === 'online';
    },
    get size() {
      return held.size;
    },
  };
}
