/** What holds for any request: an answer the interface knows, never a crash; and for any range: its parts make the whole. */

import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeQuery, NOW, type PlainService, sendPlainRequest, startPlainService } from '../contract/plain-http.ts';

let service: PlainService;
const errors: unknown[] = [];
beforeAll(async () => {
  service = await startPlainService({ extras: true, onError: (error) => errors.push(error) });
});
afterAll(() => service.close());

const paths = [
  '/register',
  '/login',
  '/password',
  '/v3/my-access',
  '/v3/region-from-loc',
  '/v3/maps',
  '/v3/forecast',
  '/v3/forecast/historical',
  '/v3/historical',
  '/v3/signal-index',
  '/v3/fuel-mix',
  '/api/v1/obtain-token-auth/',
  '/api/v1/balancing_authorities/',
  '/api/v1/datapoints/',
  '/api/v1/marginal/',
  '/',
];
const names = [
  'region',
  'signal_type',
  'model',
  'horizon_hours',
  'start',
  'end',
  'updated_since',
  'include_imputed_marker',
  'latitude',
  'longitude',
  'username',
  'ba',
  'market',
  'freq',
  'page',
  'page_size',
  'start_at',
  'end_at',
  'loc',
  'abbrev',
];
const value = fc.oneof(
  fc.constantFrom(
    'CAISO_NORTH',
    'PSCO',
    'CAISO',
    'co2_moer',
    'co2_aoer',
    'health_damage',
    'marginal_fuel_mix',
    '0',
    '1',
    '24',
    '72',
    '-1',
    '1e999',
    'NaN',
    'true',
    '2026-06-01T00:00:00Z',
    '2026-06-02',
    '2018-01-01T00:00Z',
    '2099-01-01T00:00Z',
    '2026-03-01',
    'RT5M',
    'DAHR',
    '__proto__',
    'constructor',
    'null',
    '',
    'POINT(-122 38.5)',
    '{"type":"Point","coordinates":[-122,38.5]}',
    '38.5',
    '-122.0',
  ),
  fc.string({ maxLength: 30 }),
  fc.double().map(String),
);
const known = new Set([200, 400, 401, 403, 404, 405, 422, 429]);

describe('any request', () => {
  it('has an answer of the interface, as JSON', async () => {
    const tokens = [
      `Bearer ${await service.login('pro')}`,
      `Bearer ${await service.login('free')}`,
      'Token x',
      'Basic !!',
      '',
    ];
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...paths),
        fc.constantFrom('GET', 'GET', 'GET', 'POST', 'PUT'),
        fc.constantFrom(...tokens),
        fc.dictionary(fc.constantFrom(...names), value, { maxKeys: 8 }),
        fc.oneof(fc.constant(''), fc.json({ maxDepth: 2 }), fc.string()),
        async (path, method, authorization, fields, body) => {
          const reply = await sendPlainRequest(`${service.url}${path}?${encodeQuery(fields)}`, {
            method,
            headers: { ...(authorization === '' ? {} : { authorization }), 'content-type': 'application/json' },
            ...(method === 'GET' ? {} : { body }),
          });
          expect(known.has(reply.status), `${reply.status}`).toBe(true);
          JSON.parse(reply.text);
        },
      ),
      { numRuns: 600 },
    );
    expect(errors).toEqual([]);
  });
});

describe('any range of history', () => {
  const moer = { region: 'PSCO', signal_type: 'co2_moer', include_imputed_marker: 'true' };
  const pointsOf = async (from: number, to: number) => {
    const fields = { ...moer, start: new Date(from * 1_000).toISOString(), end: new Date(to * 1_000).toISOString() };
    return (await service.get(`/v3/historical?${encodeQuery(fields)}`)).json.data;
  };
  it('is the same whole or in two parts', async () => {
    const newest = NOW / 1_000;
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: Date.parse('2018-12-31Z') / 1_000, max: newest }),
        fc.integer({ min: 0, max: 2 * 86_400 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        async (from, length, share) => {
          const cut = from + Math.floor(length * share);
          const parts = [
            ...(await pointsOf(from, cut)),
            ...(await pointsOf(Math.min(cut + 1, from + length + 1), from + length + 1)),
          ];
          expect(await pointsOf(from, from + length + 1)).toEqual(parts);
        },
      ),
      { numRuns: 60 },
    );
  });
});
