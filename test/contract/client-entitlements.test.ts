/** The account's plan over days, against the service: read once a day, its changes noticed and said. */

import { afterEach, expect, it } from 'vitest';
import { days, hours, minutes } from '../../src/domain/units.ts';
import type { ServiceClient } from '../../src/service/client.ts';
import { createEntitlementPoller } from '../../src/service/entitlements/entitlement-poller.ts';
import { chooseModel } from '../../src/service/entitlements/pinned-model.ts';
import type { Failure } from '../../src/service/failure.ts';
import { type ClientAndReference, PSCO, startClientAndReference } from './client-and-reference.ts';
import { isPublished } from './profile-under-test.ts';

let pair: ClientAndReference | undefined;
afterEach(() => pair?.close());

async function watching(service: (pair: ClientAndReference) => ServiceClient) {
  pair = await startClientAndReference();
  const changes: string[] = [];
  const failures: Failure['kind'][] = [];
  const { clock } = pair;
  const asked = service(pair);
  const watch = createEntitlementPoller({
    // Time stands while a request is under way, as it does for the agent in a replay.
    service: {
      async myAccess(query) {
        const release = clock.pause();
        const outcome = await asked.myAccess(query);
        release();
        return outcome;
      },
    },
    clock,
    random: { fraction: () => 0.5 },
    onEntitlements: (_, found) => changes.push(...found),
    onFailure: (failure) => failures.push(failure.kind),
  });
  return { pair, watch, told: changes, failures, service: asked };
}

it('is read once a day', async () => {
  const { pair, watch, service, told: changes } = await watching((pair) => pair.client('analyst'));
  expect(watch.entitlements()).toBe(undefined);
  watch.pollFor(PSCO);
  expect(watch.entitlements()).toMatchObject({ forecast: 'unknown', index: 'open' });
  await pair.pass(minutes(1));
  expect(watch.entitlements()).toMatchObject({
    forecast: 'open',
    map: isPublished ? 'unknown' : 'open',
    isListed: true,
  });
  await pair.pass(days(10));
  const { requests, logins } = service.counts();
  expect(requests - logins).toBeGreaterThanOrEqual(10);
  expect(requests - logins).toBeLessThanOrEqual(12);
  expect(changes).toEqual([]);
  watch.stop();
});

it('a subscription that begins is said within a day, one that ends at the first refused request', async () => {
  let plan: 'free' | 'basic' = 'free';
  const {
    pair,
    watch,
    told: changes,
  } = await watching((pair) =>
    pair.client('pro', { credentials: async () => ({ username: plan, password: 'pass-word1' }) }),
  );
  watch.pollFor(PSCO);
  await pair.pass(hours(1));
  expect(changes).toEqual([]);
  watch.observeGate('forecast', 'closed');
  expect(changes[0]).toBe('the account does not include the forecast of PSCO; a subscription does');
  changes.length = 0;
  plan = 'basic';
  await pair.pass(days(1));
  expect(changes).toContain('the account now includes the forecast of PSCO');
  changes.length = 0;
  plan = 'free';
  await pair.pass(days(1));
  expect(watch.entitlements()?.forecast).toBe('unknown');
  watch.observeGate('forecast', 'closed');
  expect(changes).toContain('the account does not include the forecast of PSCO; a subscription does');
  watch.stop();
});

it('a gate met by a request is said at once, and once', async () => {
  const { pair, watch, told: changes } = await watching((pair) => pair.client('analyst'));
  watch.pollFor(PSCO);
  await pair.pass(minutes(1));
  watch.observeGate('map', 'closed');
  watch.observeGate('map', 'closed');
  watch.observeGate('forecast', 'open');
  expect(changes).toEqual(['the account does not include the map of PSCO; an analyst or pro subscription does']);
  watch.stop();
});

//  the account   described as   a request meets   said, in three days
const contradictions = [
  ['analyst', 'open', 'closed', ['the account does not include the forecast of PSCO; a subscription does']],
  ['free', 'unknown', 'open', []],
] as const;
it.each(contradictions)('%s: what is described as %s and met %s is said once', async (plan, _, observed, expected) => {
  const { pair, watch, told: changes } = await watching((pair) => pair.client(plan));
  watch.pollFor(PSCO);
  await pair.pass(minutes(1));
  changes.length = 0;
  watch.observeGate('forecast', observed);
  await pair.pass(days(3));
  expect(changes).toEqual(expected);
  expect(watch.entitlements()?.forecast).toBe(observed);
  watch.stop();
});

it('a gate met before the first description stays as it was met', async () => {
  const { pair, watch, told: changes } = await watching((pair) => pair.client('analyst'));
  watch.pollFor(PSCO);
  watch.observeGate('forecast', 'closed');
  await pair.pass(days(2));
  expect(changes).toEqual(['the account does not include the forecast of PSCO; a subscription does']);
  watch.stop();
});

it('a service that is away leaves the plan as it was and is asked again', async () => {
  const { pair, watch, failures } = await watching((pair) => pair.client('analyst'));
  watch.pollFor(PSCO);
  await pair.pass(minutes(1));
  pair.setFaults({ fault: '503' });
  await pair.pass(days(1));
  expect(failures.length).toBeGreaterThan(2);
  expect(new Set(failures)).toEqual(new Set(['server-error']));
  expect(watch.entitlements()).toMatchObject({ forecast: 'open' });
  pair.setFaults();
  await pair.pass(minutes(10));
  const before = failures.length;
  await pair.pass(hours(12));
  expect(failures.length).toBe(before);
  watch.stop();
});

it('a region the service no longer knows is refused, and asked for again within the hour', async () => {
  const { pair, watch, failures } = await watching((pair) => pair.client('analyst'));
  pair.setFaults({ fault: 'map-rename', value: 'PSCO:PSCO_EAST' });
  watch.pollFor(PSCO);
  await pair.pass(minutes(90));
  expect(failures).toEqual(['rejected', 'rejected']);
  watch.pollFor({ ...PSCO, region: 'PSCO_EAST' });
  await pair.pass(minutes(1));
  expect(failures).toHaveLength(2);
  watch.stop();
});

it('its models tell that a pinned one has ended', async () => {
  const { pair, watch } = await watching((pair) => pair.client('analyst'));
  watch.pollFor(PSCO);
  await pair.pass(minutes(1));
  const models = watch.entitlements()?.models ?? [];
  const now = pair.clock.now().wall;
  expect(chooseModel('2026-03-01', models, now)).toEqual({ model: '2026-03-01' });
  expect(chooseModel('2025-03-01', models, now)).toEqual({
    note: "model 2025-03-01 has made no new data since 2026-04-13; the service's default is used",
  });
  watch.stop();
});
