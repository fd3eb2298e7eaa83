/** Sections 2.5, 2.6, 4.4 and 8 by plain HTTP: history, its limits, late data, corrections, the spellings of time. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { encodeQuery, NOW, type PlainService, sendPlainRequest, startPlainService } from './plain-http.ts';
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
  readonly last_updated: string;
  readonly imputed_data_used?: boolean;
}
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const moer = { region: 'CAISO_NORTH', signal_type: 'co2_moer' };
const iso = (at: number) => new Date(at).toISOString();
const history = (start: number, end: number, fields: Readonly<Record<string, string>> = {}, plan = 'pro') =>
  service.get(`/v3/historical?${encodeQuery({ ...moer, start: iso(start), end: iso(end), ...fields })}`, plan);
const may = Date.parse('2026-05-01T00:00:00Z');

describe('4.4 GET /v3/historical', () => {
  it('2.6: has the envelope, with the type of the model', async () => {
    const { status, json } = await history(may, may + HOUR);
    expect(status).toBe(200);
    expect(json.meta).toEqual({
      data_point_period_seconds: 300,
      model: { date: '2026-03-01', type: 'binned_regression' },
      region: 'CAISO_NORTH',
      signal_type: 'co2_moer',
      units: 'lbs_co2_per_mwh',
      warnings: [],
    });
  });
  it('2.5: has last_updated (published: with updated_since only), the marker when it is asked for', async () => {
    const plain = await history(may, may);
    const always = ['point_time', 'value', ...(isPublished ? [] : ['last_updated'])];
    expect(Object.keys(plain.json.data[0])).toEqual(always);
    const since = await history(may, may, { updated_since: iso(may) });
    expect(Object.keys(since.json.data[0])).toEqual(['point_time', 'value', 'last_updated']);
    const marked = await history(may, may, { include_imputed_marker: 'true' });
    expect(Object.keys(marked.json.data[0])).toEqual([...always, 'imputed_data_used']);
    expect((await history(may, may, { include_imputed_marker: 'perhaps' })).status).toBe(400);
  });
  it('both ends are inclusive, the order ascending', async () => {
    const { json } = await history(may, may + 10 * MINUTE);
    expect(json.data.map(({ point_time }: Point) => point_time)).toEqual([
      inZone('2026-05-01T00:00:00+00:00'),
      inZone('2026-05-01T00:05:00+00:00'),
      inZone('2026-05-01T00:10:00+00:00'),
    ]);
  });

  //  words               length                   points, or 400
  it.each([
    ['one point', 0, 1],
    ['between two points', 4 * MINUTE, 1],
    ['32 days', 32 * DAY, 32 * 288 + 1],
    ['a second more', 32 * DAY + 1_000, 400],
    ['the end first', -1_000, 400],
  ])('8: %s', async (_, length, expected) => {
    const reply = await history(may, may + length);
    if (expected === 400) expect(reply.status).toBe(400);
    else expect(reply.json.data).toHaveLength(expected);
  });
  it('a range in the future is empty and has its meta', async () => {
    const { status, json } = await history(NOW + DAY, NOW + 2 * DAY);
    expect([status, json.data, json.meta.model.date]).toEqual([200, [], '2026-03-01']);
  });
  it.each(['2018-06-01', '1969-06-01'])('a range before the data begin is empty: %s', async (day) => {
    const { status, json } = await history(Date.parse(`${day}Z`), Date.parse(`${day}Z`) + DAY);
    expect([status, json.data]).toEqual([200, []]);
  });
  it('3: reaches back to 2019-01-01', async () => {
    const first = Date.parse('2019-01-01T00:00:00Z');
    const { json } = await history(first - HOUR, first + HOUR);
    expect(json.data[0].point_time).toBe(inZone('2019-01-01T00:00:00+00:00'));
    expect(json.data).toHaveLength(13);
  });
  it('has no gap in a month', async () => {
    const { json } = await history(may, may + 31 * DAY);
    const times = json.data.map(({ point_time }: Point) => Date.parse(point_time));
    expect(times.every((time: number, i: number) => time === may + i * 5 * MINUTE)).toBe(true);
  });
  it('2.5: the averages are hourly', async () => {
    const { json } = await history(may, may + DAY, { region: 'CAISO', signal_type: 'co2_aoer' });
    expect(json.meta.data_point_period_seconds).toBe(3600);
    expect(json.data).toHaveLength(25);
  });
  it('1.4: is open to a free account in CAISO_NORTH only', async () => {
    expect((await history(may, may, {}, 'free')).status).toBe(200);
    expect((await history(may, may, { region: 'PSCO' }, 'free')).status).toBe(403);
    expect((await history(may, may, { region: 'PSCO' }, 'basic')).status).toBe(200);
  });
});

describe('late data and corrections', () => {
  it('a point appears within its minute, later ones later', async () => {
    const slot = Math.floor(NOW / (5 * MINUTE)) * 5 * MINUTE;
    service.setTime(slot);
    expect((await history(slot, slot)).json.data).toHaveLength(0);
    service.setTime(slot + MINUTE);
    expect((await history(slot, slot)).json.data).toHaveLength(1);
  });
  it('the delay differs by region: under a minute here, an hour or more there', async () => {
    const { json } = await service.get('/v3/my-access?signal_type=co2_moer');
    const delays: number[] = [];
    for (const { region } of json.signal_types[0].regions.slice(0, 60)) {
      const reply = await history(NOW - 6 * HOUR, NOW, { region });
      delays.push(NOW - Date.parse(reply.json.data.at(-1).point_time));
    }
    expect(Math.min(...delays)).toBeLessThan(5 * MINUTE);
    expect(Math.max(...delays)).toBeGreaterThan(30 * MINUTE);
    expect(Math.max(...delays)).toBeLessThan(4 * HOUR);
  });
  it('some points are corrected, and updated_since tells which', async () => {
    // With updated_since every profile sends last_updated.
    const month = () => history(may, may + 20 * DAY, { updated_since: iso(0) });
    service.setTime(may + 20 * DAY);
    const before = (await month()).json.data as Point[];
    service.setTime(may + 40 * DAY);
    const after = (await month()).json.data as Point[];
    const since = may + 20 * DAY;
    const changed = after.filter((point) => Date.parse(point.last_updated) > since);
    expect(changed.length).toBeGreaterThan(10);
    expect(changed.length).toBeLessThan(after.length / 10);
    const updated = (await history(may, may + 20 * DAY, { updated_since: iso(since) })).json.data;
    expect(updated).toEqual(changed);
    const old = new Map(before.map((point) => [point.point_time, point]));
    const untouched = after.filter((point) => Date.parse(point.last_updated) <= since);
    expect(untouched.every((point) => old.get(point.point_time)?.value === point.value)).toBe(true);
  });
  it('updated_since is strict', async () => {
    const { json } = await history(may, may, { updated_since: iso(0) });
    const [point] = json.data;
    expect((await history(may, may, { updated_since: point.last_updated })).json.data).toEqual([]);
  });
  it('some runs are filled in, and the marker says so', async () => {
    const { json } = await history(may, may + 32 * DAY, { include_imputed_marker: 'true' });
    const marked = json.data.filter((point: Point) => point.imputed_data_used).length;
    expect(marked).toBeGreaterThan(0);
    expect(marked).toBeLessThan(json.data.length / 20);
  });
});

describe('the spellings of time', () => {
  const asked = async (start: string) => {
    // Sent as it stands: a plus arrives as a plus.
    const path = `/v3/historical?region=CAISO_NORTH&signal_type=co2_moer&start=${start}&end=2026-05-01T01:00:00Z`;
    const headers = { authorization: `Bearer ${await service.login('pro')}` };
    const reply = await sendPlainRequest(service.url + path, { headers });
    return reply.status === 200 ? JSON.parse(reply.text).data[0].point_time : reply.status;
  };
  //  sent                                    read as, or the status
  it.each([
    ['2026-05-01T00:00:00Z', '2026-05-01T00:00:00+00:00'],
    ['2026-05-01T00:00:00%2B00:00', '2026-05-01T00:00:00+00:00'],
    ['2026-05-01T00:00:00+00:00', '2026-05-01T00:00:00+00:00'],
    ['2026-05-01+00:00:00%2B00:00', '2026-05-01T00:00:00+00:00'],
    ['2026-05-01+00:00:00+00:00', '2026-05-01T00:00:00+00:00'],
    ['2026-05-01%2000:00:00%2B00:00', '2026-05-01T00:00:00+00:00'],
    ['2026-05-01T00:00%2B00:00', '2026-05-01T00:00:00+00:00'],
    ['2026-05-01T00:00Z', '2026-05-01T00:00:00+00:00'],
    ['2026-05-01T00:00:00.0000000Z', '2026-05-01T00:00:00+00:00'],
    ['2026-05-01T00:00:00.0010000Z', '2026-05-01T00:05:00+00:00'],
    ['2026-04-30T17:00:00-07:00', '2026-05-01T00:00:00+00:00'],
    ['2026-05-01T02:00:00%2B0200', '2026-05-01T00:00:00+00:00'],
    ['2026-05-01T00:00:00.1234567%2B00:00', '2026-05-01T00:05:00+00:00'],
    ['2026-05-01T00:00:00%2B24:00', 400],
    ['2026-05-01T00:00:00%2B00:60', 400],
    ['2026-05-01T00:00:00', 400],
    ['2026-05-01', 400],
    ['2026-02-30T00:00:00Z', 400],
    ['2026-05-01T24:00:00Z', 400],
    ['yesterday', 400],
    ['', 400],
  ])('%s', async (sent, expected) => {
    expect(await asked(sent)).toBe(typeof expected === 'string' ? inZone(expected) : expected);
  });
});
