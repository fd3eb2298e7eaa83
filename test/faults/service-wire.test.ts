/** Rows 29 to 35 of the fault table: names, certificates and links that fail, answers of another shape, and a fleet that boots at once. */

import { afterEach, describe, expect, it } from 'vitest';
import { parseConfig } from '../../src/config/parse-config.ts';
import { hours, type Instant, minutes, seconds } from '../../src/domain/units.ts';
import { createVirtualClock } from '../../src/simulation/virtual-clock.ts';
import { createCertificate } from '../doubles/certificate.ts';
import { scriptedHtml } from '../doubles/scripted-service.ts';
import { startTcpProxy } from '../doubles/tcp-proxy.ts';
import { type AnswerOverride, scriptedJson, startSignalService } from './scripted-signal-service.ts';
import { createTestRandom } from './test-random.ts';
import { createVirtualAgent, START, type VirtualAgent, type VirtualAgentOptions } from './virtual-agent.ts';

const random = createTestRandom('service wire');

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const one of undo.splice(0).reverse()) await one();
});

const MORNING = '2026-03-03T06:00:00Z';
const TANK = `
loads:
  water: {type: tank, powerKw: 3, failSafe: off, initialLevel: off, onStop: hold, output: {kind: relay, pin: 17}}
`;

async function homeAt(url: string, options: Partial<VirtualAgentOptions> = {}): Promise<VirtualAgent> {
  const home = await createVirtualAgent({ seed: 1, start: MORNING, url, loads: TANK, ...options });
  undo.push(() => home.close());
  return home;
}

async function onGrid(bend: AnswerOverride, options: Partial<VirtualAgentOptions> = {}) {
  const clock = createVirtualClock(Date.parse(MORNING) as Instant);
  const grid = await startSignalService(clock, bend);
  undo.push(() => grid.close());
  return { home: await homeAt(grid.url, { clock, ...options }), grid, clock };
}

const wellAfter = async (home: VirtualAgent) => {
  await home.pass(minutes(9));
  expect(home.agent.snapshot().view?.index?.basis).toBe('live-index');
};

describe('29 names that lead nowhere', () => {
  it('29 a name that is not known: said, asked again within bounds, the loads rest', async () => {
    // A name under .invalid never resolves (RFC 2606).
    const home = await homeAt('https://service.gridtide.invalid');
    home.deadlineOverride.ms = 5_000;
    await home.start();
    await home.pass(minutes(30));
    expect(home.warningsAbout('map')[0]).toMatch(/could not be reached/);
    expect(home.requests.length).toBeGreaterThan(3);
    expect(home.requests.length).toBeLessThan(90);
    expect(home.edges.filter(({ high }) => high)).toEqual([]);
  });

  it('29 a provider that answers for every name with a page of its own: no datum, no credential trouble', async () => {
    const { home } = await onGrid(() => scriptedHtml(200));
    await home.start();
    await home.pass(minutes(30));
    expect(home.agent.snapshot().view?.index).toBeUndefined();
    expect(home.warningsAbout('map')[0]).toMatch(/sign in to the network/);
  });

  it('29 a name with an address that is dead and one that lives: the living one is used', async () => {
    const { home, grid } = await onGrid(() => undefined);
    // localhost has ::1 first on most machines, where nothing listens; 127.0.0.1 answers.
    const both = await homeAt(grid.url.replace('127.0.0.1', 'localhost'), { clock: home.clock });
    await both.start();
    await wellAfter(both);
  });
});

describe('30 certificates', () => {
  const GOOD = createCertificate();
  const rows = [
    ['that has run out', createCertificate({ until: '200601000000Z' }), '127.0.0.1', true, /certificate has expired/],
    [
      'for another name',
      createCertificate({ host: 'other.example' }),
      '127.0.0.1',
      true,
      /certificate is for another name/,
    ],
    [
      'that is not valid yet',
      createCertificate({ from: '480101000000Z' }),
      '127.0.0.1',
      true,
      /certificate is not valid yet/,
    ],
    ['of an authority nobody knows', GOOD, '127.0.0.1', false, /certificate/],
  ] as const;
  it.each(rows)('30 one %s: refused, said once, nothing is sent', async (_, certificate, host, isKnown, words) => {
    const clock = createVirtualClock(Date.parse(MORNING) as Instant);
    const grid = await startSignalService(clock, () => undefined, certificate);
    undo.push(() => grid.close());
    const home = await homeAt(grid.url.replace('127.0.0.1', host), {
      clock,
      ...(isKnown ? { ca: certificate.cert } : {}),
    });
    await home.start();
    await home.pass(minutes(30));
    expect(grid.requests).toEqual([]);
    expect(home.edges.filter(({ high }) => high)).toEqual([]);
    expect(home.warningsAbout('map').length).toBe(1);
    expect(home.warningsAbout('map')[0]).toMatch(words);
  });

  it('30 one that cannot be judged because the time is not known: that is what is said, and it is tried again', async () => {
    const clock = createVirtualClock(Date.parse('1970-01-01T00:01:00Z') as Instant);
    const early = createCertificate({ until: '200601000000Z' });
    const grid = await startSignalService(clock, () => undefined, early);
    undo.push(() => grid.close());
    const home = await homeAt(grid.url, { clock, ca: early.cert });
    home.device.trusted = false;
    await home.start();
    await home.pass(minutes(30));
    expect(home.warningsAbout('map')[0]).toMatch(/cannot be checked while this machine does not know the time/);
    expect(home.requests.length).toBeGreaterThan(3);
  });

  it('30 a good one of an own authority: the service answers', async () => {
    const clock = createVirtualClock(Date.parse(MORNING) as Instant);
    const grid = await startSignalService(clock, () => undefined, GOOD);
    undo.push(() => grid.close());
    const home = await homeAt(grid.url, { clock, ca: GOOD.cert });
    await home.start();
    await wellAfter(home);
  });
});

it('31 a link that is half open: the deadline frees it, and the next request takes a new one', async () => {
  const clock = createVirtualClock(Date.parse(MORNING) as Instant);
  const grid = await startSignalService(clock);
  undo.push(() => grid.close());
  const wire = await startTcpProxy(Number(new URL(grid.url).port));
  const home = await homeAt(`http://127.0.0.1:${wire.port}`, { clock });
  undo.push(() => wire.stop());
  await home.start();
  await wellAfter(home);
  wire.freeze();
  home.deadlineOverride.ms = 100;
  await home.pass(minutes(16));
  expect(home.warningsAbout('service:live-index')[0]).toMatch(/no whole answer within/);
  expect(home.agent.snapshot().view?.index?.basis).toBe('ageing-forecast');
  expect(
    Math.max(...home.requests.filter(({ path }) => path !== '/v3/maps').map(({ deadline }) => deadline)),
  ).toBeLessThanOrEqual(seconds(30));
});

describe('32 addresses without encryption', () => {
  const configured = (url: string) =>
    parseConfig(`
device: house
place: {latitude: 38.5, longitude: -122.0, timezone: America/Los_Angeles}
service: {url: "${url}", usernameFile: u, passwordFile: p}
${TANK}`);
  it.each(['http://service.example', 'http://192.168.1.4:8080', 'ftp://127.0.0.1', 'http://127.0.0.1.example'])(
    '32 %s: refused before anything is started',
    (url) => {
      const read = configured(url);
      expect(read.ok).toBe(false);
      expect(read.ok ? [] : read.mistakes.join('\n')).toMatch(/service\.url/);
    },
  );
  it.each(['http://127.0.0.1:8080', 'http://localhost', 'https://service.example'])('32 %s: taken', (url) => {
    expect(configured(url).ok).toBe(true);
  });
});

it('33 more than is documented in every answer: as if it were not there', async () => {
  const more = { extra: { deep: [1, { more: null }] }, __proto__: { polluted: true }, constructor: 'x' };
  const { home } = await onGrid(({ path }, _, usual) => {
    if (path === '/v3/maps') return undefined;
    const { data, meta, ...rest } = usual();
    const points = data.map((point: object) => ({ ...point, ...more, confidence: 0.5 }));
    return scriptedJson({ ...rest, ...more, data: points, meta: { ...meta, ...more } });
  });
  await home.start();
  await wellAfter(home);
  expect(home.agent.snapshot().view?.horizon?.basis).toBe('fresh-forecast');
  expect('polluted' in {}).toBe(false);
});

describe('34 a service whose answers have another shape', () => {
  //  where                       what goes on
  const rows = [
    ['/v3/forecast', (home: VirtualAgent) => expect(home.agent.snapshot().view?.index?.basis).toBe('live-index')],
    [
      '/v3/signal-index',
      (home: VirtualAgent) => expect(home.agent.snapshot().view?.index?.basis).toBe('fresh-forecast'),
    ],
    ['/v3/my-access', (home: VirtualAgent) => expect(home.agent.snapshot().view?.index?.basis).toBe('live-index')],
    ['/v3/region-from-loc', (home: VirtualAgent) => expect(home.agent.snapshot().view?.index).toBeUndefined()],
  ] as const;
  it.each(rows)('34 at %s: that one is refused whole, the others go on', async (where, goesOn) => {
    const { home } = await onGrid(({ path }, _, usual) =>
      path === where ? scriptedJson({ version: 4, items: usual() }) : undefined,
    );
    await home.start();
    await home.pass(minutes(9));
    goesOn(home);
    expect(home.edges.length).toBeGreaterThan(0);
  });
});

it('35 forty devices boot together after a blackout: their first logins spread, and what the disk holds carries them', async () => {
  const DEVICES = 40;
  const clock = createVirtualClock(START);
  const grid = await startSignalService(clock);
  undo.push(() => grid.close());
  const homes: VirtualAgent[] = [];
  for (let n = 0; n < DEVICES; n++) {
    const options = {
      seed: Math.floor(random.fraction() * 1e9),
      clock,
      loads: TANK,
      device: `house-${n}`,
      service: `, fleet: ${DEVICES}`,
    };
    const home = await homeAt(grid.url, options);
    homes.push(home);
    await home.start();
  }
  await clock.runUntil((START + minutes(6)) as Instant);
  for (const home of homes) await clock.runUntilDone(home.agent.stop());
  await clock.runUntil((START + hours(1)) as Instant);
  const boot = clock.now().wall;
  const logins = () =>
    homes.flatMap(({ requests: asked }) =>
      asked.filter(({ path, at }) => path === '/login' && at >= boot).map(({ at }) => at - boot),
    );
  for (const home of homes) {
    await home.restart();
    expect(home.agent.snapshot().view?.horizon).toMatchObject({ basis: 'ageing-forecast' });
  }
  const SPAN = Math.max(seconds(60), seconds(6) * DEVICES);
  await clock.runUntil((boot + SPAN + minutes(1)) as Instant);
  const came = logins();
  expect(came.length).toBe(DEVICES);
  expect(Math.max(...came)).toBeLessThanOrEqual(SPAN + 1);
  const tenths = Array.from(
    { length: 10 },
    (_, i) => came.filter((at) => Math.min(9, Math.floor((10 * at) / SPAN)) === i).length,
  );
  expect(Math.max(...tenths)).toBeLessThanOrEqual((3 * DEVICES) / 10);
});
