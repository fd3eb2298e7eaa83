/** Each fault does to the wire what its name says, where and as often as its rule says. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type FaultName, type FaultRule, parseFaultScript } from '../../src/reference/faults/fault-rules.ts';
import { isInsideRing, type Polygon, type Position } from '../../src/reference/world/map-geometry.ts';
import {
  basicAuthorization,
  encodeQuery,
  NOW,
  PASSWORD,
  type PlainService,
  sendPlainRequest,
  startPlainService,
} from '../contract/plain-http.ts';

let service: PlainService;
beforeAll(async () => {
  service = await startPlainService();
});
beforeEach(() => {
  service.setTime(NOW);
  service.reference.setFaults([]);
});
afterAll(() => service.close());

const moer = { region: 'PSCO', signal_type: 'co2_moer' };
const FORECAST = `/v3/forecast?${encodeQuery({ region: 'CAISO_NORTH', signal_type: 'co2_moer' })}`;
const INDEX = `/v3/signal-index?${encodeQuery(moer)}`;

/** The answer whole and healthy, then struck. */
async function struck(rule: FaultRule, path = FORECAST) {
  service.reference.setFaults([]);
  const healthy = await service.get(path);
  service.reference.setFaults([rule]);
  const sick = await service.get(path);
  return { healthy, sick };
}

describe('instead of the answer', () => {
  //  fault             status   content type          retry-after
  const rows: readonly (readonly [FaultName, number, string, string | undefined])[] = [
    ['401', 401, 'application/json', undefined],
    ['empty', 200, 'application/json', undefined],
    ['429', 429, 'application/json', '30'],
    ['429-bare', 429, 'application/json', undefined],
    ['500', 500, 'application/json', undefined],
    ['502-html', 502, 'text/html', undefined],
    ['503', 503, 'application/json', undefined],
    ['captive-portal', 200, 'text/html', undefined],
    ['redirect', 302, 'text/html', undefined],
  ];
  it.each(rows)('%s is %s', async (fault, status, type, wait) => {
    const { sick } = await struck({ fault });
    expect(sick.status).toBe(status);
    expect(sick.headers['content-type']).toContain(type);
    expect(sick.headers['retry-after']).toBe(wait);
    expect(sick.headers.location).toBe(fault === 'redirect' ? 'https://elsewhere.invalid/' : undefined);
  });

  //  fault             status   content type
  it.each([
    ['401-mid-life', 401, 'application/json'],
    ['html-401', 401, 'text/html'],
    ['html-403', 403, 'text/html'],
  ] as const)('%s kills a token of 10 minutes, and a new one lives', async (fault, status, type) => {
    service.reference.setFaults([{ fault }]);
    const login = async () => {
      const reply = await sendPlainRequest(`${service.url}/login`, {
        headers: { authorization: basicAuthorization('basic', PASSWORD) },
      });
      return { authorization: `Bearer ${JSON.parse(reply.text).token}` };
    };
    const headers = await login();
    service.setTime(NOW + 599_000);
    expect((await sendPlainRequest(service.url + INDEX, { headers })).status).toBe(200);
    service.setTime(NOW + 600_000);
    const reply = await sendPlainRequest(service.url + INDEX, { headers });
    expect(reply.status).toBe(status);
    expect(reply.headers['content-type']).toContain(type);
    expect((await sendPlainRequest(service.url + INDEX, { headers: await login() })).status).toBe(200);
  });
});

describe('on the values', () => {
  interface Point {
    readonly point_time: string;
    readonly value: unknown;
  }
  it('text-values: text where numbers were', async () => {
    const { sick } = await struck({ fault: 'text-values' });
    expect(sick.json.data[0].value).toBe('n/a');
    expect(typeof sick.json.data[1].value).toBe('number');
  });
  it('nulls', async () => {
    const { sick } = await struck({ fault: 'nulls' });
    expect(sick.json.data.filter(({ value }: Point) => value === null)).toHaveLength(29);
  });
  it('repeated-points', async () => {
    const { healthy, sick } = await struck({ fault: 'repeated-points' });
    expect(sick.json.data).toHaveLength(288 + 29);
    expect(new Set(sick.json.data.map(String)).size).toBeLessThanOrEqual(healthy.json.data.length);
  });
  it('unsorted-points: the same points in another order', async () => {
    const { healthy, sick } = await struck({ fault: 'unsorted-points' });
    const sorted = (points: Point[]) => points.map((point) => JSON.stringify(point)).sort();
    expect(sick.json.data).not.toEqual(healthy.json.data);
    expect(sorted(sick.json.data)).toEqual(sorted(healthy.json.data));
    // No whole number of sevens.
    const days = await struck({ fault: 'unsorted-points' }, `${FORECAST}&horizon_hours=72`);
    expect(sorted(days.sick.json.data)).toEqual(sorted(days.healthy.json.data));
  });
  it('missing-points: a quarter of them', async () => {
    expect((await struck({ fault: 'missing-points' })).sick.json.data).toHaveLength(216);
  });
  it('older-generated-at: an hour', async () => {
    expect((await struck({ fault: 'older-generated-at' })).sick.json.meta.generated_at).toBe(
      '2026-06-10T17:00:00+00:00',
    );
  });
  it('model-switch: another label', async () => {
    expect((await struck({ fault: 'model-switch' }, INDEX)).sick.json.meta.model.date).toBe('2027-03-01');
  });
  it('wrong-units, wrong-region', async () => {
    expect((await struck({ fault: 'wrong-units' }, INDEX)).sick.json.meta.units).toBe('kg_co2_per_mwh');
    expect((await struck({ fault: 'wrong-region' }, INDEX)).sick.json.meta.region).toBe('ELSEWHERE');
  });

  const range = { ...moer, start: '2026-06-01T00:00Z', end: '2026-06-01T01:00Z' };
  it.each([
    ['forecast', FORECAST],
    ['past forecasts', `/v3/forecast/historical?${encodeQuery(range)}`],
    ['history', `/v3/historical?${encodeQuery(range)}`],
    ['index', INDEX],
  ])('warnings and their absence, in the envelope of the %s', async (_, path) => {
    expect((await struck({ fault: 'warnings' }, path)).sick.json.meta.warnings).toEqual([
      { message: 'Some inputs were late.', type: 'data_quality' },
    ]);
    expect('warnings' in (await struck({ fault: 'no-warnings-field' }, path)).sick.json.meta).toBe(false);
  });
  it('clock-skew: the whole service is 10 minutes ahead', async () => {
    const { sick } = await struck({ fault: 'clock-skew' });
    expect(sick.headers.date).toBe('Wed, 10 Jun 2026 18:12:30 GMT');
    expect(sick.json.meta.generated_at).toBe('2026-06-10T18:10:00+00:00');
  });
});

describe('on the account', () => {
  it('plan-change: another plan while it lasts, in what is opened and what my-access tells', async () => {
    const maps = () => service.get('/v3/maps?signal_type=co2_aoer', 'basic');
    expect((await maps()).status).toBe(403);
    service.reference.setFaults([{ fault: 'plan-change', value: 'analyst' }]);
    expect((await maps()).status).toBe(200);
    expect((await service.get('/v3/my-access?region=PSCO', 'basic')).text).toContain('v3/maps');
    service.reference.setFaults([{ fault: 'plan-change' }]);
    expect((await service.get(`/v3/forecast?${encodeQuery(moer)}`, 'pro')).status).toBe(403);
    const form = { 'content-type': 'application/json' };
    const body = JSON.stringify({ username: 'pro', password: PASSWORD });
    const obtained = await sendPlainRequest(`${service.url}/api/v1/obtain-token-auth/`, {
      method: 'POST',
      headers: form,
      body,
    });
    const headers = { authorization: `Token ${JSON.parse(obtained.text).token}` };
    const marginal = () => sendPlainRequest(`${service.url}/api/v1/marginal/?ba=CAISO&page_size=1`, { headers });
    expect((await marginal()).status).toBe(403);
    service.reference.setFaults([]);
    expect((await marginal()).status).toBe(200);
  });
});

describe('on the map', () => {
  const MAP = '/v3/maps?signal_type=co2_moer';
  const lookup = (longitude: number) =>
    service.get(`/v3/region-from-loc?${encodeQuery({ signal_type: 'co2_moer', latitude: 39.7522, longitude })}`);
  it('map-border: every border half a degree east, and the lookup with it', async () => {
    const { healthy, sick } = await struck({ fault: 'map-border' }, MAP);
    const corner = (reply: typeof sick) => reply.json.features[0].geometry.coordinates[0][0][0];
    expect(corner(sick)[0]).toBeCloseTo(corner(healthy)[0] + 0.5, 5);
    expect(Date.parse(sick.json.meta.last_updated)).toBeGreaterThan(Date.parse(healthy.json.meta.last_updated));
    // A house just west of the old border is in another region now.
    expect((await lookup(-106.6)).json.region).not.toBe('PSCO');
    service.reference.setFaults([]);
    expect((await lookup(-106.6)).json.region).toBe('PSCO');
  });
  it('map-rename: the new name everywhere, the old one unknown', async () => {
    const { sick } = await struck({ fault: 'map-rename' }, MAP);
    expect(sick.text).toContain('"PSCO_EAST"');
    expect(sick.text).not.toContain('"PSCO"');
    expect((await lookup(-105)).json.region).toBe('PSCO_EAST');
    const renamed = await service.get(INDEX.replace('PSCO', 'PSCO_EAST'));
    expect(renamed.json.meta.region).toBe('PSCO_EAST');
  });
  it('map-rename: the old name is refused in the words any unknown name is', async () => {
    const unknown = await service.get(INDEX.replace('PSCO', 'PSCO_EAST'));
    service.reference.setFaults([{ fault: 'map-rename' }]);
    const old = await service.get(INDEX);
    expect([old.status, old.text]).toEqual([400, unknown.text.replace('PSCO_EAST', 'PSCO')]);
    expect((await service.get('/v3/my-access?region=PSCO')).status).toBe(400);
    expect((await service.get('/v3/my-access?region=PSCO_EAST')).text).toContain('"region":"PSCO_EAST"');
    const gated = await service.get('/v3/forecast?region=PSCO_EAST&signal_type=co2_moer', 'free');
    expect(gated.json.message).toContain('"PSCO_EAST" at /v3/forecast');
  });
  it('a slash at the end of a path changes nothing', async () => {
    const { sick } = await struck({ fault: 'map-border' }, MAP);
    expect((await service.get(MAP.replace('maps', 'maps/'))).text).toBe(sick.text);
  });
  it('map-border: map and lookup agree, up to the date line', async () => {
    service.reference.setFaults([{ fault: 'map-border' }]);
    const { features } = (await service.get(MAP)).json as {
      features: { properties: { region: string }; geometry: { coordinates: Polygon[] } }[];
    };
    for (const longitude of [-180, -179.99, -178, -169.6, -150.1, -105, -98.3, 12.5, 170.2, 175.5, 179.4, 179.99])
      for (const latitude of [-17, 38.2, 48.1, 58.9, 65.3]) {
        const at: Position = [longitude, latitude];
        const holds = (polygon: Polygon) => polygon.filter((ring) => isInsideRing(ring, at)).length === 1;
        const found = features.find(({ geometry }) => geometry.coordinates.some(holds))?.properties.region;
        const fields = { signal_type: 'co2_moer', latitude, longitude };
        const { json } = await service.get(`/v3/region-from-loc?${encodeQuery(fields)}`);
        expect(json.region, `${at}`).toBe(found);
      }
    const line = features.flatMap(({ geometry }) => geometry.coordinates.flat(2)).filter(([x]) => Math.abs(x) === 180);
    service.reference.setFaults([]);
    const before = (await service.get(MAP)).json.features as typeof features;
    const straight = before
      .flatMap(({ geometry }) => geometry.coordinates.flat(2))
      .filter(([x]) => Math.abs(x) === 180);
    expect(line).toEqual(straight);
  });
  it('map-border invents no longitude', async () => {
    service.reference.setFaults([{ fault: 'map-border' }]);
    expect((await service.get('/v3/region-from-loc?signal_type=co2_moer&latitude=39')).status).toBe(422);
  });
});

describe('on the wire', () => {
  const asked = async (accept = 'identity') =>
    sendPlainRequest(service.url + FORECAST, {
      headers: { authorization: `Bearer ${await service.login('pro')}`, 'accept-encoding': accept },
    });
  it('cut-body: the connection ends half way', async () => {
    await service.login('pro');
    service.reference.setFaults([{ fault: 'cut-body' }]);
    await expect(asked()).rejects.toThrow(/aborted|hang up|ECONNRESET/);
  });
  it('truncated-json: a whole answer that is half a document', async () => {
    const { healthy, sick } = await struck({ fault: 'truncated-json' });
    expect(sick.status).toBe(200);
    expect(healthy.text.startsWith(sick.text)).toBe(true);
    expect(sick.json).toBeUndefined();
  });
  it('slow-body: byte by byte to the end', async () => {
    const { healthy, sick } = await struck({ fault: 'slow-body', value: 1 }, INDEX);
    expect(sick.text).toBe(healthy.text);
  });
  it('gzip-bomb: little on the wire, much behind it', async () => {
    await service.login('pro');
    service.reference.setFaults([{ fault: 'gzip-bomb', value: 20 }]);
    const reply = await asked('gzip');
    expect(reply.text.length).toBeGreaterThan(20 * 1_048_576);
    expect(reply.bytes).toBeLessThan(50_000);
  });
  it('hang: nothing comes until the caller leaves', async () => {
    await service.login('pro');
    service.reference.setFaults([{ fault: 'hang', path: '/v3/forecast' }]);
    const waiting = asked();
    waiting.catch(() => {});
    // Another path is answered all the while.
    expect((await service.get(INDEX)).status).toBe(200);
    await service.close();
    await expect(waiting).rejects.toThrow();
    service = await startPlainService();
  });
});

describe('rules', () => {
  const statuses = async (rule: FaultRule, count: number) => {
    await service.login('pro');
    service.reference.setFaults([rule]);
    const list: number[] = [];
    for (let i = 0; i < count; i++) list.push((await service.get(INDEX)).status);
    return list;
  };
  it('skip, every and times', async () => {
    expect(await statuses({ fault: '500', skip: 2 }, 4)).toEqual([200, 200, 500, 500]);
    expect(await statuses({ fault: '500', every: 2 }, 4)).toEqual([500, 200, 500, 200]);
    expect(await statuses({ fault: '500', skip: 1, every: 2, times: 1 }, 5)).toEqual([200, 500, 200, 200, 200]);
  });
  it('from and until, on the clock of the service', async () => {
    await service.login('pro');
    service.reference.setFaults([{ fault: '500', from: NOW + 1_000, until: NOW + 2_000 }]);
    const at = async (time: number) => {
      service.setTime(time);
      return (await service.get(INDEX)).status;
    };
    expect([await at(NOW), await at(NOW + 1_000), await at(NOW + 2_000)]).toEqual([200, 500, 200]);
  });
  it('path and region', async () => {
    await service.login('pro');
    service.reference.setFaults([{ fault: '500', path: '/v3/signal-index', region: 'PSCO' }]);
    expect((await service.get(INDEX)).status).toBe(500);
    expect((await service.get(INDEX.replace('PSCO', 'AECI'))).status).toBe(200);
    expect((await service.get(FORECAST)).status).toBe(200);
  });

  //  script                                                   mistake
  it.each([
    ['{', /not JSON/],
    ['{}', /not a list/],
    ['[5]', /\[0\] is not an object/],
    ['[{}]', /\[0\]\.fault is missing/],
    ['[{"fault":"rain"}]', /\[0\]\.fault "rain" is not one of/],
    ['[{"fault":"500","times":0}]', /times is not a whole number of at least 1/],
    ['[{"fault":"500","from":"noon"}]', /from is not a time/],
    ['[{"fault":"plan-change","value":"gold"}]', /value is not one of free, basic, analyst, pro/],
    ['[{"fault":"500","colour":"red"}]', /colour is not known/],
    ['[{"fault":"500","value":3}]', /value is not expected: this fault takes none/],
    ['[{"fault":"slow-body","value":0}]', /value is not a number of milliseconds of at least 1/],
    ['[{"fault":"gzip-bomb","value":1e9}]', /value is not a whole number of megabytes within 1 to 1024/],
    ['[{"fault":"clock-skew","value":"late"}]', /value is not a number of seconds/],
    ['[{"fault":"map-rename","value":"PSCO"}]', /value is not OLD:NEW, two names of regions/],
    ['[{"fault":"429","value":true}]', /value is not a number of seconds of at least 0, or a text/],
    ['[{"fault":"500","from":"2026-06-10T01:00Z","until":"2026-06-10T00:00Z"}]', /until is not after from/],
  ])('a script of %s is refused', (text, mistake) => {
    const read = parseFaultScript(text);
    expect('mistakes' in read ? read.mistakes.join('\n') : '').toMatch(mistake);
  });
  it('a script is read with its times', () => {
    expect(parseFaultScript('[{"fault":"429","path":"/v3/","from":"2026-06-10T00:00Z","skip":1}]')).toEqual([
      { fault: '429', path: '/v3/', from: Date.parse('2026-06-10T00:00Z'), skip: 1 },
    ]);
  });
});
