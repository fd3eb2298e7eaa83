/** Sections 2.5, 2.9, 4.5, 5 and 7 of the earlier interface by plain HTTP. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { encodeQuery, NOW, PASSWORD, type PlainService, sendPlainRequest, startPlainService } from './plain-http.ts';

let service: PlainService;
const tokens = new Map<string, string>();
beforeAll(async () => {
  service = await startPlainService();
  for (const username of ['free', 'pro']) {
    const reply = await obtain({ username, password: PASSWORD });
    tokens.set(username, JSON.parse(reply.text).token);
  }
});
beforeEach(() => service.setTime(NOW));
afterAll(() => service.close());

const obtain = (fields: Readonly<Record<string, string>>, type: 'form' | 'json' = 'form') =>
  sendPlainRequest(`${service.url}/api/v1/obtain-token-auth/`, {
    method: 'POST',
    headers: { 'content-type': type === 'form' ? 'application/x-www-form-urlencoded' : 'application/json' },
    body: type === 'form' ? encodeQuery(fields) : JSON.stringify(fields),
  });
const get = async (path: string, holder: string | undefined = 'pro') => {
  const token = tokens.get(holder);
  const headers = token === undefined ? {} : { authorization: `Token ${token}` };
  const reply = await sendPlainRequest(`${service.url}/api/v1/${path}`, { headers });
  return { ...reply, json: JSON.parse(reply.text) };
};

describe('4.5 POST obtain-token-auth', () => {
  it.each(['form', 'json'] as const)('answers 40 hexadecimal characters to a %s, the same each time', async (type) => {
    const reply = await obtain({ username: 'pro', password: PASSWORD }, type);
    expect(reply.status).toBe(200);
    expect(JSON.parse(reply.text)).toEqual({ token: tokens.get('pro') });
    expect(tokens.get('pro')).toMatch(/^[0-9a-f]{40}$/);
  });
  const required = ['This field is required.'];
  //  sent                                            body
  const rows: readonly (readonly [string, Readonly<Record<string, string>>, unknown])[] = [
    ['nothing', {}, { username: required, password: required }],
    ['no password', { username: 'pro' }, { password: required }],
    ['no username', { password: PASSWORD }, { username: required }],
    [
      'wrong credentials',
      { username: 'pro', password: 'wrong-pass1' },
      { non_field_errors: ['Unable to login with provided credentials.'] },
    ],
  ];
  it.each(rows)('7: %s is 400', async (_, fields, body) => {
    const reply = await obtain(fields);
    expect(reply.status).toBe(400);
    expect(JSON.parse(reply.text)).toEqual(body);
  });
});

describe('5 and 7: the token', () => {
  const marginal = (authorization: string) =>
    sendPlainRequest(`${service.url}/api/v1/marginal/?ba=CAISO&page_size=1`, { headers: { authorization } });
  it.each([
    ['invalid', 'Token 0123456789012345678901234567890123456789', 401, 'Invalid token'],
    ['absent after its word', 'Token', 401, 'Invalid token header. No credentials provided.'],
  ])('%s: 401', async (_, header, status, detail) => {
    const reply = await marginal(header);
    expect(reply.status).toBe(status);
    expect(JSON.parse(reply.text)).toEqual({ detail });
    expect(reply.headers['www-authenticate']).toBe('Token');
  });
  it('a bare key is nobody', async () => {
    expect((await marginal(String(tokens.get('pro')))).status).toBe(403);
  });
});

describe('4.5 GET balancing_authorities', () => {
  it('2.9: has the fields of an authority', async () => {
    const { json } = await get('balancing_authorities/?abbrev=CAISO');
    expect(json).toEqual([
      {
        name: 'California ISO',
        ba_type: 'ISO',
        url: `${service.url}/api/v1/balancing_authorities/?abbrev=CAISO`,
        abbrev: 'CAISO',
        link: 'https://authorities.invalid/caiso',
        states: ['CA'],
        notes: '',
      },
    ]);
  });
  //  loc                                                  abbreviations
  it.each([
    ['{"type": "Point", "coordinates": [-122.0, 38.5]}', ['CAISO']],
    ['{"coordinates":[-72.519,42.372],"type":"Point"}', ['ISONE']],
    ['{type: Point, coordinates: [-105, 39.7522]}', ['PSCO']],
    ['POINT (-105.0 39.7522)', ['PSCO']],
    ['POINT(0 0)', []],
  ])('loc %s', async (loc, expected) => {
    const { json } = await get(`balancing_authorities/?${encodeQuery({ loc })}`);
    expect(json.map(({ abbrev }: { abbrev: string }) => abbrev)).toEqual(expected);
  });
  it('takes a loc that was not encoded', async () => {
    const { json } = await get('balancing_authorities/?loc={"type":"Point","coordinates":[-122.0,38.5]}');
    expect(json[0].abbrev).toBe('CAISO');
  });
  it('overlooks empty parameters', async () => {
    const all = (await get('balancing_authorities/')).json.length;
    expect((await get('balancing_authorities/?loc=&abbrev=&ba_type=')).json).toHaveLength(all);
  });
  it('refuses a loc it cannot read', async () => {
    expect((await get('balancing_authorities/?loc=home')).status).toBe(400);
  });
  it('filters by type', async () => {
    const { json } = await get('balancing_authorities/?ba_type=ISO');
    expect(json.length).toBe(9);
  });
  it('every region of co2_moer lies with an authority of that list', async () => {
    const known = new Set((await get('balancing_authorities/')).json.map((ba: { abbrev: string }) => ba.abbrev));
    const { json } = await service.get('/v3/my-access?signal_type=co2_moer');
    const without = json.signal_types[0].regions.filter(({ parent }: { parent: string }) => !known.has(parent));
    expect(without).toEqual([]);
  });
});

describe('4.5 GET datapoints', () => {
  it('2.9: wrapper and data point', async () => {
    const { json } = await get('datapoints/?ba=CAISO&market=RT5M&page_size=1');
    expect(Object.keys(json)).toEqual(['count', 'next', 'previous', 'results']);
    const [point] = json.results;
    expect(Object.keys(point)).toEqual(['timestamp', 'created_at', 'carbon', 'genmix', 'url', 'market', 'freq', 'ba']);
    expect([point.market, point.freq, point.ba]).toEqual(['RT5M', '5m', 'CAISO']);
    expect(Object.keys(point.genmix[0])).toEqual(['fuel', 'gen_MW']);
    expect(point.carbon).toBeGreaterThan(0);
    expect(Date.parse(point.created_at)).toBeLessThanOrEqual(NOW);
    const itself = await sendPlainRequest(point.url, { headers: { authorization: `Token ${tokens.get('pro')}` } });
    expect(JSON.parse(itself.text).results).toEqual([point]);
  });

  //  market   freq   newest timestamp
  it.each([
    ['RT5M', '5m', /^2026-06-10T17:[45]/],
    ['RTHR', '1hr', /^2026-06-10T1[67]:00:00Z/],
    ['DAHR', '1hr', /^2026-06-11T23:00:00Z/],
  ])('%s comes every %s, newest first', async (market, freq, newest) => {
    const { json } = await get(`datapoints/?ba=ERCOT&market=${market}`);
    expect(json.results).toHaveLength(12);
    expect(json.results.every((point: { freq: string }) => point.freq === freq)).toBe(true);
    const times = json.results.map(({ timestamp }: { timestamp: string }) => timestamp);
    expect(times[0]).toMatch(newest);
    expect([...times].sort().reverse()).toEqual(times);
  });

  it('follows pages from the first to the last and back, each point once', async () => {
    const range = 'start_at=2026-06-01&end_at=2026-06-01T05:00:00%2B0000';
    const seen: string[] = [];
    let page = await get(`datapoints/?ba=CAISO&${range}&page_size=20`);
    const total = page.json.count;
    for (;;) {
      seen.push(
        ...page.json.results.map(
          (point: { market: string; timestamp: string }) => `${point.timestamp} ${point.market}`,
        ),
      );
      if (page.json.next === null) break;
      page = await get(page.json.next.slice(`${service.url}/api/v1/`.length));
    }
    // 61 of five minutes, 6 hours of the past and 6 of the day-ahead market, both ends inclusive.
    expect(total).toBe(73);
    expect(seen).toHaveLength(73);
    expect(new Set(seen).size).toBe(73);
    expect(page.json.previous).toContain('page=3');
  });
  it.each([
    ['bare dates', 'start_at=2026-06-01&end_at=2026-06-02', 289],
    ['+0000', 'start_at=2026-06-01T00:00:00%2B0000&end_at=2026-06-01T01:00:00%2B0000', 13],
    ['+00:00', 'start_at=2026-06-01T00:00:00%2B00:00&end_at=2026-06-01T01:00:00%2B00:00', 13],
    ['one instant', 'start_at=2026-06-01T00:00:00Z&end_at=2026-06-01T00:00:00Z', 1],
    ['empty parameters', 'start_at=2026-06-01T00:00:00Z&end_at=2026-06-01T01:00:00Z&freq=&page_size=', 13],
    ['an unknown authority', 'ba=NONE&start_at=2026-06-01', 0],
    ['another frequency', 'freq=10m&start_at=2026-06-01', 0],
  ])('%s', async (_, range, count) => {
    const ba = range.includes('ba=') ? '' : 'ba=CAISO&';
    expect((await get(`datapoints/?${ba}market=RT5M&${range}`)).json.count).toBe(count);
  });
  it('every authority has points of RT5M and DAHR, each with its mix and a marginal rate', async () => {
    const all: { abbrev: string }[] = (await get('balancing_authorities/')).json;
    expect(all.length).toBeGreaterThan(100);
    const day = 'start_at=2026-06-09T00:00:00Z&end_at=2026-06-09T23:00:00Z&page_size=1';
    for (const { abbrev } of all)
      for (const [market, count] of [
        ['RT5M', 277],
        ['DAHR', 24],
      ] as const) {
        const { json } = await get(`datapoints/?ba=${abbrev}&market=${market}&${day}`);
        expect([abbrev, json.count, json.results[0].ba]).toEqual([abbrev, count, abbrev]);
        expect(json.results[0].genmix.length).toBeGreaterThan(2);
        const marginal = await get(`marginal/?ba=${abbrev}&market=${market}&${day}`);
        expect(marginal.json.count).toBe(count);
        expect(Number.isFinite(marginal.json.results[0].marginal_carbon.value)).toBe(true);
      }
  });
  it('a page beyond the end is 404 {detail}', async () => {
    const { status, json } = await get(
      'datapoints/?ba=CAISO&market=RT5M&start_at=2026-06-01&end_at=2026-06-02&page=26',
    );
    expect([status, json]).toEqual([404, { detail: 'Invalid page.' }]);
  });
  it('a time that is none is 400', async () => {
    expect((await get('datapoints/?ba=CAISO&start_at=soon')).status).toBe(400);
  });
  it('a path without its slash is sent to the one with it', async () => {
    const { status, headers } = await sendPlainRequest(`${service.url}/api/v1/datapoints?ba=CAISO`);
    expect([status, headers.location]).toEqual([301, '/api/v1/datapoints/?ba=CAISO']);
  });
  it('a parameter given twice is 400', async () => {
    const { status, json } = await get('datapoints/?ba=CAISO&ba=PJM');
    expect([status, json]).toEqual([400, { ba: ['Given more than once.'] }]);
  });
  it('links stand on the address of the service, whatever Host the client names', async () => {
    const headers = { authorization: `Token ${tokens.get('pro')}`, host: 'evil.example' };
    const path = '/api/v1/datapoints/?ba=CAISO&page_size=1';
    const { next, results } = JSON.parse((await sendPlainRequest(service.url + path, { headers })).text);
    expect([next, results[0].url].every((link: string) => link.startsWith(`${service.url}/`))).toBe(true);
  });
  it('a page holds 100,000 at the most, whatever its size, and names the next', async () => {
    const headers = { authorization: `Token ${tokens.get('pro')}` };
    const path = '/api/v1/datapoints/?ba=CAISO&market=RT5M&page_size=1e300';
    const reader = (await fetch(service.url + path, { headers })).body?.getReader();
    const beginning = new TextDecoder().decode((await reader?.read())?.value).split(',"results"')[0];
    await reader?.cancel();
    const { count, next } = JSON.parse(`${beginning}}`);
    expect(count).toBeGreaterThan(700_000);
    expect(next).toMatch(/page=2$/);
    const last = Math.ceil(count / 100_000);
    const page = await get(`datapoints/?ba=CAISO&market=RT5M&page_size=1e300&page=${last + 1}`);
    expect(page.json).toEqual({ detail: 'Invalid page.' });
  });
  it('a thousand points in one page', async () => {
    expect((await get('datapoints/?ba=CAISO&market=RT5M&page_size=1000')).json.results).toHaveLength(1000);
  });
});

describe('4.5 GET marginal', () => {
  it('2.9: has its fields, with null for an unknown mix or demand', async () => {
    const { json } = await get('marginal/?market=RT5M&page_size=600');
    const [point] = json.results;
    expect(Object.keys(point)).toEqual([
      'timestamp',
      'genmix',
      'url',
      'market',
      'freq',
      'ba',
      'marginal_carbon',
      'load',
    ]);
    expect(Object.keys(point.marginal_carbon)).toEqual(['value', 'units', 'structural_model']);
    expect(point.marginal_carbon.units).toBe('lb/MW');
    const mixes = json.results.map(({ genmix }: { genmix: unknown }) => genmix === null);
    const loads = json.results.map(({ load }: { load: unknown }) => load === null);
    expect(new Set(mixes)).toEqual(new Set([true, false]));
    expect(new Set(loads)).toEqual(new Set([true, false]));
  });
  it.each([
    ['free', 403],
    ['pro', 200],
  ])('2.5: for the plan %s it is %s', async (plan, status) => {
    expect((await get('marginal/?ba=CAISO', plan)).status).toBe(status);
  });
});

describe('7: without a token', () => {
  it('25 requests an hour, then 429 with the seconds', async () => {
    const other = await startPlainService();
    const visit = () => sendPlainRequest(`${other.url}/api/v1/datapoints/?ba=CAISO&market=RT5M&page_size=1`);
    for (let i = 0; i < 25; i++) expect((await visit()).status).toBe(200);
    other.setTime(NOW + 600_000);
    const reply = await visit();
    expect(reply.status).toBe(429);
    expect(JSON.parse(reply.text)).toEqual({
      detail: 'Request was throttled.Expected available in 3000 seconds.',
    });
    expect(reply.headers['x-throttle-wait-seconds']).toBe('3000');
    other.setTime(NOW + 3_600_000);
    expect((await visit()).status).toBe(200);
    await other.close();
  });
});
