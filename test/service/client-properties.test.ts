/** What holds of the whole client whatever is asked of it, in whatever order, over whatever network: ranges, budgets, logins. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Duration, days, hours, type Instant, milliseconds, minutes, seconds } from '../../src/domain/units.ts';
import { createServiceClient, type ServiceClient } from '../../src/service/client.ts';
import type { Outcome } from '../../src/service/failure.ts';
import { createVirtualClock } from '../../src/simulation/virtual-clock.ts';
import { indexBody, instantAt, metaBody, NOON } from './client-fixture.ts';
import { createVirtualNetwork, type Journey, type NetworkAnswer } from './virtual-network.ts';

const PSCO = { region: 'PSCO', signalType: 'co2_moer' };
const written = (time: number) => `${new Date(time).toISOString().slice(0, 19)}+00:00`;

function clientOver(
  network: ReturnType<typeof createVirtualNetwork>,
  clock: ReturnType<typeof createVirtualClock>,
  fleet = 1,
): ServiceClient {
  return createServiceClient({
    url: 'https://service.invalid',
    http: network.http,
    clock,
    random: { fraction: () => 0.5 },
    credentials: async () => ({ username: 'cellar', password: 'secret-1' }),
    fleet,
    log: () => {},
  });
}

/** Times of a series within a range, both ends inclusive. */
function timesIn(start: number, end: number, period: number): number[] {
  const times: number[] = [];
  for (let time = Math.ceil(start / period) * period; time <= end; time += period) times.push(time);
  return times;
}

const valueAt = (time: number) => (time / 60_000) % 997;

type Trouble = 'slow' | 'too-large' | 'server-error' | 'throttled' | 'cut' | 'token' | 'none';

type Pair = readonly [at: number, value: number | undefined];

/** The first place where what was read is not what the service holds; undefined when it is the same. */
function differing(read: readonly Pair[], range: { readonly start: number; readonly end: number }, period: number) {
  const times = timesIn(range.start, range.end, period);
  if (read.length !== times.length) return `${read.length} read, ${times.length} held`;
  const i = times.findIndex((time, i) => read[i]?.[0] !== time || read[i]?.[1] !== valueAt(time));
  return i < 0 ? undefined : { read: read[i], truth: [times[i], valueAt(times[i] ?? 0)] };
}

/** How a service answers a piece of a range: what it may not hold, and what it is hit by at its first tries. */
interface Weather {
  readonly period: number;
  /** Pieces longer than this are too slow, or too large. */
  readonly longest: number;
  readonly heavy: 'slow' | 'too-large';
  readonly troubles: readonly Trouble[];
  readonly isUntidy: boolean;
}

const HEAVY: Readonly<Record<'slow' | 'too-large', NetworkAnswer>> = {
  slow: { kind: 'deadline', cause: 'slow' },
  'too-large': { kind: 'too-large', cause: 'large' },
};

/** The points as a service may send them: out of order, some twice, some beyond the range. */
const untidied = <Item>(items: readonly Item[], more: readonly Item[]) => [
  ...more,
  ...[...items].reverse(),
  ...items.slice(0, 3),
];

/** A service of ranges that are at most `most` long, in this weather. Counts the longest it was asked for. */
function rangesIn(weather: Weather, most: Duration, items: (start: number, end: number) => unknown) {
  const tries = new Map<string, number>();
  let asked = 0;
  let longestRequested = 0;
  let hasDied = false;
  const answer = (path: string, query: URLSearchParams): NetworkAnswer => {
    if (path === '/login') return { json: { token: 't' } };
    const [start, end] = [Date.parse(query.get('start') ?? ''), Date.parse(query.get('end') ?? '')];
    longestRequested = Math.max(longestRequested, end - start);
    if (end - start > most) return { status: 400, json: { message: 'the range is too long' } };
    const key = `${start} ${end}`;
    const tried = (tries.get(key) ?? 0) + 1;
    tries.set(key, tried);
    if (end - start > weather.longest) return HEAVY[weather.heavy];
    const trouble = tried > 2 ? 'none' : weather.troubles[asked++ % Math.max(1, weather.troubles.length)];
    switch (trouble) {
      case 'slow':
      case 'too-large':
        // Now and then a short one too; always would be a request for each point.
        if (asked < 24 && end - start >= 300_000) return HEAVY[trouble];
        break;
      case 'server-error':
        return { status: 503, json: {} };
      case 'throttled':
        return { status: 429, json: {} };
      case 'token':
        // One dies early; a second that is refused is for good.
        if (hasDied) break;
        hasDied = true;
        return { status: 401, json: {} };
      case 'cut':
        return { kind: 'cut-short', cause: 'cut' };
    }
    return { json: items(start, end) };
  };
  return { answer, longestRequested: () => longestRequested };
}

const weather = fc.record({
  period: fc.constantFrom(300_000, 900_000, 3_600_000),
  longest: fc.constantFrom(hours(5), hours(60), days(400)),
  heavy: fc.constantFrom('slow' as const, 'too-large' as const),
  troubles: fc.array(
    fc.constantFrom<Trouble>('slow', 'too-large', 'server-error', 'throttled', 'cut', 'token', 'none'),
    {
      maxLength: 12,
    },
  ),
  isUntidy: fc.boolean(),
});
/** Any start to the second, as the interface writes it. */
const start = fc
  .integer({ min: 0, max: 200_000_000 })
  .map((s) => (instantAt('2019-01-01T00:00:00Z') + s * 1_000) as Instant);
const JOURNEY = { lasts: milliseconds(200), arrives: 0.5 };

async function joined<Piece, Item>(
  pieces: AsyncIterable<{ readonly ok: boolean } & object>,
  itemsOf: (piece: Piece) => Item[],
) {
  const items: Item[] = [];
  for await (const outcome of pieces) {
    if (!outcome.ok) throw new Error(`broke off: ${JSON.stringify(outcome)}`);
    items.push(...itemsOf((outcome as unknown as { value: Piece }).value));
  }
  return items;
}

describe('any range, split and joined, is the unsplit one', () => {
  it('history', async () => {
    const length = fc.integer({ min: 0, max: 80 * 86_400 });
    await fc.assert(
      fc.asyncProperty(start, length, fc.integer({ min: 1, max: 6 }), weather, async (from, long, inFlight, kind) => {
        const clock = createVirtualClock(NOON);
        const range = { start: from, end: (from + long * 1_000) as Instant };
        const point = (time: number) => ({
          point_time: written(time),
          value: valueAt(time),
          last_updated: written(time),
        });
        const service = rangesIn(kind, days(32), (first, last) => {
          const points = timesIn(first, last, kind.period).map(point);
          const more = kind.isUntidy ? timesIn(last + 1, last + kind.period, kind.period).map(point) : [];
          return {
            data: kind.isUntidy ? untidied(points, more) : points,
            meta: metaBody({ data_point_period_seconds: kind.period / 1_000 }),
          };
        });
        const client = clientOver(
          createVirtualNetwork(clock, () => JOURNEY, service.answer),
          clock,
        );
        type Piece = { readonly points: readonly { readonly at: number; readonly value: number }[] };
        const read = joined(client.historyRange({ ...PSCO, ...range }, { inFlight }), ({ points }: Piece) =>
          points.map(({ at, value }): Pair => [at, value]),
        );
        expect(differing(await clock.runUntilDone(read), range, kind.period)).toBe(undefined);
        expect(service.longestRequested()).toBeLessThanOrEqual(days(32));
        client.stop();
      }),
      { numRuns: 15 },
    );
  });

  it('past forecasts, none asked for with more than 288 generations', async () => {
    const length = fc.integer({ min: 0, max: 5 * 86_400 });
    await fc.assert(
      fc.asyncProperty(start, length, fc.constantFrom(0, 24, 72), weather, async (from, long, horizonHours, kind) => {
        const clock = createVirtualClock(NOON);
        const range = { start: from, end: (from + long * 1_000) as Instant };
        const entry = (time: number) => ({
          generated_at: written(time),
          forecast: [{ point_time: written(time), value: valueAt(time) }],
        });
        const service = rangesIn(kind, hours(24), (first, last) => {
          const entries = timesIn(first, last, kind.period).map(entry);
          expect(entries.length).toBeLessThanOrEqual(288);
          return {
            data: kind.isUntidy ? untidied(entries, []) : entries,
            meta: metaBody({ generated_at_period_seconds: kind.period / 1_000 }),
          };
        });
        const client = clientOver(
          createVirtualNetwork(clock, () => JOURNEY, service.answer),
          clock,
        );
        type Piece = {
          readonly forecasts: readonly {
            readonly generatedAt: number;
            readonly points: readonly { value: number }[];
          }[];
        };
        const read = joined(client.pastForecastsRange({ ...PSCO, ...range, horizonHours }), ({ forecasts }: Piece) =>
          forecasts.map(({ generatedAt, points }): Pair => [generatedAt, points[0]?.value]),
        );
        expect(differing(await clock.runUntilDone(read), range, kind.period)).toBe(undefined);
        client.stop();
      }),
      { numRuns: 40 },
    );
  });
});

/** The most arrivals in any 5 minutes. */
function most(times: readonly number[]): number {
  let first = 0;
  let best = 0;
  for (const [i, time] of times.entries()) {
    while (time - (times[first] ?? 0) >= minutes(5)) first += 1;
    best = Math.max(best, i - first + 1);
  }
  return best;
}

const journey = fc.record({
  lasts: fc.oneof(fc.nat(80), fc.nat(29_000)).map(milliseconds),
  arrives: fc.double({ min: 0, max: 1, noNaN: true }),
});

describe('any interleaving of calls passes no budget', () => {
  const CALLS = {
    index: (service: ServiceClient) => service.signalIndex(PSCO),
    forecast: (service: ServiceClient) => service.forecast(PSCO),
    map: (service: ServiceClient) => service.map({ signalType: 'co2_moer' }),
    login: (service: ServiceClient) => service.login(),
    reset: (service: ServiceClient) => service.resetPassword({ username: 'cellar' }),
    register: (service: ServiceClient) =>
      service.register({ username: 'n', password: 'pass-word1', email: 'n@example.org' }),
    points: (service: ServiceClient) => service.v1.datapoints({}),
    token: (service: ServiceClient) => service.v1.token(),
  } as const satisfies Readonly<Record<string, (service: ServiceClient) => Promise<Outcome<unknown>>>>;
  const call = fc.tuple(
    fc.constantFrom(...(Object.keys(CALLS) as (keyof typeof CALLS)[])),
    // How long after the last: just so, or to the millisecond when a call that was held back may be tried again.
    fc.oneof(fc.nat(300), fc.nat(20_000), fc.nat(400_000), fc.constant('as told' as const)),
    fc.integer({ min: 1, max: 25 }),
  );

  it.each([
    // fleet   requests   logins in 5 minutes
    [100, 30, 1],
    [30, 100, 3],
  ])('of a fleet of %i: %i requests and %i logins', async (fleet, requests, logins) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(call, { maxLength: 60 }),
        fc.array(journey, { minLength: 7, maxLength: 31 }),
        async (calls, journeys) => {
          const clock = createVirtualClock(NOON);
          let sent = 0;
          const network = createVirtualNetwork(
            clock,
            () => journeys[sent++ % journeys.length] as Journey,
            (path) => ({
              json: path === '/v3/signal-index' ? indexBody() : { token: 't', ok: 'yes', user: 'n', data: [] },
            }),
          );
          const service = clientOver(network, clock, fleet);
          const underWay: Promise<unknown>[] = [];
          let retryAfter = 0;
          const recordThrottled = (outcome: Outcome<unknown>) => {
            if (!outcome.ok && outcome.failure.kind === 'throttled') retryAfter = outcome.failure.retryAfter;
          };
          for (const [name, gap, times] of calls) {
            await clock.waitUntilIdle();
            await clock.runUntil((clock.now().wall + (gap === 'as told' ? retryAfter : gap)) as Instant);
            for (let i = 0; i < times; i++) underWay.push(CALLS[name](service).then(recordThrottled));
          }
          await clock.runUntilDone(Promise.all(underWay));
          const isLogin = (path: string) => path === '/login' || path === '/api/v1/obtain-token-auth/';
          expect(most(network.arrivals.map(({ at }) => at))).toBeLessThanOrEqual(requests);
          const loginTimes = network.arrivals.filter(({ path }) => isLogin(path)).map(({ at }) => at);
          expect(most(loginTimes)).toBeLessThanOrEqual(logins);
          service.stop();
        },
      ),
      { numRuns: 60 },
    );
  });

  it('and none of it is wasted: as many as fit are sent at once', async () => {
    const clock = createVirtualClock(NOON);
    const network = createVirtualNetwork(
      clock,
      () => JOURNEY,
      (path) => ({ json: path === '/login' ? { token: 't' } : indexBody() }),
    );
    const service = clientOver(network, clock, 100);
    await clock.runUntilDone(service.login());
    await clock.runUntilDone(Promise.all(Array.from({ length: 60 }, () => service.signalIndex(PSCO))));
    expect(network.arrivals).toHaveLength(30);
    service.stop();
  });
});

it('one login an expiry, whatever 50 calls at a time meet: never two at once, never a token sent beyond its life', async () => {
  const burst = fc.tuple(fc.oneof(fc.nat(3_000_000), fc.nat(90_000)), fc.nat(49));
  await fc.assert(
    fc.asyncProperty(
      fc.array(burst, { minLength: 1, maxLength: 8 }),
      fc.array(journey, { minLength: 7, maxLength: 31 }),
      async (bursts, journeys) => {
        const clock = createVirtualClock(NOON);
        let sent = 0;
        const issuedAt = new Map<string, number>();
        let refusals = 0;
        const network = createVirtualNetwork(
          clock,
          () => journeys[sent++ % journeys.length] as Journey,
          (path, _, { headers }) => {
            const { uptime } = clock.now();
            if (path === '/login') {
              issuedAt.set(`Bearer t${issuedAt.size}`, uptime);
              return { json: { token: `t${issuedAt.size - 1}` } };
            }
            const age = uptime - (issuedAt.get(headers.authorization ?? '') ?? Number.NEGATIVE_INFINITY);
            if (age < minutes(30)) return { json: indexBody() };
            refusals += 1;
            return { status: 401, json: {} };
          },
        );
        const service = clientOver(network, clock);
        for (const [gap, more] of bursts) {
          await clock.runUntil((clock.now().wall + gap) as Instant);
          const calls = Array.from({ length: 1 + more }, () => service.signalIndex(PSCO));
          // Those of the next burst come while some of these are still under way.
          await clock.runUntilDone(Promise.race(calls));
        }
        await clock.runUntil((clock.now().wall + hours(1)) as Instant);
        const logins = [...issuedAt.values()];
        for (const [i, time] of logins.entries())
          expect(time - (logins[i - 1] ?? Number.NEGATIVE_INFINITY)).toBeGreaterThanOrEqual(minutes(29) - seconds(30));
        expect(refusals).toBe(0);
        service.stop();
      },
    ),
    { numRuns: 80 },
  );
});
