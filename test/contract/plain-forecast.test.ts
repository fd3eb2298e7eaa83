/** Sections 2.5, 2.6, 4.3 and 4.4 (the index) by plain HTTP. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { encodeQuery, expectGate, NOW, type PlainService, startPlainService } from './plain-http.ts';
import { inZone, isPublished } from './profile-under-test.ts';

let service: PlainService;
beforeAll(async () => {
  service = await startPlainService();
});
beforeEach(() => service.setTime(NOW));
afterAll(() => service.close());

interface Point {
  readonly point_time: string;
  readonly value: number;
}
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const moer = { region: 'CAISO_NORTH', signal_type: 'co2_moer' };
const forecast = (fields: Readonly<Record<string, string | number>> = {}, plan = 'pro') =>
  service.get(`/v3/forecast?${encodeQuery({ ...moer, ...fields })}`, plan);
const times = (points: readonly Point[]) => points.map(({ point_time }) => Date.parse(point_time));

describe('4.3 GET /v3/forecast', () => {
  it('2.6: has the envelope of the newest forecast', async () => {
    const { status, json } = await forecast();
    expect(status).toBe(200);
    expect(Object.keys(json)).toEqual(['data', 'meta']);
    expect(json.meta).toEqual({
      data_point_period_seconds: 300,
      generated_at: inZone('2026-06-10T18:00:00+00:00'),
      generated_at_period_seconds: 300,
      model: { date: '2026-03-01' },
      region: 'CAISO_NORTH',
      signal_type: 'co2_moer',
      units: 'lbs_co2_per_mwh',
      warnings: [],
    });
  });
  it('2.5: has points of a time and a number, from the current period on', async () => {
    const { json } = await forecast();
    expect(Object.keys(json.data[0])).toEqual(['point_time', 'value']);
    expect(json.data[0].point_time).toBe(inZone('2026-06-10T18:00:00+00:00'));
    expect(json.data.every(({ value }: Point) => Number.isFinite(value))).toBe(true);
    const steps = new Set(times(json.data).map((time, i, all) => time - (all[i - 1] ?? time - 5 * MINUTE)));
    expect([...steps]).toEqual([5 * MINUTE]);
  });

  //  horizon_hours   points
  it.each([
    [0, 1],
    [1, 12],
    [24, 288],
    [72, 864],
  ])('a horizon of %s hours has %s points', async (hours, points) => {
    expect((await forecast({ horizon_hours: hours })).json.data).toHaveLength(points);
  });
  it('24 hours are the default', async () => {
    expect((await forecast()).json.data).toHaveLength(288);
  });
  it('is the beginning of the longer one', async () => {
    const [day, days] = await Promise.all([forecast(), forecast({ horizon_hours: 72 })]);
    expect(days.json.data.slice(0, 288)).toEqual(day.json.data);
  });
  it('stays until the next is generated', async () => {
    const first = await forecast();
    service.setTime(NOW + 2 * MINUTE);
    expect((await forecast()).text).toBe(first.text);
    service.setTime(NOW + 3 * MINUTE);
    expect((await forecast()).json.meta.generated_at).toBe(inZone('2026-06-10T18:05:00+00:00'));
  });

  //  what is wrong           fields
  it.each([
    ['no region', { region: '' }],
    ['an unknown region', { region: 'NOWHERE' }],
    ['no signal type', { signal_type: '' }],
    ['an unknown signal type', { signal_type: 'co2' }],
    ['a signal without forecasts', { region: 'CAISO', signal_type: 'co2_aoer' }],
    ['a horizon below 0', { horizon_hours: -1 }],
    ['a horizon above 72', { horizon_hours: 73 }],
    ['half an hour', { horizon_hours: 0.5 }],
    ['a horizon in words', { horizon_hours: 'long' }],
    ['a horizon in another numeral', { horizon_hours: '0x18' }],
    ['an unknown model', { model: '1999-01-01' }],
  ])('%s is 400 {error, message, docs}', async (_, fields) => {
    const { status, json } = await forecast(fields);
    expect(status).toBe(400);
    expect(Object.keys(json)).toEqual(['error', 'message', 'docs']);
  });

  //  plan        region           status
  it.each([
    ['free', 'CAISO_NORTH', 200],
    ['free', 'PSCO', 403],
    ['basic', 'PSCO', 200],
    ['analyst', 'PSCO', 200],
    ['pro', 'PSCO', 200],
  ])('1.4: plan %s in %s is %s', async (plan, region, status) => {
    const reply = await forecast({ region }, plan);
    if (status === 403) expectGate(reply);
    else expect(reply.status).toBe(status);
  });
});

describe('4.3 GET /v3/forecast/historical', () => {
  const past = (start: number, end: number, fields = {}, plan = 'pro') =>
    service.get(
      `/v3/forecast/historical?${encodeQuery({ ...moer, start: new Date(start).toISOString(), end: new Date(end).toISOString(), horizon_hours: 1, ...fields })}`,
      plan,
    );
  const yesterday = Date.parse('2026-06-09T00:00:00Z');
  it('2.5 and 2.6: entries of a generated_at and a forecast', async () => {
    const { json } = await past(yesterday, yesterday + 10 * MINUTE);
    expect(json.data.map((entry: { generated_at: string }) => entry.generated_at)).toEqual([
      inZone('2026-06-09T00:00:00+00:00'),
      inZone('2026-06-09T00:05:00+00:00'),
      inZone('2026-06-09T00:10:00+00:00'),
    ]);
    expect(json.data[0].forecast).toHaveLength(12);
    expect(json.data[0].forecast[0].point_time).toBe(inZone('2026-06-09T00:00:00+00:00'));
    expect(json.meta).toEqual({
      data_point_period_seconds: 300,
      generated_at_period_seconds: 300,
      model: { date: '2026-03-01' },
      region: 'CAISO_NORTH',
      signal_type: 'co2_moer',
      units: 'lbs_co2_per_mwh',
      warnings: [],
    });
  });
  it('holds the forecast as it was issued', async () => {
    const issued = (await forecast()).json;
    service.setTime(NOW + 48 * HOUR);
    const { json } = await past(NOW - 150_000, NOW - 150_000, { horizon_hours: 24 });
    expect(json.data).toEqual([{ generated_at: issued.meta.generated_at, forecast: issued.data }]);
  });

  //  words                        length                       entries, or 400
  it.each([
    ['one time', 0, 1],
    ['24 h less a period', 24 * HOUR - 5 * MINUTE, 288],
    ['an exact 24 h', 24 * HOUR, 289],
    ['a second more', 24 * HOUR + 1_000, 400],
  ])('8: %s', async (_, length, expected) => {
    const reply = await past(yesterday, yesterday + length);
    if (expected === 400) expect(reply.status).toBe(400);
    else expect(reply.json.data).toHaveLength(expected);
  });
  it('a range without data is empty and has its meta', async () => {
    const { status, json } = await past(NOW + HOUR, NOW + 2 * HOUR);
    expect([status, json.data, json.meta.model.date]).toEqual([200, [], '2026-03-01']);
  });
  it('the end before the start is 400', async () => {
    expect((await past(yesterday, yesterday - 1_000)).status).toBe(400);
  });
  it('1.4: is gated like the forecast', async () => {
    expect((await past(yesterday, yesterday, { region: 'PSCO' }, 'free')).status).toBe(403);
    expect((await past(yesterday, yesterday, {}, 'free')).status).toBe(200);
  });
});

describe('4.4 GET /v3/signal-index', () => {
  const index = (region = 'CAISO_NORTH', plan = 'free') =>
    service.get(`/v3/signal-index?${encodeQuery({ region, signal_type: 'co2_moer' })}`, plan);
  it('2.6: has one point and the unit percentile', async () => {
    const { status, json } = await index();
    expect(status).toBe(200);
    expect(json.data).toHaveLength(1);
    expect(json.data[0].point_time).toBe(inZone('2026-06-10T18:00:00+00:00'));
    expect(json.meta).toEqual({
      data_point_period_seconds: 300,
      model: { date: '2026-03-01', type: 'binned_regression' },
      region: 'CAISO_NORTH',
      signal_type: 'co2_moer',
      units: 'percentile',
      warnings: [],
    });
  });
  it('knows no model: it is that of the default, one point whatever is asked', async () => {
    const asked = `/v3/signal-index?${encodeQuery({ region: 'CAISO_NORTH', signal_type: 'co2_moer', model: '2025-03-01' })}`;
    expect((await service.get(asked)).json).toEqual((await index()).json);
  });
  it('1.4: is free in every region', async () => {
    expect((await index('PSCO')).status).toBe(200);
  });

  // PSCO burns coal: whole steps, hence ties.
  it.each(['CAISO_NORTH', 'PSCO', 'ERCOT_WEST', 'BPAT'])(
    '2.5: in %s it is the mid-rank of the current value among the next 24 h',
    async (region) => {
      const pool = (await forecast({ region })).json.data.map(({ value }: Point) => value);
      const below = pool.filter((value: number) => value < pool[0]).length;
      const equal = pool.filter((value: number) => value === pool[0]).length;
      expect((await index(region)).json.data[0].value).toBeCloseTo((100 * (below + equal / 2)) / 288, 9);
    },
  );

  it.each([
    ['health_damage', 400],
    ['co2_aoer', 400],
    ['', isPublished ? 200 : 400],
  ])('a signal type of "%s" is %s', async (signal, status) => {
    expect((await service.get(`/v3/signal-index?region=CAISO_NORTH&signal_type=${signal}`)).status).toBe(status);
  });
  it('a missing signal type is taken for co2_moer only among the extras', async () => {
    expect((await service.get('/v3/signal-index?region=PSCO')).status).toBe(isPublished ? 200 : 400);
    const lenient = await startPlainService({ extras: true });
    expect((await lenient.get('/v3/signal-index?region=PSCO')).status).toBe(200);
    await lenient.close();
  });
});
