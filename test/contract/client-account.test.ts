/** Sections 2.1 to 2.4, 2.7, 2.8, 4.1, 4.2, 5 and 7, asked by the client: accounts, tokens, access, regions, maps. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toCommandError } from '../../src/cli/shared/service-access.ts';
import { minutes, seconds } from '../../src/domain/units.ts';
import { deriveEntitlements } from '../../src/service/entitlements/entitlements.ts';
import {
  buildPlace,
  CAISO_NORTH,
  type ClientAndReference,
  expectAnswer,
  expectFailure,
  expectMap,
  PASSWORD,
  PSCO,
  startClientAndReference,
} from './client-and-reference.ts';
import { isPublished } from './profile-under-test.ts';

let pair: ClientAndReference;
beforeAll(async () => {
  pair = await startClientAndReference();
});
afterAll(() => pair.close());

describe('4.1 register', () => {
  const account = { username: 'cellar', password: PASSWORD, email: 'cellar@example.org' };

  //  what is wrong                 change                                    names
  const rows: readonly (readonly [string, Partial<typeof account>, RegExp])[] = [
    ['7 characters', { password: 'pass-w1' }, /^needs at least 8 characters$/],
    ['no letter', { password: '12345678-' }, /^needs at least one letter$/],
    ['no digit', { password: 'pass-word' }, /^needs at least one digit$/],
    ['no special character', { password: 'password1' }, /^needs at least one special character$/],
    ['no e-mail address', { email: 'cellar' }, /not an e-mail address/],
    ['no name', { username: ' ' }, /empty/],
    ['a colon in the name', { username: 'a:b' }, /colon/],
  ];
  it.each(rows)('2.1: %s is not sent, and the rule is named', async (_, change, words) => {
    const service = pair.client();
    const why = expectFailure(await service.register({ ...account, ...change }));
    expect(why.kind === 'invalid' && why.message).toMatch(words);
    expect(service.counts().requests).toBe(0);
  });

  it('2.2: an account is made once; the name is then taken', async () => {
    const service = pair.client();
    expect(expectAnswer(await service.register({ ...account, org: 'Home' }))).toEqual({
      ok: 'User created',
      user: 'cellar',
    });
    expect(expectFailure(await service.register(account))).toMatchObject({ kind: 'rejected', status: 400 });
    const own = pair.client('free', { credentials: async () => account });
    expect(expectAnswer(await own.signalIndex(PSCO)).units).toBe('percentile');
  });

  it('a letter beyond ASCII is a special character', async () => {
    const odd = { username: 'odd', password: 'passwörd1', email: 'odd@example.org' };
    expect(expectAnswer(await pair.client().register(odd)).user).toBe('odd');
    const own = pair.client('free', { credentials: async () => odd });
    expect(expectAnswer(await own.login()).expiresIn).toBe(1_800_000);
  });
});

describe('2.3 login and password', () => {
  it('a login gives a token of 30 minutes', async () => {
    const { token, expiresIn } = expectAnswer(await pair.client().login());
    expect(token.length).toBeGreaterThan(10);
    expect(expiresIn).toBe(30 * 60_000);
  });

  it('a reset is confirmed, and refused for nobody', async () => {
    expect(typeof expectAnswer(await pair.client().resetPassword({ username: 'free' })).ok).toBe('string');
    expect(expectFailure(await pair.client().resetPassword({ username: 'nobody' }))).toMatchObject({
      kind: 'rejected',
    });
  });

  it('7: wrong credentials are unauthorised', async () => {
    const service = pair.client('pro', { credentials: async () => ({ username: 'pro', password: 'wrong-1x' }) });
    expect(expectFailure(await service.login()).kind).toBe('unauthorised');
  });

  it('3: the service honours a token for its 30 minutes, and the client renews it inside them', async () => {
    const service = pair.client();
    await service.signalIndex(PSCO);
    for (let minute = 0; minute < 60; minute += 5) {
      await pair.pass(minutes(5));
      expect(expectAnswer(await service.signalIndex(PSCO)).units).toBe('percentile');
    }
    expect(service.counts().logins).toBeLessThanOrEqual(3);
    expect(pair.reference.counts().statuses['401'] ?? 0).toBeLessThanOrEqual(1);
  });
});

describe('2.7 access', () => {
  it('tells what each plan opens', async () => {
    const plan = async (name: 'free' | 'basic' | 'analyst') =>
      deriveEntitlements(expectAnswer(await pair.client(name).myAccess({})), PSCO);
    // What a description does not list is unknown: some list the forecast and the history alone.
    const listed = isPublished ? 'unknown' : 'open';
    expect(await plan('free')).toMatchObject({ forecast: 'unknown', history: 'unknown', index: 'open' });
    expect(await plan('basic')).toMatchObject({ forecast: 'open', history: 'open', pastForecasts: listed });
    expect(await plan('analyst')).toMatchObject({ forecast: 'open', map: listed });
    expect((await plan('analyst')).models.map(({ model }) => model)).toContain('2026-03-01');
    const preview = expectAnswer(await pair.client('free').myAccess({}));
    expect(deriveEntitlements(preview, CAISO_NORTH)).toMatchObject({ forecast: 'open', history: 'open' });
  });

  it('both filters narrow it', async () => {
    const { signalTypes } = expectAnswer(await pair.client().myAccess({ region: 'PSCO', signalType: 'co2_moer' }));
    expect(signalTypes.map(({ signalType, regions }) => [signalType, regions.map(({ region }) => region)])).toEqual([
      ['co2_moer', ['PSCO']],
    ]);
  });

  it('a full description has more than 100 regions, hourly ones among them', async () => {
    const { signalTypes } = expectAnswer(await pair.client().myAccess({}));
    const moer = signalTypes.find(({ signalType }) => signalType === 'co2_moer');
    expect(moer?.regions.length).toBeGreaterThan(100);
    const periods = new Set(signalTypes.flatMap(({ regions }) => regions.map(({ period }) => period)));
    expect([...periods].sort()).toEqual([300_000, 3_600_000]);
  });
});

describe('4.2 regions and maps', () => {
  //  latitude  longitude  region
  const rows: readonly (readonly [number, number, string])[] = [
    [39.7522, -105.0, 'PSCO'],
    [42.372, -72.519, 'ISONE_WCMA'],
    [38.5, -122.0, 'CAISO_NORTH'],
  ];
  it.each(rows)('%d, %d is %s', async (latitude, longitude, region) => {
    const found = expectAnswer(
      await pair.client('free').regionFromLoc({ place: buildPlace(latitude, longitude), signalType: 'co2_moer' }),
    );
    expect(found).toMatchObject({ region, signalType: 'co2_moer' });
    expect(found.regionFullName.length).toBeGreaterThan(0);
  });

  it.skipIf(isPublished)('a failure carries the name that the service gave to the request', async () => {
    const why = expectFailure(await pair.client('free').forecast(PSCO));
    expect(why).toMatchObject({ kind: 'not-entitled', requestId: expect.stringMatching(/^7-\d+$/) });
    expect(toCommandError(why)).toMatchObject({ details: { kind: 'not-entitled', requestId: why.requestId } });
  });

  it('7: Coordinates not found', async () => {
    const outside = { place: buildPlace(0, 0), signalType: 'co2_moer' };
    expect(expectFailure(await pair.client().regionFromLoc(outside))).toMatchObject({ kind: 'outside-coverage' });
  });

  it('2.8: the map comes as a stream, for analyst and pro alone', async () => {
    const { chunks } = expectMap(await pair.client('analyst').map({ signalType: 'co2_moer' }));
    let text = '';
    const decoder = new TextDecoder();
    for await (const chunk of chunks) text += decoder.decode(chunk, { stream: true });
    const map = JSON.parse(text);
    expect([map.type, map.meta.signal_type]).toEqual(['FeatureCollection', 'co2_moer']);
    const basic = pair.client('basic');
    expect(expectFailure(await basic.map({ signalType: 'co2_moer' }))).toMatchObject({
      kind: 'not-entitled',
      path: '/v3/maps',
    });
    // A page with 403 may be the end of a token: one login more tells.
    expect(basic.counts().logins).toBe(isPublished ? 2 : 1);
  });

  it('a map that is still the newest is not sent again', async () => {
    const service = pair.client();
    const { chunks, version } = expectMap(await service.map({ signalType: 'co2_moer' }));
    for await (const chunk of chunks) expect(chunk.length).toBeGreaterThan(0);
    const { bytesIn } = service.counts();
    const ask = (signalType: string, knownVersion = version) => service.map({ signalType, knownVersion });
    expect(expectAnswer(await ask('co2_moer'))).toEqual({ unchanged: true });
    expect(service.counts().bytesIn).toBe(bytesIn);
    // The map of another signal, and what another service calls the same.
    expect(expectMap(await ask('co2_aoer')).version).not.toBe(version);
    expect(expectMap(await ask('co2_moer', version?.replace(pair.url, 'https://example.org'))).version).toBe(version);
  });

  it('a map that is left alone after its head harms nothing', async () => {
    const service = pair.client();
    const { chunks } = expectMap(await service.map({ signalType: 'co2_moer' }));
    for await (const chunk of chunks) {
      expect(chunk.length).toBeGreaterThan(0);
      break;
    }
    expect(expectAnswer(await service.signalIndex(PSCO)).units).toBe('percentile');
  });
});

describe('8 limits', () => {
  it('3,000 requests in 5 minutes and not one more: the service never says 429', async () => {
    const own = await startClientAndReference();
    try {
      const service = own.client();
      let sent = 0;
      for (let burst = 0; burst < 31; burst++) {
        const answers = await Promise.all(Array.from({ length: 100 }, () => service.signalIndex(PSCO)));
        sent += answers.filter(({ ok }) => ok).length;
        await own.pass(seconds(1));
      }
      expect(sent).toBe(2_999);
      expect(service.counts()).toMatchObject({ requests: 3_000, logins: 1 });
      expect(own.reference.counts().statuses['429']).toBe(undefined);
      await own.pass(minutes(5));
      expect(expectAnswer(await service.signalIndex(PSCO)).units).toBe('percentile');
    } finally {
      await own.close();
    }
  });

  it('100 logins in 5 minutes and not one more', async () => {
    const own = await startClientAndReference();
    try {
      const service = own.client();
      for (let i = 0; i < 102; i++) await service.login();
      expect(service.counts().logins).toBe(100);
      expect(expectFailure(await service.login()).kind).toBe('throttled');
      expect(own.reference.counts().statuses['429']).toBe(undefined);
    } finally {
      await own.close();
    }
  });

  it('a fleet of 1,000 shares them: 3 requests for each device', async () => {
    const service = pair.client('pro', { fleet: 1_000 });
    for (let i = 0; i < 5; i++) await service.signalIndex(PSCO);
    expect(service.counts().requests).toBe(3);
  });
});
