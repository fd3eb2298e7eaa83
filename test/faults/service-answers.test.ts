/** Rows 15 to 25 of the fault table: refusals, limits, gates and bad answers of the service, seen on the whole agent. */

import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { hours, type Instant, minutes, seconds } from '../../src/domain/units.ts';
import { createVirtualClock, type VirtualClock } from '../../src/simulation/virtual-clock.ts';
import { type ScriptedResponse, scriptedHtml, startScriptedService } from '../doubles/scripted-service.ts';
import {
  type AnswerOverride,
  rateAt,
  scriptedJson,
  startOfSlot,
  startSignalService,
} from './scripted-signal-service.ts';
import { createTestRandom } from './test-random.ts';
import {
  createVirtualAgent,
  findShortCycles,
  START,
  type VirtualAgent,
  type VirtualAgentOptions,
  WATER_LINE,
} from './virtual-agent.ts';

const random = createTestRandom('service answers');

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const one of undo.splice(0).reverse()) await one();
});

const MORNING = '2026-03-03T06:00:00Z';
const TANK = `
loads:
  water: {type: tank, powerKw: 3, onBelow: 45, offAbove: 55, minOn: 20m, minOff: 15m, failSafe: off, initialLevel: off, onStop: hold, output: {kind: relay, pin: 17}}
`;

async function onGrid(bend: AnswerOverride, options: Partial<VirtualAgentOptions> = {}) {
  const clock = createVirtualClock(Date.parse(options.start ?? MORNING) as Instant);
  const grid = await startSignalService(clock, bend);
  undo.push(() => grid.close());
  const home = await createVirtualAgent({ seed: 1, clock, url: grid.url, loads: TANK, ...options });
  undo.push(() => home.close());
  return { home, grid };
}

async function onReference(
  options: Partial<VirtualAgentOptions> = {},
): Promise<VirtualAgent & { readonly clock: VirtualClock }> {
  const home = await createVirtualAgent({ seed: Math.floor(random.fraction() * 1e6), loads: TANK, ...options });
  undo.push(() => home.close());
  return home;
}

const isForecast = (path: string) => path === '/v3/forecast';
const isData = (path: string) => path.startsWith('/v3/');
const unauthorised = scriptedJson({ error: 'Unauthorized' }, 401);

it('15 a token that dies in the middle of its life: one login and one retry each time, no answer missed', async () => {
  const home = await onReference();
  await home.start();
  await home.pass(minutes(7));
  home.setFaults({ fault: '401-mid-life', value: 12 });
  const logins = home.agent.snapshot().logins;
  await home.pass(hours(2));
  expect(home.warningsAbout('service:forecast')).toEqual([]);
  expect(home.warningsAbout('service:live-index')).toEqual([]);
  const more = home.agent.snapshot().logins - logins;
  expect(more).toBeGreaterThanOrEqual(7);
  expect(more).toBeLessThanOrEqual(11);
});

describe('16 refused credentials', () => {
  const logins = ({ requests: asked }: VirtualAgent) => asked.filter(({ path }) => path === '/login');
  const mostInAnHour = (home: VirtualAgent) =>
    Math.max(
      ...logins(home).map(({ at }) => logins(home).filter((one) => one.at >= at && one.at < at + hours(1)).length),
    );

  it('16 a wrong password: at most five logins an hour, said once, and a corrected file is enough', async () => {
    const home = await onReference();
    home.credentials.password = 'not-this-one-1';
    await home.start();
    await home.pass(hours(6));
    expect(mostInAnHour(home)).toBeLessThanOrEqual(6);
    expect(logins(home).filter(({ at }) => at > START + hours(1)).length).toBeLessThanOrEqual(25);
    expect(home.warningsAbout('map').length).toBe(1);
    expect(home.warningsAbout('map')[0]).toMatch(/rejected the credentials/);
    expect(home.edges.filter(({ high }) => high)).toEqual([]);
    home.credentials.password = 'clean-grid-1';
    await home.pass(minutes(6));
    expect(home.agent.snapshot().view?.index?.basis).toBe('live-index');
  });

  it('16 every token refused although the login is taken: at most five logins an hour, and it recovers by itself', async () => {
    let isStorm = false;
    const { home } = await onGrid(({ path }) => (isStorm && isData(path) ? unauthorised : undefined));
    await home.start();
    await home.pass(minutes(20));
    isStorm = true;
    const from = home.clock.now().wall;
    await home.pass(hours(6));
    const stormed = logins(home).filter(({ at }) => at >= from);
    for (const { at } of stormed.slice(2))
      expect(stormed.filter((one) => one.at >= at && one.at < at + hours(1)).length).toBeLessThanOrEqual(5);
    expect(home.warningsAbout('service:forecast').length).toBe(1);
    isStorm = false;
    await home.pass(minutes(24));
    expect(home.agent.snapshot().view?.index?.basis).toBe('live-index');
  });
});

describe('17 limits without a word on how long', () => {
  it.each(['/login', '/v3/'])(
    '17 a bare 429 at %s: the waits grow to ten minutes, and end when it ends',
    async (where) => {
      let isLimited = true;
      const { home } = await onGrid(({ path }) =>
        isLimited && path.startsWith(where) ? scriptedJson({}, 429) : undefined,
      );
      await home.start();
      await home.pass(hours(3));
      const tries = home.requests.filter(({ path }) => path.startsWith(where)).map(({ at }) => at);
      const gaps = tries.slice(1).map((at, i) => at - (tries[i] ?? 0));
      expect(Math.max(...gaps)).toBeGreaterThan(minutes(3));
      expect(Math.max(...gaps)).toBeLessThanOrEqual(minutes(16));
      expect(tries.length).toBeLessThan(80);
      isLimited = false;
      await home.pass(minutes(21));
      expect(home.agent.snapshot().view?.index?.basis).toBe('live-index');
    },
  );

  it('17 thirty devices told so at once do not come back at once', async () => {
    const clock = createVirtualClock(START);
    const end = START + minutes(40);
    const grid = await startSignalService(clock, ({ path }, now) =>
      isData(path) && now < end ? scriptedJson({}, 429) : undefined,
    );
    undo.push(() => grid.close());
    const returns: number[] = [];
    for (let n = 0; n < 30; n++) {
      const home = await createVirtualAgent({
        seed: Math.floor(random.fraction() * 1e9),
        clock,
        url: grid.url,
        loads: TANK,
        device: `house-${n}`,
      });
      undo.push(() => home.close());
      await home.start();
      returns.push(n);
      homes.push(home);
    }
    await clock.runUntil((end + minutes(20)) as Instant);
    const first = homes.map(({ requests: asked }) => asked.find(({ path, at }) => isData(path) && at >= end)?.at ?? 0);
    homes.length = 0;
    const perMinute = new Map<number, number>();
    for (const at of first) perMinute.set(slotMinute(at), (perMinute.get(slotMinute(at)) ?? 0) + 1);
    expect(Math.min(...first)).toBeGreaterThanOrEqual(end);
    expect(perMinute.size).toBeGreaterThan(3);
    expect(Math.max(...perMinute.values())).toBeLessThanOrEqual(18);
  });
  const homes: VirtualAgent[] = [];
  const slotMinute = (at: number) => Math.floor(at / minutes(1));
});

describe('18 a 429 that says how long', () => {
  //  header                        shortest wait   longest
  const rows: readonly (readonly [string, number, number])[] = [
    ['30', seconds(30), seconds(34)],
    ['600', minutes(10), minutes(11.1)],
    ['Tue, 03 Mar 2026 06:20:00 GMT', minutes(14), minutes(22)],
    ['-1', seconds(1), seconds(2)],
    ['0', seconds(1), seconds(2)],
    ['1000000000', hours(1), hours(1.02)],
    ['Fri, 31 Dec 9999 23:59:59 GMT', hours(1), hours(1.02)],
  ];
  it.each(rows)('18 Retry-After %s: obeyed within a second and an hour', async (header, shortest, longest) => {
    let limitedAt: number | undefined;
    const { home } = await onGrid(({ path }, now) => {
      if (!isForecast(path) || limitedAt !== undefined) return undefined;
      limitedAt = now;
      return scriptedJson({}, 429, { 'retry-after': header });
    });
    await home.start();
    await home.pass(hours(1.1));
    const at = limitedAt ?? 0;
    const next = home.requests.find((one) => isData(one.path) && one.at > at)?.at ?? Number.POSITIVE_INFINITY;
    expect(next - at).toBeGreaterThanOrEqual(shortest);
    expect(next - at).toBeLessThanOrEqual(longest);
    expect(home.agent.snapshot().view?.horizon?.basis).toMatch(/forecast/);
  });
});

describe('19 a plan without forecast or map', () => {
  it('19 region and live index carry it; the plan is said, asked for once a day, and an upgrade is used within a day', async () => {
    // Denver: a free account has the forecast of one other region alone.
    const home = await onReference({
      plan: 'pro',
      place: '{latitude: 39.7, longitude: -105, timezone: America/Denver}',
    });
    home.setFaults({ fault: 'plan-change', value: 'free' });
    await home.start();
    await home.pass(hours(26));
    expect(home.agent.snapshot().view?.index?.basis).toBe('live-index');
    expect(home.agent.snapshot().region?.source).toBe('service');
    expect(home.countRequests('/v3/forecast')).toBeLessThanOrEqual(3);
    expect(home.countRequests('/v3/my-access')).toBe(2);
    expect(home.countRequests('/v3/maps')).toBe(1);
    expect(home.logEntries.filter(({ message }) => /does not include the forecast/.test(message)).length).toBe(1);
    expect(home.warningsAbout('service:forecast')).toEqual([]);
    home.setFaults();
    await home.pass(hours(25));
    expect(home.logEntries.filter(({ message }) => /the account now includes the forecast/.test(message)).length).toBe(
      1,
    );
    expect(home.agent.snapshot().view?.horizon?.basis).toBe('fresh-forecast');
  });

  it('19 a forecast refused although the plan lists it: one try a day, never a login for it', async () => {
    const { home } = await onGrid(({ path }) =>
      isForecast(path) ? scriptedJson({ error: 'Invalid scope.' }, 403) : undefined,
    );
    await home.start();
    await home.pass(hours(26));
    expect(home.countRequests('/v3/forecast')).toBeLessThanOrEqual(4);
    expect(home.agent.snapshot().logins).toBeLessThanOrEqual(54);
    expect(home.agent.snapshot().view?.index?.basis).toBe('live-index');
  });
});

describe('20 to 25 answers that are none', () => {
  let bomb: Buffer | undefined;
  const body = () => JSON.stringify({ data: [] }).slice(0, -4);
  const drip = (response: Parameters<Extract<ScriptedResponse, (response: never) => void>>[0]) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const one = setInterval(() => response.write(' '), 20);
    response.on('close', () => clearInterval(one));
  };
  const cut: ScriptedResponse = (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '5000' });
    response.write('{"data":[{"point_time":"2026-', () => response.destroy());
  };
  const isJson = { 'content-type': 'application/json' };
  //  fault                                       answer                                                         said
  const rows: readonly (readonly [string, () => ScriptedResponse, RegExp])[] = [
    ['20 status 500', () => scriptedJson({ error: 'Oops' }, 500), /server error \(500/],
    ['20 status 502 with a page', () => scriptedHtml(502), /server error \(502/],
    ['20 status 503', () => scriptedJson({}, 503), /server error \(503/],
    ['21 a captive portal: 200 and a page', () => scriptedHtml(200), /in the service's place/],
    ['21 a portal that lies about its type', () => ({ headers: isJson, body: '<html>Sign in</html>' }), /is a page/],
    ['23 half a document', () => ({ headers: isJson, body: body() }), /whole JSON/],
    ['23 a body that is cut', () => cut, /could not be reached/],
    ['24 one byte at a time', () => drip, /no whole answer within/],
    ['24 nothing at all', () => () => {}, /no whole answer within/],
    [
      '25 a bomb of gzip',
      () => {
        bomb ??= gzipSync(Buffer.alloc(200_000_000, ' '));
        return { headers: { ...isJson, 'content-encoding': 'gzip' }, body: bomb };
      },
      /larger than/,
    ],
    [
      '25 a chain of encodings',
      () => ({ headers: { ...isJson, 'content-encoding': 'gzip, gzip' }, body: gzipSync(gzipSync('{}')) }),
      /not asked for/,
    ],
  ];
  it.each(rows)(
    '%s: said once, data kept, asked again less and less often, well again when it ends',
    async (_, answer, words) => {
      let isBad = false;
      const { home } = await onGrid(({ path }) => (isBad && isData(path) ? answer() : undefined));
      await home.start();
      await home.pass(minutes(7));
      const edges = home.edges.length;
      isBad = true;
      if (/within/.test(words.source)) home.deadlineOverride.ms = 100;
      const from = home.clock.now().wall;
      await home.pass(minutes(28));
      for (const source of ['forecast', 'live-index']) {
        expect(home.warningsAbout(`service:${source}`).length).toBe(1);
        expect(home.warningsAbout(`service:${source}`)[0]).toMatch(words);
      }
      const tries = home.requests.filter(({ path, at }) => isForecast(path) && at >= from);
      expect(tries.length).toBeGreaterThanOrEqual(2);
      expect(tries.length).toBeLessThanOrEqual(40);
      expect(Math.max(...tries.map(({ deadline }) => deadline))).toBeLessThanOrEqual(seconds(30));
      // The answer held before goes on: its rate of this slot, on the next rung.
      const { view } = home.agent.snapshot();
      expect(view?.rate?.value).toBe(rateAt(startOfSlot(home.clock.now().wall)));
      expect(view?.index?.basis).toBe('ageing-forecast');
      isBad = false;
      home.deadlineOverride.ms = undefined;
      await home.pass(minutes(64));
      expect(home.agent.snapshot().view).toMatchObject({
        index: { basis: 'live-index' },
        horizon: { basis: 'fresh-forecast' },
      });
      expect(findShortCycles(home.edges, WATER_LINE, { on: minutes(20), off: minutes(15) })).toEqual([]);
      expect(home.edges.length).toBeGreaterThanOrEqual(edges);
    },
  );

  it('22 a redirect: not followed, and the token is sent to nobody else', async () => {
    const stranger = await startScriptedService(() => scriptedJson({ data: [] }));
    undo.push(() => stranger.close());
    let isMoved = false;
    const { home } = await onGrid(({ path }) =>
      isMoved && path !== '/v3/my-access'
        ? { status: 302, headers: { location: `${stranger.url}${path}` } }
        : undefined,
    );
    await home.start();
    await home.pass(minutes(7));
    isMoved = true;
    await home.pass(hours(1));
    expect(stranger.requests).toEqual([]);
    expect(home.warningsAbout('service:forecast').length).toBe(1);
    expect(home.warningsAbout('service:forecast')[0]).toMatch(/a redirect \(302\)/);
    expect(home.agent.snapshot().view?.index?.basis).toBe('ageing-forecast');
  });
});
