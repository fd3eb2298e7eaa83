/** The outbox against a broker that can be slow, absent or unwilling. */

import { describe, expect, it } from 'vitest';
import type { Broker, BrokerState } from '../../src/domain/ports.ts';
import { createOutbox } from '../../src/mqtt/outbox.ts';

/** A broker that takes what it is offered when it is told to. */
function slowBroker() {
  let state: BrokerState = { kind: 'online', version: 5, denied: [] };
  const offered: string[] = [];
  const open: ((isAcknowledged: boolean) => void)[] = [];
  const broker: Broker = {
    start() {},
    get state() {
      return state;
    },
    watchState: () => () => {},
    publish(topic, payload) {
      if (state.kind !== 'online') return Promise.resolve(false);
      offered.push(`${topic}=${payload}`);
      return new Promise((resolve) => open.push(resolve));
    },
    subscribe: async () => true,
    ping: async () => true,
    stop: async () => {},
  };
  const turn = () => new Promise<void>((resume) => setImmediate(resume));
  return {
    broker,
    offered,
    async answers(isAcknowledged = true) {
      await turn();
      open.shift()?.(isAcknowledged);
      await turn();
    },
    become(kind: 'online' | 'offline') {
      state = kind === 'online' ? { kind, version: 5, denied: [] } : { kind, cause: 'gone', refused: false };
      if (kind === 'offline') for (const settle of open.splice(0)) settle(false);
    },
  };
}

describe('the outbox', () => {
  it('tells nothing before it is opened, then the last value of each topic', async () => {
    const { broker, offered, answers } = slowBroker();
    const box = createOutbox(broker);
    box.setRetained('a', '1');
    box.setRetained('a', '2');
    box.setRetained('b', '1');
    expect(offered).toEqual([]);
    const all = box.republish();
    await answers();
    await answers();
    expect(await all).toBe(true);
    expect(offered).toEqual(['a=2', 'b=1']);
  });

  it('offers one at a time and skips what was overtaken while it waited', async () => {
    const { broker, offered, answers } = slowBroker();
    const box = createOutbox(broker);
    await box.republish();
    for (let n = 0; n < 1_000; n += 1) {
      box.setRetained('a', `${n}`);
      box.setRetained('b', `${n}`);
    }
    expect(offered).toEqual(['a=0']);
    await answers();
    await answers();
    await answers();
    expect(offered).toEqual(['a=0', 'b=999', 'a=999']);
    expect(box.size).toBe(2);
  });

  it('does not repeat a value the broker has', async () => {
    const { broker, offered, answers } = slowBroker();
    const box = createOutbox(broker);
    await box.republish();
    box.setRetained('a', '1');
    await answers();
    box.setRetained('a', '1');
    expect(offered).toEqual(['a=1']);
  });

  it('keeps what a lost link did not take, and tells all again with the next one', async () => {
    const { broker, offered, answers, become } = slowBroker();
    const box = createOutbox(broker);
    await box.republish();
    box.setRetained('a', '1');
    become('offline');
    box.setRetained('b', '1');
    expect(await box.republish()).toBe(false);
    become('online');
    const all = box.republish();
    await answers();
    await answers();
    expect(await all).toBe(true);
    expect(offered.toString()).toMatch(/^a=1,(a=1,b=1|b=1,a=1)$/);
  });

  it('does not offer again and again what the broker denies', async () => {
    const { broker, offered, answers } = slowBroker();
    const box = createOutbox(broker);
    box.setRetained('a', '1');
    const all = box.republish();
    await answers(false);
    expect(await all).toBe(true);
    expect(offered).toEqual(['a=1']);
  });

  it('leaves out a passing value that has expired', async () => {
    const { broker, offered, answers } = slowBroker();
    const box = createOutbox(broker);
    await box.republish();
    let left = 60;
    box.setExpiring('signal', '21', () => left);
    await answers();
    left = 0;
    expect(await box.republish()).toBe(true);
    expect(offered).toEqual(['signal=21']);
  });
});
