/** The prices of a tariff as the agent has them: silence, jumps and mistakes are one sentence, and the plans go on without. */

import { expect, it } from 'vitest';
import type { AgentContext } from '../../src/agent/agent-context.ts';
import { createPriceSupply } from '../../src/agent/price-supply.ts';
import { createProblems } from '../../src/agent/problems.ts';
import type { TariffSource } from '../../src/config/tariff-type.ts';
import type { Broker, BrokerMessage, BrokerState } from '../../src/domain/ports.ts';
import { addDuration, hours, type Instant, minutes } from '../../src/domain/units.ts';
import { createVirtualClock } from '../../src/simulation/virtual-clock.ts';
import { buildMonitorConfig } from '../mqtt/monitor-fixture.ts';

const START = Date.UTC(2026, 2, 1) as Instant;
const TOPIC = 'evcc/site/forecast/grid';

function createBench(source: TariffSource, readFile: () => string | undefined = () => undefined) {
  const clock = createVirtualClock(START);
  const log = () => {};
  const problems = createProblems(clock, log, () => {});
  let state: ((state: BrokerState) => void) | undefined;
  let receive: ((message: BrokerMessage) => void) | undefined;
  const broker = {
    watchState(report: (state: BrokerState) => void) {
      state = report;
      return () => {};
    },
    async subscribe(filter: string, onMessage: (message: BrokerMessage) => void) {
      if (filter === TOPIC) receive = onMessage;
      return true;
    },
  } as unknown as Broker;
  const config = buildMonitorConfig('mqtt://127.0.0.1', { tariff: { currency: 'EUR', source } });
  const context = {
    config,
    clock,
    log,
    problems,
    version: 'test',
    world: { secrets: { read: async (_: string, kind?: 'public') => (kind === 'public' ? readFile() : undefined) } },
  };
  let changes = 0;
  const supply = createPriceSupply(context as unknown as AgentContext, { broker, onPrices: () => changes++ });
  void supply?.start?.(new AbortController().signal);
  return {
    clock,
    connect: () => state?.({ kind: 'online', version: 5, denied: [] }),
    publish: (payload: unknown) =>
      receive?.({
        topic: TOPIC,
        payload: new TextEncoder().encode(JSON.stringify(payload)),
        retained: true,
        duplicate: false,
      }),
    prices: () => supply?.pricesAt(clock.now().wall)?.spans.map(({ price }) => price),
    problem: () =>
      problems
        .list()
        .map(({ sentence }) => sentence)
        .join(' | '),
    changes: () => changes,
    stop: () => supply?.stop?.(),
  };
}

const hourly = (...prices: number[]) =>
  prices.map((value, i) => ({
    start: new Date(addDuration(START, hours(i))).toISOString(),
    end: new Date(addDuration(START, hours(i + 1))).toISOString(),
    value,
  }));

it('a topic: prices come, fall silent, and are missed in one sentence', async () => {
  const bench = createBench({ kind: 'topic', topic: TOPIC });
  expect([bench.prices(), bench.problem()]).toEqual([undefined, '']);
  bench.connect();
  bench.publish(hourly(0.2, 0.2, 0.3));
  expect([bench.prices(), bench.problem(), bench.changes()]).toEqual([[0.2, 0.3], '', 1]);
  await bench.clock.runUntil(addDuration(START, hours(3)));
  expect(bench.prices()).toBeUndefined();
  expect(bench.problem()).toBe(
    'the topic evcc/site/forecast/grid has no price of this hour (the last ones came at 2026-03-01T00:00:00+00:00): loads are planned by carbon until they are known; check that its publisher runs',
  );
  bench.publish(hourly(0.2, 0.2, 0.3, 0.25));
  expect([bench.prices()?.at(-1), bench.problem()]).toEqual([0.25, '']);
});

it('a topic that never speaks is missed after five minutes', async () => {
  const bench = createBench({ kind: 'topic', topic: TOPIC });
  bench.connect();
  await bench.clock.runUntil(addDuration(START, minutes(6)));
  expect([bench.prices(), bench.problem()]).toEqual([undefined, expect.stringContaining('(none has come yet)')]);
});

it('prices that jump a hundredfold are refused, and those before are kept', () => {
  const bench = createBench({ kind: 'topic', topic: TOPIC });
  bench.connect();
  bench.publish(hourly(0.02, 0.03));
  bench.publish(hourly(2, 3));
  expect(bench.prices()).toEqual([0.02, 0.03]);
  expect(bench.problem()).toMatch(/^the prices of the topic \S+ are 100 times higher .*; those before are kept$/);
  bench.publish(hourly(0.02, 0.04));
  expect([bench.prices(), bench.problem()]).toEqual([[0.02, 0.04], '']);
});

it('a file is read at the start and every hour, and its mistakes are told', async () => {
  let text: string | undefined = `start,price\n${new Date(START).toISOString()},0.2\n`;
  const bench = createBench({ kind: 'file', path: '/prices.csv' }, () => text);
  await bench.clock.runUntil(addDuration(START, minutes(1)));
  expect([bench.prices(), bench.problem()]).toEqual([[0.2], '']);
  text = undefined;
  await bench.clock.runUntil(addDuration(START, minutes(61)));
  expect([bench.prices(), bench.problem()]).toEqual([
    undefined,
    'the prices of the file /prices.csv cannot be read; loads are planned by carbon until they are known',
  ]);
  bench.stop();
});

it('a table always has a price', () => {
  const bench = createBench({ kind: 'table', table: { rates: [], otherwise: 0.3 } });
  expect([bench.prices(), bench.problem()]).toEqual([[0.3], '']);
});
