/** How long a start waits for the broker link: until it has a state, and never past two seconds. */

import { expect, it } from 'vitest';
import { awaitBroker } from '../../src/agent/await-broker.ts';
import type { Broker, BrokerState } from '../../src/domain/ports.ts';
import { addDuration, type Instant, seconds } from '../../src/domain/units.ts';
import { createVirtualClock } from '../../src/simulation/virtual-clock.ts';
import { createSharedBroker } from '../doubles/shared-broker.ts';

const NOON = Date.parse('2026-03-01T12:00:00Z') as Instant;

it.each([
  ['a broker that connects', 'online', true, 0],
  ['a broker that is online already', undefined, false, 0],
  ['a broker that does not answer', undefined, true, 2],
] as const)('%s', async (_, next, isConnecting, expected) => {
  const clock = createVirtualClock(NOON);
  let report = (_state: BrokerState) => {};
  const online: BrokerState = { kind: 'online', version: 5, denied: [] };
  const broker: Broker = {
    ...createSharedBroker().connect(),
    state: isConnecting ? { kind: 'connecting' } : online,
    watchState(watcher) {
      report = watcher;
      return () => {};
    },
  };
  let endedAfter: number | undefined;
  const ended = awaitBroker(broker, clock, new AbortController().signal).then(() => {
    endedAfter = clock.now().wall - NOON;
  });
  await clock.waitUntilIdle();
  expect(endedAfter === undefined).toBe(isConnecting);
  if (next === 'online') report(online);
  await clock.runUntil(addDuration(NOON, seconds(10)));
  await ended;
  expect(endedAfter).toBe(expected * 1_000);
});
