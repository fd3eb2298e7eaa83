/** Sections 2.9, 4.5 and 7, asked by the client: the earlier interface with its token, pages and visitors. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hours, type Instant } from '../../src/domain/units.ts';
import type { Outcome } from '../../src/service/failure.ts';
import {
  buildPlace,
  type ClientAndReference,
  expectAnswer,
  expectFailure,
  NOW,
  PASSWORD,
  startClientAndReference,
} from './client-and-reference.ts';

let pair: ClientAndReference;
beforeAll(async () => {
  pair = await startClientAndReference();
});
afterAll(() => pair.close());

const TWO_HOURS = { startAt: (NOW - hours(2)) as Instant, endAt: NOW, market: 'RT5M' };

async function read<Page>(pages: AsyncIterable<Outcome<Page>>): Promise<Page[]> {
  const all: Page[] = [];
  for await (const page of pages) all.push(expectAnswer(page));
  return all;
}

const abbrevAt = async (latitude: number, longitude: number) =>
  expectAnswer(await pair.client().v1.authorities({ place: buildPlace(latitude, longitude) })).map(
    ({ abbrev }) => abbrev,
  );

describe('4.5 obtain-token', () => {
  it("gives the account's 40 hexadecimal characters, the same each time", async () => {
    const first = expectAnswer(await pair.client().v1.token()).token;
    expect(first).toMatch(/^[0-9a-f]{40}$/);
    expect(expectAnswer(await pair.client().v1.token()).token).toBe(first);
  });

  //  7: what is sent        username   password   the words
  const rows: readonly (readonly [string, string, string, RegExp])[] = [
    ['neither', '', '', /username: .*password: /],
    ['no password', 'pro', '', /^password: /],
    ['no username', '', PASSWORD, /^username: /],
    ['wrong ones', 'pro', 'wrong-1x', /log ?in/i],
  ];
  it.each(rows)('7: %s', async (_, username, password, words) => {
    const service = pair.client('pro', { credentials: async () => ({ username, password }) });
    const why = expectFailure(await service.v1.token());
    expect(why).toMatchObject({ kind: 'rejected', status: 400 });
    expect(why.kind === 'rejected' && why.message).toMatch(words);
  });

  it('without credentials there is none to ask for', async () => {
    const service = pair.client('pro', { credentials: async () => undefined });
    expect(expectFailure(await service.v1.token()).kind).toBe('no-credentials');
    expect(service.counts().requests).toBe(0);
  });
});

describe('4.5 balancing authorities', () => {
  it('of a point, longitude first on the wire', async () => {
    expect(await abbrevAt(38.5, -122)).toContain('CAISO');
    expect(await abbrevAt(0, 0)).toEqual([]);
  });
  it('loc may be given as it is, GeoJSON or WKT', async () => {
    const { v1 } = pair.client();
    const geo = expectAnswer(await v1.authorities({ loc: '{"type":"Point","coordinates":[-122,38.5]}' }));
    const wkt = expectAnswer(await v1.authorities({ loc: 'POINT (-122 38.5)' }));
    expect(geo).toEqual(wkt);
    expect(geo[0]?.abbrev).toBe('CAISO');
  });
});

describe('4.5 data points and marginal', () => {
  it('pages to the end are all points, from future to past, none twice', async () => {
    const { v1 } = pair.client();
    const pages = await read(v1.datapointPages({ ba: 'CAISO', ...TWO_HOURS, pageSize: 5 }));
    const times = pages.flatMap(({ results }) => results.map(({ at }) => at));
    expect(times.length).toBe(pages[0]?.count);
    expect(times.length).toBeGreaterThan(10);
    expect(times).toEqual([...times].sort((a, b) => b - a));
    expect(new Set(times).size).toBe(times.length);
    expect(pages.at(-1)?.isLast).toBe(true);
    const whole = expectAnswer(await v1.datapoints({ ba: 'CAISO', ...TWO_HOURS, pageSize: 1_000 }));
    expect(whole.results.map(({ at }) => at)).toEqual(times);
  });

  it('12 points a page unless asked otherwise', async () => {
    expect(expectAnswer(await pair.client().v1.datapoints({ ba: 'CAISO', ...TWO_HOURS })).results).toHaveLength(12);
  });

  it('a page beyond the end is refused', async () => {
    const asked = { ba: 'CAISO', ...TWO_HOURS, page: 1_000 };
    expect(expectFailure(await pair.client().v1.datapoints(asked))).toMatchObject({ kind: 'rejected', status: 404 });
  });

  it('a data point has its fuels and its carbon', async () => {
    const [first] = expectAnswer(await pair.client().v1.datapoints({ ba: 'CAISO', ...TWO_HOURS })).results;
    expect(first).toMatchObject({ authority: 'CAISO', market: 'RT5M', frequency: '5m' });
    expect(first?.generation?.every(({ megawatts }) => Number.isFinite(megawatts))).toBe(true);
    expect(first?.carbon).toBeGreaterThan(0);
  });

  it('DAHR reaches into the future by the hour', async () => {
    const { results } = expectAnswer(await pair.client().v1.datapoints({ ba: 'CAISO', market: 'DAHR' }));
    expect(results[0]?.at).toBeGreaterThan(NOW);
    expect(results.every(({ at, market }) => at % 3_600_000 === 0 && market === 'DAHR')).toBe(true);
  });

  it('marginal is for pro, with its unit; for others a gate without a login', async () => {
    const { results } = expectAnswer(await pair.client().v1.marginal({ ba: 'CAISO', ...TWO_HOURS }));
    expect(results.find(({ marginalCarbon }) => marginalCarbon !== undefined)?.marginalCarbon?.units).toBe('lb/MW');
    const analyst = pair.client('analyst');
    expect(expectFailure(await analyst.v1.marginal({ ba: 'CAISO' }))).toMatchObject({
      kind: 'not-entitled',
      path: '/api/v1/marginal/',
    });
    expect(analyst.counts().logins).toBe(1);
  });
});

describe('7 visitors', () => {
  it('25 requests an hour, then the wait the service names, and v3 is not held back by it', async () => {
    const own = await startClientAndReference();
    try {
      let known = false;
      const service = own.client('pro', {
        credentials: async () => (known ? { username: 'pro', password: PASSWORD } : undefined),
      });
      for (let i = 0; i < 25; i++) expectAnswer(await service.v1.datapoints({ ba: 'CAISO', pageSize: 1 }));
      const why = expectFailure(await service.v1.datapoints({ ba: 'CAISO', pageSize: 1 }));
      expect(why.kind === 'throttled' && why.retryAfter).toBeGreaterThan(3_000_000);
      known = true;
      expect(expectAnswer(await service.signalIndex({ region: 'PSCO', signalType: 'co2_moer' })).units).toBe(
        'percentile',
      );
      await own.pass(hours(1));
      expect(expectAnswer(await service.v1.datapoints({ ba: 'CAISO', pageSize: 1 })).results).toHaveLength(1);
    } finally {
      await own.close();
    }
  });
});
