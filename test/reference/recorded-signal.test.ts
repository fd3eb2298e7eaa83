/** A recorded signal: read, served as recorded, forecasts as issued and beyond. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createRecordedForecast,
  findRecordedRate,
  findRecordedSpan,
  readSeries,
  type Series,
} from '../../src/reference/world/recorded-signal.ts';
import {
  encodeQuery,
  PASSWORD,
  type PlainService,
  sendPlainRequest,
  startPlainService,
} from '../contract/plain-http.ts';

const SLOT = 300_000;
const DAY = 288;
const FROM = Date.parse('2020-03-01T00:00:00Z') / SLOT;
const POUNDS = 2_204.622_62;

let folder: string;
const file = (name: string) => join(folder, name);
/** A rate in kg/kWh that tells its slot. */
const rate = (slot: number) => ((slot - FROM) % DAY) / 1_000 + Math.floor((slot - FROM) / DAY) / 10_000;
const row = (slot: number) => {
  const ahead = Array.from({ length: 36 }, (_, k) => 1 + k / 100 + (slot - FROM) / 1e5);
  return `${new Date(slot * SLOT).toISOString().slice(0, 19).replace('T', ' ')}+00:00,${rate(slot)},${ahead.join(',')}`;
};
const HEADER = `time,moer,${Array.from({ length: 36 }, (_, k) => `f${k + 1}`).join(',')}`;
const table = (from: number, count: number) =>
  [HEADER, ...Array.from({ length: count }, (_, i) => row(from + i))].join('\n');

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'series-'));
  await writeFile(file('first.csv'), table(FROM, 6 * DAY));
  // A little of the first again, and in disorder.
  await writeFile(file('second.csv.gz'), gzipSync(table(FROM + 5 * DAY, 7 * DAY)));
  await writeFile(file('plain.csv'), 'time,value\r\n2020-03-01T00:00:00Z,100\r\n2020-03-01T00:05:00Z,200\r\n');
});
afterAll(() => rm(folder, { recursive: true }));

describe('reading', () => {
  it('makes one history of many files, zipped or not, in any order', async () => {
    const series = await readSeries([file('second.csv.gz'), file('first.csv')]);
    expect(series.slots.length).toBe(12 * DAY);
    expect(findRecordedSpan(series)).toEqual({ from: FROM * SLOT, to: (FROM + 12 * DAY - 1) * SLOT });
    expect(findRecordedRate(series, FROM + 3 * DAY + 7)).toBeCloseTo(rate(FROM + 3 * DAY + 7) * POUNDS, 9);
    expect(findRecordedRate(series, FROM - 1)).toBeUndefined();
  });
  it('takes two columns with their unit', async () => {
    const series = await readSeries([file('plain.csv')], 'lbs_co2_per_mwh');
    expect([...series.values]).toEqual([100, 200]);
  });

  //  what is wrong            content                                         sentence
  it.each([
    ['an unknown header', 'when,what\n', /line 1: the header is "when,what"/],
    ['no unit', 'time,value\n2020-01-01T00:00Z,1\n', /line 1: a file of time,value needs its unit/],
    [
      'a time without zone',
      `${HEADER}\n2020-01-01 00:00:00,1\n`,
      /line 2: "2020-01-01 00:00:00" is not a time with a zone/,
    ],
    ['a time within a slot', `${HEADER}\n2020-01-01T00:01Z,1\n`, /line 2: .* is not the start of a 5-minute slot/],
    ['a rate in words', `${HEADER}\n2020-01-01T00:00Z,low\n`, /line 2: "low" is not a number|is not a number/],
    [
      'a decimal comma',
      `${HEADER}\n2020-01-01T00:00Z,"1,5"\n`,
      /line 2: .*write decimal numbers with a point and without quotes/,
    ],
    ['semicolons', 'time;value\n2020-01-01T00:00Z;1,5\n', /line 1: the columns are parted by semicolons/],
    ['UTF-16', `\ufffd\ufffdt\0i\0m\0e\0\n`, /line 1: the file is UTF-16, expected UTF-8/],
    ['nothing', '', /empty/],
    ['a header alone', `${HEADER}\n`, /no rows/],
  ])('%s: %s', async (_, content, sentence) => {
    await writeFile(file('bad.csv'), content);
    await expect(readSeries([file('bad.csv')])).rejects.toThrow(sentence);
  });
  it.each(['missing.csv', 'missing.csv.gz'])('says that %s cannot be read', async (name) => {
    await expect(readSeries([file(name)])).rejects.toThrow(/cannot be read \(ENOENT\)/);
  });
  it('says that a file is not zipped', async () => {
    await writeFile(file('lie.csv.gz'), 'time,value\n');
    await expect(readSeries([file('lie.csv.gz')], 'lbs_co2_per_mwh')).rejects.toThrow(/cannot be read/);
  });
});

describe('forecasts as issued', () => {
  let series: Series;
  beforeAll(async () => {
    series = await readSeries([file('first.csv'), file('second.csv.gz')]);
  });
  it('are the 36 recorded points, then the same-time mean of the 7 days before', () => {
    const issued = FROM + 9 * DAY + 40;
    const at = createRecordedForecast(series, issued);
    expect(at(0)).toBeCloseTo((1 + (9 * DAY + 40) / 1e5) * POUNDS, 6);
    expect(at(35)).toBeCloseTo((1.35 + (9 * DAY + 40) / 1e5) * POUNDS, 6);
    for (const ahead of [36, 100, 287, 288, 863]) {
      const before = [1, 2, 3, 4, 5, 6, 7].map((days) => {
        const place = (40 + ahead) % DAY;
        // The last such time before the issue, and the six before that.
        const latest = place < 40 ? 9 : 8;
        return rate(FROM + (latest + 1 - days) * DAY + place);
      });
      expect(at(ahead)).toBeCloseTo((before.reduce((a, b) => a + b) / 7) * POUNDS, 6);
    }
  });
  it('early in the record lean on what there is', () => {
    const at = createRecordedForecast(series, FROM + 2 * DAY);
    expect(at(50)).toBeCloseTo(((rate(FROM + 50) + rate(FROM + DAY + 50)) / 2) * POUNDS, 6);
  });
  it('after the record lean on its last week', () => {
    const at = createRecordedForecast(series, FROM + 40 * DAY);
    expect(Number.isFinite(at(0))).toBe(true);
    expect(at(0)).toBeCloseTo(at(288), 9);
  });
});

describe('the service on a series', () => {
  let service: PlainService;
  const now = (FROM + 9 * DAY + 40) * SLOT + 60_000;
  beforeAll(async () => {
    service = await startPlainService({ series: { files: [file('first.csv'), file('second.csv.gz')] } });
    service.setTime(now);
  });
  afterAll(() => service.close());
  const moer = { region: 'CAISO_NORTH', signal_type: 'co2_moer' };

  it('serves recorded values in lb/MWh', async () => {
    const start = new Date((FROM + 10) * SLOT).toISOString();
    const { json } = await service.get(`/v3/historical?${encodeQuery({ ...moer, start, end: start })}`);
    expect(json.meta.units).toBe('lbs_co2_per_mwh');
    expect(json.data[0].value).toBeCloseTo(0.01 * POUNDS, 3);
  });
  it('serves nothing of the record that lies ahead', async () => {
    const [start, end] = [FROM * SLOT, (FROM + 12 * DAY) * SLOT].map((at) => new Date(at).toISOString());
    const { json } = await service.get(
      `/v3/historical?${encodeQuery({ ...moer, start: start ?? '', end: end ?? '' })}`,
    );
    expect(json.data).toHaveLength(9 * DAY + 41);
  });
  it('serves 72 hours ahead, and an index that fits the first 24', async () => {
    const { json } = await service.get(`/v3/forecast?${encodeQuery({ ...moer, horizon_hours: 72 })}`);
    expect(json.data).toHaveLength(864);
    const pool: number[] = json.data.slice(0, 288).map(({ value }: { value: number }) => value);
    const current = pool[0] ?? 0;
    const below = pool.filter((value) => value < current).length;
    const equal = pool.filter((value) => value === current).length;
    const index = await service.get(`/v3/signal-index?${encodeQuery(moer)}`);
    expect(index.json.data[0].value).toBeCloseTo((100 * (below + equal / 2)) / 288, 9);
  });
  it('my-access tells the days of the record', async () => {
    const { json } = await service.get(`/v3/my-access?${encodeQuery(moer)}`);
    const [newest] = json.signal_types[0].regions[0].endpoints[0].models;
    expect([newest.data_start, newest.data_end]).toEqual(['2020-03-01', '2020-03-10']);
    service.setTime(now + 30 * 86_400_000);
    const later = (await service.get(`/v3/my-access?${encodeQuery(moer)}`)).json;
    expect(later.signal_types[0].regions[0].endpoints[0].models[0].data_end).toBe('2020-03-12');
    service.setTime(now);
  });
  it('serves past forecasts only for the record', async () => {
    const fields = { ...moer, start: '2020-02-29T23:00Z', end: '2020-03-01T00:10Z', horizon_hours: 1 };
    const { json } = await service.get(`/v3/forecast/historical?${encodeQuery(fields)}`);
    expect(json.data.map((entry: { generated_at: string }) => entry.generated_at)).toEqual([
      '2020-03-01T00:00:00+00:00',
      '2020-03-01T00:05:00+00:00',
      '2020-03-01T00:10:00+00:00',
    ]);
  });
  //  time                      marginal rate of the earlier interface
  it.each([
    ['2020-03-05T00:50:00Z', (0.01 + 0.0004) * POUNDS], // in the record
    ['2020-02-20T00:50:00Z', 0.01 * POUNDS], // before it: as on its first day
  ])('serves the earlier interface from the record too: %s', async (at, rate) => {
    const form = new URLSearchParams({ username: 'pro', password: PASSWORD }).toString();
    const type = { 'content-type': 'application/x-www-form-urlencoded' };
    const obtained = await sendPlainRequest(`${service.url}/api/v1/obtain-token-auth/`, {
      method: 'POST',
      headers: type,
      body: form,
    });
    const headers = { authorization: `Token ${JSON.parse(obtained.text).token}` };
    const fields = encodeQuery({ ba: 'CAISO', market: 'RT5M', start_at: at, end_at: at });
    const { results } = JSON.parse(
      (await sendPlainRequest(`${service.url}/api/v1/marginal/?${fields}`, { headers })).text,
    );
    expect(results[0].marginal_carbon.value).toBeCloseTo(rate, 3);
  });
  it('leaves the other regions as they were', async () => {
    expect((await service.get(`/v3/forecast?${encodeQuery({ ...moer, region: 'PSCO' })}`)).json.data).toHaveLength(288);
  });
});
