/** Rows 5 to 14 of the fault table: signal data that are old, torn, mixed up, wrong or restless, seen on the whole agent. */

import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { days, formatInstant, hours, type Instant, minutes } from '../../src/domain/units.ts';
import { decodeForecast } from '../../src/service/api/decode-data.ts';
import type { Basis } from '../../src/signal/signal-view.ts';
import { createVirtualClock, type VirtualClock } from '../../src/simulation/virtual-clock.ts';
import {
  type AnswerOverride,
  buildForecastBody,
  PERIOD,
  REGION,
  rateAt,
  type ServiceBody,
  scriptedJson,
  startOfSlot,
  startSignalService,
} from './scripted-signal-service.ts';
import { createTestRandom } from './test-random.ts';
import {
  CAR_LINE,
  createVirtualAgent,
  findShortCycles,
  START,
  type VirtualAgent,
  type VirtualAgentOptions,
  WATER_LINE,
} from './virtual-agent.ts';

const random = createTestRandom('signal data');
const seed = () => Math.floor(random.fraction() * 2 ** 31);

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const one of undo.splice(0).reverse()) await one();
});

async function onGrid(
  bend: AnswerOverride,
  options: Partial<VirtualAgentOptions> = {},
): Promise<VirtualAgent & { readonly clock: VirtualClock }> {
  const clock = createVirtualClock(options.start === undefined ? START : (Date.parse(options.start) as Instant));
  const grid = await startSignalService(clock, bend);
  undo.push(() => grid.close());
  const home = await createVirtualAgent({ seed: 1, clock, url: grid.url, ...options });
  undo.push(() => home.close());
  return home;
}

const MORNING = '2026-03-03T06:00:00Z';
const shape = (home: VirtualAgent) =>
  home.edges.map(({ line, high, at }) => `${line} ${high} ${Math.round(at / minutes(1))}`);
const isForecast = (path: string) => path === '/v3/forecast';
const usual: AnswerOverride = () => undefined;

let goodDay: readonly string[] | undefined;
/** The edges of the same house and hours with nothing wrong. */
async function edgesOfAGoodDay(): Promise<readonly string[]> {
  if (goodDay !== undefined) return goodDay;
  const home = await onGrid(usual, { start: MORNING });
  await home.start();
  await home.pass(hours(8));
  goodDay = shape(home);
  return goodDay;
}

describe('5 the service is gone for days', () => {
  const TANK = `
loads:
  water: {type: tank, powerKw: 3, onBelow: 45, offAbove: 55, minOn: 20m, minOff: 15m, failSafe: off, initialLevel: off, onStop: hold, output: {kind: relay, pin: 17}}
  car: {type: ev, powerKw: 7.2, failSafe: off, initialLevel: off, onStop: hold, goal: {need: 2h, by: "07:00", from: "18:00"}, output: {kind: relay, pin: 22}}
`;
  const RUNGS: readonly Basis[] = [
    'fresh-forecast',
    'live-index',
    'ageing-forecast',
    'own-profile',
    'default-window',
    'fail-safe',
  ];

  async function outage(before: number, length: number) {
    const home = await onGrid(usual, { loads: TANK });
    await home.start();
    await home.pass(before as ReturnType<typeof hours>);
    home.network.isDown = true;
    const from = home.clock.now().wall;
    const bases: Record<string, Basis[]> = { water: [], car: [] };
    for (let hour = 0; hour < length / hours(1); hour++) {
      await home.pass(hours(1));
      for (const { load, basis } of home.agent.snapshot().decisions)
        if (bases[load]?.at(-1) !== basis) bases[load]?.push(basis);
    }
    return { home, from, bases };
  }

  it('5 after two hours of data: ageing forecast, then the default window or fail-safe, never upwards; one step back up', async () => {
    const { home, from, bases } = await outage(hours(2), days(4));
    expect(bases.water).toEqual(['ageing-forecast', 'fail-safe']);
    expect(bases.car?.at(-1)).toBe('default-window');
    for (const seen of [bases.water ?? [], bases.car ?? []]) {
      const ranks = seen.map((basis) => RUNGS.indexOf(basis));
      expect(ranks).toEqual([...ranks].sort((a, b) => a - b));
    }
    // Without data the tank rests; the car still has its two hours each night.
    const late = home.edges.filter(({ at }) => at > from + hours(80));
    expect(late.filter(({ line }) => line === WATER_LINE)).toEqual([]);
    expect(late.filter(({ line }) => line === CAR_LINE).length).toBeGreaterThan(0);
    expect(home.warningsAbout('service:forecast').length).toBe(1);
    expect(home.warningsAbout('service:live-index').length).toBe(1);

    home.network.isDown = false;
    await home.pass(minutes(11));
    expect(home.agent.snapshot().view).toMatchObject({
      index: { basis: 'live-index' },
      horizon: { basis: 'fresh-forecast' },
    });
    expect(findShortCycles(home.edges, WATER_LINE, { on: minutes(20), off: minutes(15) })).toEqual([]);
  });

  it('5 after four days of data the own profile stands in between', async () => {
    const { bases } = await outage(days(3.6), days(5));
    expect(bases.car).toContain('own-profile');
    const ranks = (bases.car ?? []).map((basis) => RUNGS.indexOf(basis));
    expect(ranks).toEqual([...ranks].sort((a, b) => a - b));
  });

  it('5 the forecast alone is gone: the live index drives the tank for as long as it answers', async () => {
    const home = await onGrid(({ path }) => (isForecast(path) && isOut ? scriptedJson({}, 503) : undefined));
    let isOut = false;
    await home.start();
    // Each look is late in a slot: this agent's own moment to ask has come by then.
    await home.pass(minutes(64));
    isOut = true;
    for (let hour = 0; hour < 12; hour++) {
      await home.pass(hours(1));
      expect(home.agent.snapshot().view?.index?.basis).toBe('live-index');
    }
    expect(home.agent.snapshot().view?.horizon?.basis).toBe('ageing-forecast');
  });
});

it('6 gaps: a missing slot is unknown for as long as it lasts, and nothing is put in its place', async () => {
  const isMissing = (at: number) => Math.floor(at / PERIOD) % 4 === 1;
  const home = await onGrid(
    ({ path }, _, usual) => {
      if (path === '/v3/signal-index') return scriptedJson({}, 503);
      if (!isForecast(path)) return undefined;
      const { data, meta } = usual();
      return scriptedJson({
        data: data.filter(({ point_time }) => !isMissing(Date.parse(point_time))),
        meta,
      });
    },
    { start: MORNING },
  );
  await home.start();
  const seen = { known: 0, unknown: 0 };
  for (let minute = 0; minute < 180; minute++) {
    await home.pass(minutes(1));
    const { view } = home.agent.snapshot();
    const now = home.clock.now().wall;
    if (isMissing(now)) {
      seen.unknown++;
      expect([view?.rate, view?.index]).toEqual([undefined, undefined]);
      expect(view?.horizon?.values[0]).toBeNaN();
    } else {
      seen.known++;
      expect(view?.rate?.value).toBe(rateAt(startOfSlot(now)));
    }
  }
  expect(seen.known).toBeGreaterThan(100);
  expect(seen.unknown).toBeGreaterThan(30);
});

describe('7 points in any order, once or twice', () => {
  const body = buildForecastBody(START);
  const asked = { region: REGION, signalType: 'co2_moer' };
  const read = (data: readonly unknown[]) => decodeForecast({ ...body, data }, asked);

  it('7 any order of the same points is the same forecast', () => {
    const good = read(body.data);
    fc.assert(
      fc.property(fc.shuffledSubarray(body.data as unknown[], { minLength: body.data.length }), (data) => {
        expect(read(data)).toEqual(good);
      }),
      { seed: seed(), numRuns: 25 },
    );
  });

  it('7 of a repeated point the last one counts', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 863 }), fc.integer({ min: 0, max: 2_000 }), (i, value) => {
        const again = { ...body.data[i], value };
        const outcome = read([...body.data, again]);
        expect(outcome.ok && outcome.value.points.length).toBe(864);
        expect(outcome.ok && outcome.value.points[i]?.value).toBe(value);
      }),
      { seed: seed(), numRuns: 50 },
    );
  });

  it('7 the agent switches as on a day without that', async () => {
    const home = await onGrid(
      ({ path }, _, usual) => {
        if (!isForecast(path)) return undefined;
        const { data, meta } = usual();
        const odd = data.map((_: unknown, i: number) => data[(i * 431) % data.length]);
        return scriptedJson({ data: [...odd, ...data.slice(0, 90)], meta });
      },
      { start: MORNING },
    );
    await home.start();
    await home.pass(hours(8));
    expect(shape(home)).toEqual(await edgesOfAGoodDay());
  });
});

describe('8 values that are none', () => {
  const body = buildForecastBody(START);
  const broken = fc.oneof(
    fc.constantFrom(null, 'NaN', 'n/a', '', true, [], {}, 1e7, -1e7),
    fc.string(),
    fc.double({ min: 1e6 + 1, noNaN: true }),
  );

  it('8 any nonsense among them costs only the points it stands in; too much of it costs the document', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.tuple(fc.integer({ min: 0, max: 863 }), broken), { maxLength: 400, selector: ([i]) => i }),
        (bad) => {
          const spoilt = new Map(bad);
          const data = body.data.map((point, i) => (spoilt.has(i) ? { ...point, value: spoilt.get(i) } : point));
          const outcome = decodeForecast({ ...body, data }, { region: REGION, signalType: 'co2_moer' });
          if (bad.length > 864 * 0.2) return expect(outcome.ok).toBe(false);
          expect(outcome.ok && outcome.value.points.length).toBe(864 - bad.length);
          expect(outcome.ok && outcome.value.refusedPoints).toBe(bad.length);
        },
      ),
      { seed: seed(), numRuns: 60 },
    );
  });

  it('8 an index of 1e999, 101, -1, null or text is refused, negative rates are values', async () => {
    const odd = ['1e999', '101', '-1', 'null', '"NaN"', '"30"'];
    let turn = -1;
    const home = await onGrid(
      ({ path }, now, usual) => {
        if (path === '/v3/signal-index' && ++turn < odd.length) {
          const text = JSON.stringify({
            ...usual(),
            data: [{ point_time: formatInstant(startOfSlot(now)), value: 'HERE' }],
          });
          return { headers: { 'content-type': 'application/json' }, body: text.replace('"HERE"', odd[turn] ?? '') };
        }
        if (!isForecast(path)) return undefined;
        const { data, meta } = usual();
        return scriptedJson({ data: data.map((point) => ({ ...point, value: Number(point.value) - 500 })), meta });
      },
      { start: MORNING },
    );
    await home.start();
    for (let minute = 0; minute < 240; minute++) {
      await home.pass(minutes(1));
      const index = home.agent.snapshot().view?.index;
      if (turn < odd.length) expect(index?.basis).not.toBe('live-index');
      expect(index === undefined || (index.value >= 0 && index.value <= 100)).toBe(true);
    }
    await home.pass(minutes(4));
    expect(turn).toBeGreaterThan(odd.length);
    expect(home.agent.snapshot().view?.rate?.value).toBeLessThan(200);
    expect(home.agent.snapshot().view?.index?.basis).toBe('live-index');
  });
});

describe('9 a forecast that is not what was asked for', () => {
  const rows: readonly (readonly [string, (usual: ServiceBody) => ServiceBody, RegExp])[] = [
    ['another region', (u) => ({ ...u, meta: { ...u.meta, region: 'ERCOT' } }), /meta\.region is ERCOT, expected PSCO/],
    ['another unit', (u) => ({ ...u, meta: { ...u.meta, units: 'kg_per_kwh' } }), /meta\.units is kg_per_kwh/],
    ['percentiles', (u) => ({ ...u, meta: { ...u.meta, units: 'percentile' } }), /meta\.units is percentile/],
    ['another spacing', (u) => ({ ...u, meta: { ...u.meta, data_point_period_seconds: 420 } }), /points 420 s apart/],
    ['another signal', (u) => ({ ...u, meta: { ...u.meta, signal_type: 'health_damage' } }), /meta\.signal_type/],
  ];
  it.each(rows)('9 %s: refused with received and expected, the one held stays', async (_, bend, words) => {
    let isOdd = false;
    const home = await onGrid(({ path }, __, usual) =>
      isForecast(path) && isOdd ? scriptedJson(bend(usual())) : undefined,
    );
    await home.start();
    await home.pass(minutes(7));
    isOdd = true;
    const generatedAt = home.agent.snapshot().view?.horizon?.generatedAt;
    await home.pass(minutes(40));
    const { view } = home.agent.snapshot();
    expect(view?.horizon?.generatedAt).toBe(generatedAt);
    expect(view?.horizon?.basis).toBe('ageing-forecast');
    expect(view?.horizon?.values[0]).toBe(rateAt(startOfSlot(home.clock.now().wall)));
    expect(home.warningsAbout('service:forecast').length).toBe(1);
    expect(home.warningsAbout('service:forecast')[0]).toMatch(words);
  });
});

it('10 a cache hands out old forecasts: the newer one held is never given up for them', async () => {
  let turn = 0;
  const home = await onGrid(({ path }, now, _) =>
    isForecast(path) && ++turn % 3 !== 1
      ? scriptedJson(buildForecastBody((now - minutes(60 * (turn % 5))) as Instant))
      : undefined,
  );
  await home.start();
  let newest = 0;
  for (let step = 0; step < 60; step++) {
    await home.pass(minutes(3));
    const at = home.agent.snapshot().view?.horizon?.generatedAt ?? 0;
    expect(at).toBeGreaterThanOrEqual(newest);
    newest = at;
  }
  expect(turn).toBeGreaterThan(30);
  expect(home.clock.now().wall - newest).toBeLessThan(minutes(20));
});

it('11 the model changes in the night: noted once, and no line moves by it', async () => {
  const change = Date.parse(MORNING) + hours(2.5);
  const home = await onGrid(
    ({ path }, now, usual) => {
      if (!isForecast(path) || now < change) return undefined;
      const { data, meta } = usual();
      return scriptedJson({ data, meta: { ...meta, model: { date: '2027-03-01' } } });
    },
    { start: MORNING },
  );
  await home.start();
  await home.pass(hours(8));
  expect(
    home.logEntries.filter(({ message }) => /the data model changed from 2026-03-01 to 2027-03-01/.test(message))
      .length,
  ).toBe(1);
  expect(shape(home)).toEqual(await edgesOfAGoodDay());
});

it('12 warnings in each answer: said once, and nothing is stopped by them', async () => {
  const warnings = [{ type: 'data_quality', message: 'Some inputs were late.' }];
  const home = await onGrid(
    ({ path }, _, usual) =>
      path.startsWith('/v3/forecast') || path.startsWith('/v3/signal')
        ? scriptedJson({ ...usual(), meta: { ...usual().meta, warnings } })
        : undefined,
    { start: MORNING },
  );
  await home.start();
  await home.pass(hours(8));
  expect(
    home.logEntries.filter(({ message }) => /Some inputs were late/.test(message)).map(({ level }) => level),
  ).toEqual(['warn']);
  expect(shape(home)).toEqual(await edgesOfAGoodDay());
});

describe('13 a forecast that is closed and ages beside a live index', () => {
  const COAL = '{latitude: 39.7, longitude: -105, timezone: America/Denver}';
  const TANK = `
loads:
  water: {type: tank, powerKw: 3, failSafe: off, initialLevel: off, onStop: hold, output: {kind: relay, pin: 17}}
`;

  /** A day after the forecast was closed, or of a house that never had one; looked at each minute. */
  async function dayAfter(reference: number, plan: 'basic' | 'free') {
    const home = await createVirtualAgent({ seed: reference, plan, place: COAL, loads: TANK });
    undo.push(() => home.close());
    await home.start();
    await home.pass(hours(1));
    home.setFaults({ fault: 'plan-change', value: 'free' });
    await home.pass(minutes(30));
    const from = home.clock.now().wall;
    const seen = new Set<string | undefined>();
    while (home.clock.now().wall < from + days(1)) {
      await home.pass(minutes(1));
      seen.add(home.agent.snapshot().view?.index?.basis);
    }
    const edges = home.edges.filter(({ line, at }) => line === WATER_LINE && at >= from);
    return { seen: [...seen], edges, basis: home.agent.snapshot().view?.horizon?.basis };
  }

  // With GRIDTIDE_ROWS=all on three grids.
  it.each(process.env.GRIDTIDE_ROWS === 'all' ? [1, 2, 3] : [1])(
    '13 coal, grid %d: the tank switches as often as in a house that has the index alone',
    async (n) => {
      const [closed, alone] = [await dayAfter(n, 'basic'), await dayAfter(n, 'free')];
      expect(closed.basis).toBe('ageing-forecast');
      expect(closed.seen).toEqual(['live-index']);
      expect(closed.edges).toEqual(alone.edges);
    },
  );

  it('13 the index alone: a start is spread, though its moment comes while the next index is due', async () => {
    const clock = createVirtualClock(START);
    const grid = await startSignalService(clock, ({ path }, now, usual) => {
      if (isForecast(path)) return scriptedJson({ error: 'Invalid scope.' }, 403);
      if (path !== '/v3/signal-index') return undefined;
      return scriptedJson({ ...usual(), data: [{ point_time: formatInstant(startOfSlot(now)), value: 10 }] });
    });
    undo.push(() => grid.close());
    for (let house = 0; house < 12; house++) {
      const home = await createVirtualAgent({
        seed: house,
        clock,
        url: grid.url,
        loads: TANK,
        device: `house-${house}`,
      });
      undo.push(() => home.close());
      await home.start();
      await home.pass(minutes(16));
      expect([house, home.edges.filter(({ high }) => high).length]).toEqual([house, 1]);
    }
  });
});

it('13 an index that flaps for days: least times and budgets of starts hold, restarts or not', async () => {
  const LOADS = `
loads:
  water: {type: tank, powerKw: 3, onBelow: 45, offAbove: 55, minOn: 20m, minOff: 15m, maxStartsPerHour: 1, maxStartsPerDay: 8, failSafe: off, initialLevel: off, onStop: hold, output: {kind: relay, pin: 17}}
`;
  const home = await onGrid(
    ({ path }, now) => {
      if (isForecast(path)) return scriptedJson({ error: 'Invalid scope.' }, 403);
      if (path !== '/v3/signal-index') return undefined;
      const value = random.fraction() < 0.5 ? 5 : 95;
      return scriptedJson({
        data: [{ point_time: formatInstant(startOfSlot(now)), value }],
        meta: {
          region: REGION,
          signal_type: 'co2_moer',
          units: 'percentile',
          data_point_period_seconds: 300,
          warnings: [],
        },
      });
    },
    { loads: LOADS },
  );
  await home.start();
  for (let life = 0; life < 10; life++) {
    await home.pass(minutes(60 + random.fraction() * 600));
    const before = home.edges.length;
    await home.restart();
    expect(home.edges.length).toBe(before);
  }
  const starts = home.edges.filter(({ high }) => high).map(({ at }) => at);
  expect(starts.length).toBeGreaterThan(8);
  expect(findShortCycles(home.edges, WATER_LINE, { on: minutes(20), off: minutes(15) })).toEqual([]);
  for (const at of starts) {
    expect(starts.filter((other) => other >= at && other < at + hours(1)).length).toBeLessThanOrEqual(1);
    expect(starts.filter((other) => other >= at && other < at + days(1)).length).toBeLessThanOrEqual(8);
  }
});

it('14 a region whose values come two hours late: what is past is never taken for now', async () => {
  const home = await onGrid(
    ({ path }, now, _) => {
      if (isForecast(path)) return scriptedJson({ error: 'Invalid scope.' }, 403);
      if (path !== '/v3/signal-index') return undefined;
      return scriptedJson({
        data: [{ point_time: formatInstant(startOfSlot(now - hours(2))), value: 3 }],
        meta: {
          region: REGION,
          signal_type: 'co2_moer',
          units: 'percentile',
          data_point_period_seconds: 300,
          warnings: [],
        },
      });
    },
    { start: MORNING },
  );
  await home.start();
  await home.pass(hours(3));
  expect(home.countRequests('/v3/signal-index')).toBeGreaterThan(30);
  expect(home.agent.snapshot().view?.index).toBeUndefined();
  expect(home.edges.filter(({ line, high }) => line === WATER_LINE && high)).toEqual([]);
});
