/** What the decoders make of good, odd and broken answers. Each row changes one thing in a good answer. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseInstant } from '../../src/domain/iso-time.ts';
import type { Latitude, Longitude } from '../../src/domain/units.ts';
import { decodeAccess, decodeRegion, decodeToken } from '../../src/service/api/decode-account.ts';
import { decodeForecast, decodeHistory, decodeIndex, decodePastForecasts } from '../../src/service/api/decode-data.ts';
import type { Outcome } from '../../src/service/failure.ts';
import { forecastBody, indexBody, instantAt, metaBody, pointBody } from './client-fixture.ts';

const PSCO = { region: 'PSCO', signalType: 'co2_moer' };
const NOON_ON = { ...PSCO, start: instantAt('2026-03-01T12:00:00Z'), end: instantAt('2026-03-01T12:10:00Z') };
const good = [pointBody(0, 500), pointBody(5, 510), pointBody(10, 490)];

/** Through JSON, as it comes: 1e999 and the like included. */
const parsed = (text: string) => JSON.parse(text) as unknown;
const withoutKey = (key: string) => Object.fromEntries(Object.entries(metaBody()).filter(([name]) => name !== key));

/** The values, or the place that is invalid. */
function seen(
  outcome: Outcome<{ readonly points: readonly { readonly value: number }[]; readonly refusedPoints: number }>,
) {
  if (outcome.ok)
    return { values: outcome.value.points.map(({ value }) => value), refused: outcome.value.refusedPoints };
  return outcome.failure.kind === 'invalid-response' ? outcome.failure.where : outcome.failure.kind;
}

describe('a forecast', () => {
  const ten = Array.from({ length: 10 }, (_, i) => pointBody(i * 5, i));
  const with1 = (item: unknown) => [...ten, item];
  const body = (data: unknown, m: object = metaBody()) => ({ data, meta: m });
  const all = { values: [500, 510, 490], refused: 0 };
  const tenSeen = (refused: number) => ({ values: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], refused });

  //  what                              body                                                        seen
  const rows: readonly (readonly [string, unknown, unknown])[] = [
    ['good', forecastBody(), all],
    ['unsorted', body([good[2], good[0], good[1]]), all],
    ['a repeated point: the last wins', body([pointBody(0, 1), ...good]), all],
    ['extra keys', { ...body(good.map((p) => ({ ...p, more: 1 }))), more: {} }, all],
    ['no warnings', body(good, withoutKey('warnings')), all],
    ['warnings null', body(good, metaBody({ warnings: null })), all],
    ['warnings text', body(good, metaBody({ warnings: 'x' })), all],
    ['no model', body(good, withoutKey('model')), all],
    ['model null', body(good, metaBody({ model: null })), all],
    ['model date null', body(good, metaBody({ model: { date: null } })), all],
    ['no region', body(good, withoutKey('region')), all],
    ['region null', body(good, metaBody({ region: null })), all],
    ['no signal_type', body(good, withoutKey('signal_type')), all],
    ['no generated_at_period_seconds', body(good, withoutKey('generated_at_period_seconds')), all],
    ['times with Z', body([{ point_time: '2026-03-01T12:00:00Z', value: 500 }]), { values: [500], refused: 0 }],
    ['13 decimals', body([pointBody(0, 500.1234567890123)]), { values: [500.1234567890123], refused: 0 }],
    ['negative and zero', body([pointBody(0, -3), pointBody(5, 0)]), { values: [-3, 0], refused: 0 }],
    ['a gap', body([good[0], good[2]]), { values: [500, 490], refused: 0 }],
    ['no points', body([]), { values: [], refused: 0 }],
    ['one text', body(with1(pointBody(50, '500'))), tenSeen(1)],
    ['one null', body(with1(pointBody(50, null))), tenSeen(1)],
    ['one without value', body(with1({ point_time: '2026-03-01T12:50:00Z' })), tenSeen(1)],
    ['one null item', body(with1(null)), tenSeen(1)],
    ['one list', body(with1([])), tenSeen(1)],
    ['one 30 February', body(with1({ point_time: '2026-02-30T12:00:00Z', value: 1 })), tenSeen(1)],
    ['one time without a zone', body(with1({ point_time: '2026-03-01T12:50:00', value: 1 })), tenSeen(1)],
    ['one 1e999', parsed(JSON.stringify(body(with1(pointBody(50, 7777)))).replace('7777', '1e999')), tenSeen(1)],
    ['one absurd', body(with1(pointBody(50, 1e12))), tenSeen(1)],
    ['a quarter text', body([...good, pointBody(15, 'x')]), 'data'],
    ['all null', body(good.map((p) => ({ ...p, value: null }))), 'data'],
    ['wrong region', body(good, metaBody({ region: 'CAISO_NORTH' })), 'meta.region'],
    ['wrong signal', body(good, metaBody({ signal_type: 'co2_aoer' })), 'meta.signal_type'],
    ['a percentile', body(good, metaBody({ units: 'percentile' })), 'meta.units'],
    ['other units', body(good, metaBody({ units: 'kg_co2_per_mwh' })), 'meta.units'],
    ['no units', body(good, withoutKey('units')), 'meta.units'],
    ['points 3 min apart', body([pointBody(0, 1), pointBody(3, 1), pointBody(6, 1)]), 'data'],
    ['period text', body(good, metaBody({ data_point_period_seconds: '300' })), 'meta.data_point_period_seconds'],
    ['period 0', body(good, metaBody({ data_point_period_seconds: 0 })), 'meta.data_point_period_seconds'],
    ['period 1e999', parsed(JSON.stringify(forecastBody()).replace('300', '1e999')), 'meta.data_point_period_seconds'],
    ['no generated_at', body(good, withoutKey('generated_at')), 'meta.generated_at'],
    ['generated_at text', body(good, metaBody({ generated_at: 'now' })), 'meta.generated_at'],
    ['no meta', { data: good }, 'meta'],
    ['no data', { meta: metaBody() }, 'data'],
    ['data an object', body({ 0: good[0] }), 'data'],
    ['a list', [forecastBody()], 'data'],
    ['null', null, 'body'],
    ['text', 'ok', 'body'],
    ['a prototype of its own', parsed('{"__proto__": {"data": [], "meta": {}}}'), 'data'],
  ];
  it.each(rows)('%s', (_, answer, expected) => {
    expect(seen(decodeForecast(answer, PSCO))).toEqual(expected);
  });

  it('names the place, the wanted and the received', () => {
    const outcome = decodeForecast(body(good, metaBody({ region: 'CAISO_NORTH' })), PSCO);
    expect(outcome).toEqual({
      ok: false,
      failure: { kind: 'invalid-response', where: 'meta.region', expected: 'PSCO', received: 'CAISO_NORTH' },
    });
  });

  it('an hourly signal keeps its period', () => {
    const hourly = [pointBody(0, 1), { point_time: '2026-03-01T13:00:00+00:00', value: 2 }];
    const outcome = decodeForecast(body(hourly, metaBody({ data_point_period_seconds: 3600 })), PSCO);
    expect(outcome.ok && outcome.value.period).toBe(3_600_000);
  });

  it('carries its unit, model, generation and warnings', () => {
    const warnings = [{ type: 'data', message: 'late' }, { message: 'x' }, null, 5];
    const outcome = decodeForecast(forecastBody({ warnings }), { ...PSCO, model: '2023-03-01' });
    expect(outcome).toMatchObject({
      ok: true,
      value: {
        units: 'lbs_co2_per_mwh',
        model: '2023-03-01',
        generatedAt: instantAt('2026-03-01T12:00:00Z'),
        generatedPeriod: 300_000,
        warnings: [
          { type: 'data', message: 'late' },
          { type: '', message: 'x' },
        ],
      },
    });
  });

  it('another model than asked is invalid', () => {
    expect(seen(decodeForecast(forecastBody(), { ...PSCO, model: '2024-03-01' }))).toBe('meta.model.date');
  });

  it('an unknown signal may have its own unit, but no percentile', () => {
    const health = { region: 'PSCO', signalType: 'health_damage' };
    const answer = (units: string) => forecastBody({ signal_type: 'health_damage', units });
    expect(decodeForecast(answer('usd_per_mwh'), health).ok).toBe(true);
    expect(seen(decodeForecast(answer('percentile'), health))).toBe('meta.units');
  });

  it('nesting without end is invalid like any other', () => {
    const deep = parsed(`${'['.repeat(50_000)}${']'.repeat(50_000)}`);
    for (const answer of [deep, body(deep), body(good, metaBody({ units: deep })), body([deep, deep])])
      expect(decodeForecast(answer, PSCO).ok).toBe(false);
    expect(decodeIndex(body([{ point_time: deep, value: deep }], metaBody({ units: 'percentile' })), PSCO).ok).toBe(
      false,
    );
  });

  it('pollutes nothing', () => {
    decodeForecast(
      parsed(`{"data":[{"__proto__":{"polluted":1},"point_time":"x","value":1}],"meta":{"__proto__":{"polluted":1}}}`),
      PSCO,
    );
    expect('polluted' in {}).toBe(false);
  });

  it('any JSON gives an answer or a failure, never an exception', () => {
    fc.assert(
      fc.property(
        fc.jsonValue(),
        fc.jsonValue(),
        fc.constantFrom(...Object.keys(metaBody())),
        (anything, value, key) => {
          for (const answer of [
            anything,
            { data: anything, meta: metaBody() },
            { data: good, meta: metaBody({ [key]: value }) },
          ]) {
            decodeForecast(answer, PSCO);
            decodeIndex(answer, PSCO);
            decodeHistory(answer, NOON_ON);
            decodePastForecasts(answer, NOON_ON);
            decodeAccess(answer);
          }
        },
      ),
    );
  });
});

describe('the live index', () => {
  const body = (data: unknown, units = 'percentile') => ({ data, meta: metaBody({ units }) });
  //  what                 body                                  value or place
  const rows: readonly (readonly [string, unknown, number | string])[] = [
    ['good', indexBody(), 42],
    ['0', body([pointBody(0, 0)]), 0],
    ['100', body([pointBody(0, 100)]), 100],
    ['above 100', body([pointBody(0, 100.5)]), 'data.0.value'],
    ['below 0', body([pointBody(0, -1)]), 'data.0.value'],
    ['text', body([pointBody(0, '42')]), 'data.0.value'],
    ['two points', body([pointBody(0, 1), pointBody(5, 2)]), 'data'],
    ['no point', body([]), 'data'],
    ['a rate', body([pointBody(0, 42)], 'lbs_co2_per_mwh'), 'meta.units'],
  ];
  it.each(rows)('%s', (_, answer, expected) => {
    const outcome = decodeIndex(answer, PSCO);
    if (outcome.ok) expect(outcome.value.point.value).toBe(expected);
    else expect(outcome.failure).toMatchObject({ kind: 'invalid-response', where: expected });
  });
});

describe('history', () => {
  it('keeps last_updated and the imputed marker where they were sent', () => {
    const data = [
      { ...pointBody(0, 1), last_updated: '2026-03-01T12:00:20+00:00', imputed_data_used: true },
      { ...pointBody(5, 2), last_updated: null, imputed_data_used: null },
      pointBody(10, 3),
    ];
    const outcome = decodeHistory({ data, meta: metaBody() }, NOON_ON);
    expect(outcome.ok && outcome.value.points).toEqual([
      {
        at: instantAt('2026-03-01T12:00:00Z'),
        value: 1,
        lastUpdated: instantAt('2026-03-01T12:00:20Z'),
        imputed: true,
      },
      { at: instantAt('2026-03-01T12:05:00Z'), value: 2 },
      { at: instantAt('2026-03-01T12:10:00Z'), value: 3 },
    ]);
  });

  it('leaves out what was not asked for', () => {
    const outcome = decodeHistory({ data: [...good, pointBody(15, 1)], meta: metaBody() }, NOON_ON);
    expect(seen(outcome)).toEqual({ values: [500, 510, 490], refused: 0 });
  });
});

describe('past forecasts', () => {
  const entry = (minute: number, list: unknown = good) => ({
    generated_at: `2026-03-01T12:${String(minute).padStart(2, '0')}:00+00:00`,
    forecast: list,
  });
  const decoded = (data: unknown) => decodePastForecasts({ data, meta: metaBody() }, NOON_ON);

  it('come in order of generation, of a repeated one the last', () => {
    const outcome = decoded([entry(5), entry(0), entry(5, [pointBody(5, 1)])]);
    expect(
      outcome.ok && outcome.value.forecasts.map(({ generatedAt, points }) => [generatedAt, points.length]),
    ).toEqual([
      [instantAt('2026-03-01T12:00:00Z'), 3],
      [instantAt('2026-03-01T12:05:00Z'), 1],
    ]);
  });

  it('an entry without its time or list is counted, too many are invalid', () => {
    const six = [0, 1, 2, 3, 4, 5].map((i) => entry(i));
    const outcome = decoded([...six, { generated_at: 'x', forecast: [] }]);
    expect(outcome.ok && outcome.value.refusedPoints).toBe(1);
    expect(decoded([entry(0), entry(5, null)])).toMatchObject({ failure: { kind: 'invalid-response', where: 'data' } });
  });
});

describe('account and region', () => {
  const place = { place: { latitude: 39.7522 as Latitude, longitude: -105 as Longitude }, signalType: 'co2_moer' };

  it('a token never shows in a complaint', () => {
    const outcome = decodeToken({ token: 'abc\ndef' });
    expect(JSON.stringify(outcome)).not.toContain('abc');
    expect(outcome).toMatchObject({ failure: { kind: 'invalid-response', where: 'token' } });
    expect(decodeToken({ token: 5 }).ok).toBe(false);
    expect(decodeToken({ token: '' }).ok).toBe(false);
    expect(decodeToken({ token: 'eyJ.x' })).toEqual({ ok: true, value: { token: 'eyJ.x' } });
  });

  it('a region of another signal is invalid, a missing name is the abbreviation', () => {
    expect(decodeRegion({ region: 'PSCO' }, place)).toEqual({
      ok: true,
      value: { region: 'PSCO', regionFullName: 'PSCO', signalType: 'co2_moer' },
    });
    expect(decodeRegion({ region: 'PSCO', signal_type: 'co2_aoer' }, place).ok).toBe(false);
  });

  it('an access description may leave out parent, ends and endpoints', () => {
    const models = [{ model: '2023-03-01', data_start: '2019-01-01', data_end: null }];
    const outcome = decodeAccess({
      signal_types: [
        {
          signal_type: 'co2_moer',
          regions: [
            { region: 'PSCO', parent: null, endpoints: [{ endpoint: '/v3/forecast', models }] },
            { region: 'X', region_full_name: 'Ex', data_point_period_seconds: 3600, endpoints: null },
          ],
        },
        { signal_type: 'health_damage' },
      ],
    });
    expect(outcome).toEqual({
      ok: true,
      value: {
        signalTypes: [
          {
            signalType: 'co2_moer',
            regions: [
              {
                region: 'PSCO',
                regionFullName: 'PSCO',
                endpoints: [{ endpoint: 'v3/forecast', models: [{ model: '2023-03-01', dataStart: '2019-01-01' }] }],
              },
              { region: 'X', regionFullName: 'Ex', period: 3_600_000, endpoints: [] },
            ],
          },
          { signalType: 'health_damage', regions: [] },
        ],
      },
    });
  });
});

describe('times', () => {
  //  text                                 instant, or undefined
  const rows: readonly (readonly [unknown, string | undefined])[] = [
    ['2026-03-01T12:00:00Z', '2026-03-01T12:00:00.000Z'],
    ['2026-03-01T12:00:00+00:00', '2026-03-01T12:00:00.000Z'],
    ['2026-03-01T12:00:00.1234567+00:00', '2026-03-01T12:00:00.123Z'],
    ['2026-03-01T12:00+0100', '2026-03-01T11:00:00.000Z'],
    ['2026-03-01 12:00:00-05:30', '2026-03-01T17:30:00.000Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
    ['2026-02-29T00:00:00Z', undefined],
    ['2026-02-30T00:00:00Z', undefined],
    ['2026-13-01T00:00:00Z', undefined],
    ['2026-03-01T24:00:00Z', undefined],
    ['2026-03-01T12:60:00Z', undefined],
    ['2026-03-01T12:00:00', undefined],
    ['2026-03-01T12:00x00+00:00', undefined],
    ['2026-03-01x12:00:00+00:00', undefined],
    ['2026-03-01T12:00:0x+00:00', undefined],
    ['2026-03-01T12:00:00+00:60', undefined],
    ['2026-03-01T12:00:00+24:00', undefined],
    ['2026/03/01T12:00:00Z', undefined],
    ['2026-03-01T12.00:00Z', undefined],
    ['1900-02-29T12:00:00Z', undefined],
    ['2026-04-31T12:00:00Z', undefined],
    ['2026-00-01T12:00:00Z', undefined],
    ['2026-03-00T12:00:00Z', undefined],
    ['2026-03-01T12:00:60Z', undefined],
    ['', undefined],
    ['2026-03-01', undefined],
    ['1772366400', undefined],
    [1772366400, undefined],
    [null, undefined],
  ];
  it.each(rows)('%s', (text, expected) => {
    const instant = parseInstant(text);
    expect(instant === undefined ? undefined : new Date(instant).toISOString()).toBe(expected);
  });
});
