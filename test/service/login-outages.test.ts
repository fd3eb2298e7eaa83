/** A virtual day of each kind of outage: how often the account logs in while the agent's loops go on asking, and how soon it is back. */

import { expect, it } from 'vitest';
import { addDuration, type Duration, days, hours, type Instant, minutes, seconds } from '../../src/domain/units.ts';
import { createServiceClient } from '../../src/service/client.ts';
import type { Outcome } from '../../src/service/failure.ts';
import { computeRetryDelay } from '../../src/service/limits/retry-delay.ts';
import { createVirtualClock } from '../../src/simulation/virtual-clock.ts';
import { forecastBody, indexBody } from './client-fixture.ts';
import { createVirtualNetwork, type NetworkAnswer } from './virtual-network.ts';

const PSCO = { region: 'PSCO', signalType: 'co2_moer' };
const PAGE = '<html><body>Sign in</body></html>';
const HTML = { 'content-type': 'text/html' };
const OUTAGE_BEGINS = minutes(10);
const OUTAGE_ENDS = addDuration(OUTAGE_BEGINS as unknown as Instant, days(1)) as unknown as Duration;

type Outage = (path: string) => NetworkAnswer;
const throttled =
  (headers: Readonly<Record<string, string>>): Outage =>
  () => ({ status: 429, json: {}, headers });
const atLoginOnly =
  (outage: Outage): Outage =>
  (path) =>
    path === '/login' ? outage(path) : { status: 401, json: {} };

function answerWell(path: string): NetworkAnswer {
  if (path === '/login') return { json: { token: 'good' } };
  if (path === '/v3/signal-index') return { json: indexBody() };
  return path === '/v3/forecast' ? { json: forecastBody() } : { json: { signal_types: [] } };
}
/** Some paths refuse every token, while the others go on. */
const aloneAt =
  (...paths: readonly string[]): Outage =>
  (path) =>
    paths.includes(path) ? { status: 401, json: { error: 'no' } } : answerWell(path);

/** An invalid answer is a defect of the service: its data are asked for again within the hour. */
const LONG = hours(1);
//  what the service does                       answers          data again within
const outages: [name: string, outage: Outage, within?: Duration][] = [
  ['429 with Retry-After: -1', throttled({ 'retry-after': '-1' })],
  ['429 with Retry-After: 1', throttled({ 'retry-after': '1' })],
  ['429 that names no wait', throttled({})],
  ['a captive portal', () => ({ text: PAGE, headers: HTML })],
  ['500', () => ({ status: 500, json: {} })],
  ['503 with Retry-After: 1', () => ({ status: 503, text: PAGE, headers: { ...HTML, 'retry-after': '1' } })],
  ['connections that are reset', () => ({ kind: 'unreachable', cause: 'read ECONNRESET (ECONNRESET)' })],
  ['a name that is not known', () => ({ kind: 'unreachable', cause: 'getaddrinfo ENOTFOUND (ENOTFOUND)' })],
  ['answers that never end', () => ({ kind: 'deadline', cause: 'no whole answer within 30 s' })],
  ['bodies that are cut', () => ({ kind: 'cut-short', cause: 'the body ends too early' })],
  ['an untrusted certificate', () => ({ kind: 'tls', cause: 'self-signed certificate (DEPTH_ZERO_SELF_SIGNED_CERT)' })],
  ['half of a JSON document', () => ({ text: '{"data":[' }), LONG],
  ['a redirect', () => ({ status: 302, text: '', headers: { location: 'https://example.invalid/' } })],
  ['401 to every login', () => ({ status: 401, json: { error: 'no' } })],
  ['403 as a page to every login', () => ({ status: 403, text: PAGE, headers: HTML })],
  ['429 with Retry-After: -1 at the login alone', atLoginOnly(throttled({ 'retry-after': '-1' }))],
  ['500 at the login alone', atLoginOnly(() => ({ status: 500, json: {} }))],
  ['tokens that open nothing', (path) => (path === '/login' ? { json: { token: 'dead' } } : { status: 401, json: {} })],
  ['401 to every token at the forecast alone', aloneAt('/v3/forecast')],
  ['401 to every token at the forecast and my-access', aloneAt('/v3/forecast', '/v3/my-access')],
];

/** The loops of an agent: each asks on its own, and after a failure when the failure says. */
async function startHome(outage: Outage) {
  const clock = createVirtualClock(Date.UTC(2026, 2, 1, 12) as Instant);
  const begun = clock.now().uptime;
  const isOut = () => {
    const { uptime } = clock.now();
    return uptime >= addDuration(begun, OUTAGE_BEGINS) && uptime < addDuration(begun, OUTAGE_ENDS);
  };
  let chance = 0;
  const random = { fraction: () => (chance = (chance + 0.37) % 1) };
  const network = createVirtualNetwork(
    clock,
    () => ({ lasts: seconds(1), arrives: 0.5 }),
    (path) => (isOut() ? outage(path) : answerWell(path)),
  );
  const service = createServiceClient({
    url: 'https://service.example',
    http: network.http,
    clock,
    random,
    credentials: async () => ({ username: 'cellar', password: 'secret-1' }),
    log: () => {},
  });
  const answeredAt: number[] = [];
  const loop = (every: Duration, ask: () => Promise<Outcome<unknown>>) => {
    let failures = 0;
    const run = async () => {
      const outcome = await ask();
      failures = outcome.ok ? 0 : failures + 1;
      if (outcome.ok) answeredAt.push(clock.now().uptime - begun);
      const wait = outcome.ok ? every : computeRetryDelay(outcome.failure, failures, random.fraction());
      clock.wakeAt(addDuration(clock.now().uptime, wait), 'loop', () => void run());
    };
    void run();
  };
  loop(minutes(5), () => service.signalIndex(PSCO));
  loop(minutes(5), () => service.forecast(PSCO));
  loop(minutes(30), () => service.myAccess({ signalType: 'co2_moer' }));
  return { clock, network, answeredAt, pass: (time: Duration) => clock.runUntil(addDuration(clock.now().wall, time)) };
}

it.each(outages)(
  '%s: at most 120 logins in its day, and data again soon after it',
  async (_, outage, within = minutes(20)) => {
    const { network, answeredAt, pass } = await startHome(outage);
    await pass(OUTAGE_ENDS);
    const logins = network.arrivals.filter(({ path }) => path === '/login').length;
    expect(logins).toBeLessThanOrEqual(120);
    expect(logins).toBeGreaterThan(20);
    await pass(hours(2));
    expect(Math.min(...answeredAt.filter((at) => at >= OUTAGE_ENDS)) - OUTAGE_ENDS).toBeLessThanOrEqual(within);
  },
);
