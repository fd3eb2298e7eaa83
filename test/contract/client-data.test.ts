/** Sections 1 to 4 and 8 and 9, asked by the client: forecast, past forecasts, history, index, models. Numbers of the specification stand as literals. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Duration, days, hours, type Instant, minutes } from '../../src/domain/units.ts';
import type { History, PastForecasts } from '../../src/service/api/response-types.ts';
import { deriveEntitlements } from '../../src/service/entitlements/entitlements.ts';
import type { Outcome } from '../../src/service/failure.ts';
import {
  CAISO_NORTH,
  type ClientAndReference,
  expectAnswer,
  expectFailure,
  instantAt,
  NOW,
  PSCO,
  startClientAndReference,
} from './client-and-reference.ts';
import { isPublished } from './profile-under-test.ts';

let pair: ClientAndReference;
beforeAll(async () => {
  pair = await startClientAndReference();
});
afterAll(() => pair.close());

const SLOT = instantAt('2026-06-10T18:00:00Z');
const span = (start: string, end: string) => ({ start: instantAt(start), end: instantAt(end) });

async function joined<Answer>(pieces: AsyncIterable<Outcome<Answer>>): Promise<Answer[]> {
  const all: Answer[] = [];
  for await (const piece of pieces) all.push(expectAnswer(piece));
  return all;
}

describe('4.3 forecast', () => {
  //  horizon_hours       values of 300 s
  const rows: readonly (readonly [number | undefined, number])[] = [
    [undefined, 288],
    [0, 1],
    [24, 288],
    [72, 864],
  ];
  it.each(rows)('horizon_hours %s gives %i values', async (horizonHours, count) => {
    const query = horizonHours === undefined ? PSCO : { ...PSCO, horizonHours };
    const { points } = expectAnswer(await pair.client().forecast(query));
    expect(points).toHaveLength(count);
    expect(points[0]?.at).toBe(SLOT);
    expect(points.every(({ at }, i) => at === SLOT + i * 300_000)).toBe(true);
  });

  it.each([-1, 73, 1.5, Number.NaN])('8: horizon_hours %s is not sent', async (horizonHours) => {
    const before = pair.reference.counts().requests;
    expect(expectFailure(await pair.client().forecast({ ...PSCO, horizonHours }))).toMatchObject({
      kind: 'invalid',
      field: 'horizon_hours',
    });
    expect(pair.reference.counts().requests).toBe(before);
  });

  it('2.6: carries region, signal, unit, spacing, generation, model and warnings', async () => {
    expect(expectAnswer(await pair.client().forecast(PSCO))).toMatchObject({
      region: 'PSCO',
      signalType: 'co2_moer',
      units: 'lbs_co2_per_mwh',
      period: 300_000,
      generatedAt: SLOT,
      generatedPeriod: 300_000,
      model: '2026-03-01',
      warnings: [],
      refusedPoints: 0,
    });
  });

  it("an unknown region is refused with the service's words", async () => {
    expect(expectFailure(await pair.client().forecast({ ...PSCO, region: 'ATLANTIS' }))).toMatchObject({
      kind: 'rejected',
      status: 400,
    });
  });
});

describe('4.3 past forecasts', () => {
  it('both ends are inclusive, one point is a range', async () => {
    const one = span('2026-06-01T00:00Z', '2026-06-01T00:00Z');
    const service = pair.client();
    const first = expectAnswer(await service.pastForecasts({ ...PSCO, ...one, horizonHours: 1 }));
    expect(first.forecasts.map(({ generatedAt, points }) => [generatedAt, points.length])).toEqual([[one.start, 12]]);
    const hour = expectAnswer(
      await service.pastForecasts({ ...PSCO, ...span('2026-06-01T00:00Z', '2026-06-01T01:00Z') }),
    );
    expect(hour.forecasts).toHaveLength(13);
    expect(hour.generatedPeriod).toBe(300_000);
  });

  it('8: a day holds 288 of them when its end is one period earlier; beyond 24 h nothing is sent', async () => {
    const service = pair.client();
    const start = instantAt('2026-06-01T00:00Z');
    const day = { ...PSCO, start, end: instantAt('2026-06-01T23:55Z'), horizonHours: 0 };
    expect(expectAnswer(await service.pastForecasts(day)).forecasts).toHaveLength(288);
    expect(
      expectFailure(await service.pastForecasts({ ...day, end: (start + hours(24) + 1_000) as Instant })),
    ).toMatchObject({
      kind: 'invalid',
      field: 'end',
    });
  });

  it('a range of any length is the same as its requests one by one, no generation twice', async () => {
    const service = pair.client();
    const range = span('2026-05-30T10:02Z', '2026-06-01T15:00Z');
    const pieces = await joined<PastForecasts>(service.pastForecastsRange({ ...PSCO, ...range, horizonHours: 0 }));
    const generated = pieces.flatMap(({ forecasts }) => forecasts.map(({ generatedAt }) => generatedAt));
    const first = instantAt('2026-05-30T10:05Z');
    const expected = Array.from({ length: 1 + (range.end - first) / 300_000 }, (_, i) => first + i * 300_000);
    expect(generated).toEqual(expected);
    expect(pieces).toHaveLength(3);
  });

  it('a forecast of the past is what was issued: its first value is of its own moment', async () => {
    const range = span('2026-06-01T12:00Z', '2026-06-01T12:10Z');
    const { forecasts } = expectAnswer(await pair.client().pastForecasts({ ...PSCO, ...range }));
    for (const { generatedAt, points } of forecasts) expect(points[0]?.at).toBe(generatedAt);
  });
});

describe('4.4 history', () => {
  it('both ends are inclusive and the order ascends', async () => {
    const range = span('2026-06-01T00:00Z', '2026-06-01T01:00Z');
    const { points, period, units } = expectAnswer(await pair.client().history({ ...PSCO, ...range }));
    expect(points.map(({ at }) => at)).toEqual(Array.from({ length: 13 }, (_, i) => range.start + i * 300_000));
    expect([period, units]).toEqual([300_000, 'lbs_co2_per_mwh']);
  });

  it('8: 32 days in one request, no more', async () => {
    const service = pair.client();
    const start = instantAt('2026-04-01T00:00Z');
    const whole = expectAnswer(await service.history({ ...PSCO, start, end: (start + days(32)) as Instant }));
    expect(whole.points).toHaveLength(32 * 288 + 1);
    expect(
      expectFailure(await service.history({ ...PSCO, start, end: (start + days(32) + 1_000) as Instant })),
    ).toMatchObject({ kind: 'invalid', field: 'end' });
  });

  it('a range of any length is the whole of its days, no point twice', async () => {
    const service = pair.client();
    const range = span('2026-01-15T00:01Z', '2026-05-20T07:30Z');
    const points = (await joined<History>(service.historyRange({ ...PSCO, ...range }))).flatMap(({ points }) => points);
    const first = instantAt('2026-01-15T00:05Z');
    expect(points.map(({ at }) => at)).toEqual(
      Array.from({ length: 1 + (range.end - first) / 300_000 }, (_, i) => first + i * 300_000),
    );
    const [single] = expectAnswer(
      await service.history({ ...PSCO, ...span('2026-03-03T03:05Z', '2026-03-03T03:05Z') }),
    ).points;
    expect(points.find(({ at }) => at === single?.at)).toEqual(single);
  });

  it('start after end is not sent, in one request or in many', async () => {
    const range = span('2026-06-02T00:00Z', '2026-06-01T00:00Z');
    const service = pair.client();
    expect(expectFailure(await service.history({ ...PSCO, ...range }))).toMatchObject({
      kind: 'invalid',
      field: 'start',
    });
    for await (const piece of service.historyRange({ ...PSCO, ...range }))
      expect(expectFailure(piece)).toMatchObject({ kind: 'invalid', field: 'start' });
    expect(service.counts().requests).toBe(0);
  });

  it('include_imputed_marker tells which values were imputed', async () => {
    const range = { start: (NOW - days(20)) as Instant, end: (NOW - days(10)) as Instant };
    const service = pair.client();
    const without = expectAnswer(await service.history({ ...PSCO, ...range }));
    expect(without.points.every(({ imputed }) => imputed === undefined)).toBe(true);
    const marked = expectAnswer(await service.history({ ...PSCO, ...range, includeImputedMarker: true }));
    expect(marked.points.every(({ imputed }) => typeof imputed === 'boolean')).toBe(true);
  });

  it('updated_since gives only what is newer, and may give nothing', async () => {
    const range = { start: (NOW - days(3)) as Instant, end: NOW };
    const service = pair.client();
    // With updated_since every profile says when a point was updated.
    const everything = (NOW - days(30)) as Instant;
    const all = expectAnswer(await service.history({ ...PSCO, ...range, updatedSince: everything })).points;
    const since = (NOW - days(1)) as Instant;
    const newer = expectAnswer(await service.history({ ...PSCO, ...range, updatedSince: since })).points;
    expect(newer).toEqual(all.filter(({ lastUpdated = 0 }) => lastUpdated > since));
    expect(newer.length).toBeGreaterThan(0);
    expect(expectAnswer(await service.history({ ...PSCO, ...range, updatedSince: NOW })).points).toEqual([]);
  });

  it('an hourly signal keeps its hours', async () => {
    const range = span('2026-06-01T00:00Z', '2026-06-01T05:00Z');
    const { points, period } = expectAnswer(
      await pair.client().history({ region: 'CAISO', signalType: 'co2_aoer', ...range }),
    );
    expect([points.length, period]).toEqual([6, 3_600_000]);
  });

  it('a range wholly before the data is empty, with its envelope', async () => {
    const range = span('2010-01-01T00:00Z', '2010-01-02T00:00Z');
    expect(expectAnswer(await pair.client().history({ ...PSCO, ...range }))).toMatchObject({
      points: [],
      region: 'PSCO',
      units: 'lbs_co2_per_mwh',
    });
  });
});

describe('4.4 signal index', () => {
  it('2.5: one percentile of 0 to 100, for the current period', async () => {
    const { point, units } = expectAnswer(await pair.client().signalIndex(PSCO));
    expect(units).toBe('percentile');
    expect(point.at).toBe(SLOT);
    expect(point.value).toBeGreaterThanOrEqual(0);
    expect(point.value).toBeLessThanOrEqual(100);
  });
});

describe('3 and 9 data models', () => {
  const ask = (model: string) => pair.client().forecast({ ...PSCO, model });
  it('the default has its label', async () => {
    expect(expectAnswer(await ask('2026-03-01'))).toMatchObject({ model: '2026-03-01' });
  });
  it('a discontinued one answers its history and forecasts nothing new', async () => {
    expect(expectAnswer(await ask('2025-03-01')).points).toEqual([]);
    const range = span('2025-06-01T00:00Z', '2025-06-01T01:00Z');
    const past = expectAnswer(await pair.client().history({ ...PSCO, ...range, model: '2025-03-01' }));
    expect(past).toMatchObject({ model: '2025-03-01' });
    expect(past.points).toHaveLength(13);
  });
  it('an unknown one is refused', async () => {
    expect(expectFailure(await ask('1999-01-01'))).toMatchObject({ kind: 'rejected', status: 400 });
  });

  //  at            phase of 2027-03-01   default       2026-03-01 forecasts
  const phases: readonly (readonly [string, string, string, boolean])[] = [
    ['2027-02-20T12:00:00Z', 'not yet', '2026-03-01', true],
    ['2027-03-10T12:00:00Z', 'preview', '2026-03-01', true],
    ['2027-04-02T12:00:00Z', 'overlap', '2027-03-01', true],
    ['2027-04-20T12:00:00Z', 'default', '2027-03-01', false],
  ];
  it.each(phases)('3: at %s, %s: the default is %s', async (moment, phase, byDefault, isGoingOn) => {
    const own = await startClientAndReference();
    try {
      own.clock.stepWall((instantAt(moment) - NOW) as Duration);
      const service = own.client();
      expect(expectAnswer(await service.forecast(PSCO)).model).toBe(byDefault);
      const old = expectAnswer(await service.forecast({ ...PSCO, model: '2026-03-01' }));
      expect([old.model, old.points.length > 0]).toEqual(['2026-03-01', isGoingOn]);
      const next = await service.forecast({ ...PSCO, model: '2027-03-01' });
      if (phase === 'not yet') expect(expectFailure(next)).toMatchObject({ kind: 'rejected', status: 400 });
      else expect(expectAnswer(next)).toMatchObject({ model: '2027-03-01', points: { length: 288 } });
      if (phase !== 'preview') return;
      // A new release reaches back at least 2 years (specification 8).
      const past = span('2025-03-01T00:00Z', '2025-03-01T01:00Z');
      expect(expectAnswer(await service.history({ ...PSCO, ...past, model: '2027-03-01' })).points).toHaveLength(13);
      const models = deriveEntitlements(expectAnswer(await service.myAccess({})), PSCO).models.map(
        ({ model }) => model,
      );
      expect(models).toEqual(expect.arrayContaining(['2026-03-01', '2027-03-01']));
    } finally {
      await own.close();
    }
  });
});

describe('1.4 plans', () => {
  const range = { start: (NOW - hours(1)) as Instant, end: (NOW - minutes(30)) as Instant };
  //  plan      region          forecast   history    past       index
  const rows: readonly (readonly ['free' | 'basic' | 'analyst' | 'pro', typeof PSCO, string, string])[] = [
    ['free', PSCO, 'not-entitled', 'answer'],
    ['free', CAISO_NORTH, 'answer', 'answer'],
    ['basic', PSCO, 'answer', 'answer'],
    ['analyst', PSCO, 'answer', 'answer'],
    ['pro', PSCO, 'answer', 'answer'],
  ];
  it.each(rows)('%s in %o: data %s, index %s, and the logins that takes', async (plan, query, data, index) => {
    const service = pair.client(plan);
    const kind = (outcome: Outcome<unknown>) => (outcome.ok ? 'answer' : outcome.failure.kind);
    expect(kind(await service.forecast(query))).toBe(data);
    expect(kind(await service.history({ ...query, ...range }))).toBe(data);
    expect(kind(await service.pastForecasts({ ...query, ...range }))).toBe(data);
    expect(kind(await service.signalIndex(query))).toBe(index);
    // A page with 403 may also mean a dead token: each gated path costs one login, once.
    expect(service.counts().logins).toBe(isPublished && data === 'not-entitled' ? 4 : 1);
    expect(kind(await service.forecast(query))).toBe(data);
    expect(service.counts().logins).toBeLessThanOrEqual(4);
  });

  it("a gate carries the service's words", async () => {
    expect(expectFailure(await pair.client('free').forecast(PSCO))).toMatchObject({
      kind: 'not-entitled',
      message: isPublished
        ? 'status 403 with a page instead of JSON'
        : (expect.stringMatching(/^Invalid scope\./) as string),
    });
  });
});
