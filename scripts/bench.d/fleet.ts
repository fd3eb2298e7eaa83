/** Many houses behind two relays: requests at the service, how soon all of a NATS cluster have a new forecast, how starts spread, and `gridtide fleet` over all. */

import { type ChildProcess, fork } from 'node:child_process';
import { dirname, join } from 'node:path';
import { connectAsync } from 'mqtt';
import { addDuration, type Instant, milliseconds, minutes, seconds } from '../../src/domain/units.ts';
import { createBrokerFactory } from '../../src/platform/mqtt-broker.ts';
import { createSeededRandom, createSystemRandom } from '../../src/platform/random.ts';
import { createSystemClock } from '../../src/platform/system-clock.ts';
import { createRelayedService, type SignalService } from '../../src/relay/relayed-service.ts';
import { startSignalPublisher } from '../../src/relay/signal-publisher.ts';
import { formatPublicKey } from '../../src/relay/signing-key.ts';
import { buildSite, ControlBench, instantFrom, tankLoad } from '../../test/control/control-setup.ts';
import { type NatsCluster, startNatsCluster } from '../../test/doubles/nats-cluster.ts';
import { buildForecastAt, createRelayWorld, EVENING, QUERY, readSigningKey } from '../../test/relay/relay-fixture.ts';
import type { HousesReport } from './fleet/houses.child.ts';
import {
  type Child,
  gridtide,
  house,
  judge,
  median,
  node,
  readCpu,
  readMemory,
  readUnitFlags,
  sleep,
  start,
  startBroker,
  startService,
} from './idle/house.ts';
import { parseOptions } from './shared/parse-options.ts';

const { values } = parseOptions({
  options: {
    sessions: { type: 'string', default: '10000' },
    devices: { type: 'string', default: '10000' },
    /** Parts, separated by commas: requests, spread, memory, table, light, whole. */
    only: { type: 'string' },
  },
});
const SESSIONS = Number(values.sessions);
const DEVICES = Number(values.devices);
const WHOLE_SESSIONS = Math.min(1_000, SESSIONS);
const WORKERS = 2;
const ROUND = minutes(1);
const bars: (readonly [string, boolean])[] = [];

const COUNTED = minutes(20);
const TICK = seconds(5);
const ASKING = minutes(5) / TICK;

/** Requests of two relays and of so many houses that may ask the same account, from a minute after the relays began on. Each house asks at each news and once a round, as the agent does. */
async function countRequests(houses: number): Promise<number> {
  const { clock, broker, account, signingKey, startRelay, asked } = createRelayWorld();
  const relays = [startRelay(), startRelay()];
  const publicKeys = [formatPublicKey(signingKey)];
  const services = Array.from({ length: houses }, (_, n) => {
    const service: SignalService = createRelayedService({
      ...{ broker: broker.connect(), clock, random: createSeededRandom(n), account, publicKeys, onRefusal() {} },
      onNews: (kind) => void (kind === 'forecast' ? service.forecast(QUERY) : service.signalIndex(QUERY)),
    });
    return service;
  });
  const start = addDuration(EVENING, minutes(1));
  for (let tick = 0; tick * TICK < COUNTED; tick++) {
    await clock.runUntil(addDuration(start, milliseconds(tick * TICK)));
    for (let n = tick % ASKING; n < houses; n += ASKING) {
      void services[n]?.forecast(QUERY);
      void services[n]?.signalIndex(QUERY);
    }
  }
  await clock.runUntil(addDuration(start, COUNTED));
  for (const one of [...relays, ...services]) one.stop();
  return asked.length;
}

/** The most starts of a minute, and their mean over the spread of five minutes. */
function measureStarts(houses: number): { readonly most: number; readonly mean: number } {
  const load = tankLoad({ startSpread: minutes(5), failSafe: 'off' });
  const starts = new Map<number, number>();
  for (let n = 0; n < houses; n++) {
    const bench = new ControlBench({ ...buildSite(load), device: `house-${n}` }, instantFrom('2026-06-04T01:00:00Z'));
    for (const value of [80, 10, 10, 10]) {
      bench.index(value);
      bench.runFor(minutes(5));
    }
    const at = bench.switches.find(({ level }) => level === 'on')?.at ?? 0;
    const minute = Math.floor(at / minutes(1));
    starts.set(minute, (starts.get(minute) ?? 0) + 1);
  }
  return { most: Math.max(...starts.values()), mean: houses / 5 };
}

interface Houses {
  /** How many have a forecast of `since` or later, and how many are online. */
  count(since: number): Record<'online' | 'fresh' | 'older' | 'cpuSeconds', number>;
  stop(): void;
}

function startHouses(cluster: NatsCluster, publicKey: string, count: number, extra: string): Houses {
  const reports = new Map<ChildProcess, HousesReport>();
  const share = Math.ceil(count / WORKERS);
  const children = Array.from({ length: WORKERS }, (_, worker) => {
    const urls = cluster.nodes.map(({ url }) => url).join(',');
    const file = join(process.env.GRIDTIDE_BENCH ?? '', 'fleet', 'houses.child.js');
    const own = Math.min(share, count - worker * share);
    const child = fork(file, [urls, publicKey, String(worker * share), String(own), extra]);
    child.on('message', (report) => reports.set(child, report as HousesReport));
    return child;
  });
  return {
    count(since) {
      let [online, fresh, older, cpuSeconds] = [0, 0, 0, 0];
      for (const report of reports.values()) {
        online += report.online;
        older += report.older;
        cpuSeconds += report.cpuSeconds;
        for (const [at, houses] of Object.entries(report.forecasts)) if (Number(at) >= since) fresh += houses;
      }
      return { online, fresh, older, cpuSeconds };
    },
    stop() {
      for (const child of children) child.kill('SIGKILL');
    },
  };
}

const clock = createSystemClock();
const signingKey = readSigningKey();

interface TimedRelays {
  /** When the newest forecast was asked for, and its `generated_at`. */
  newest: { askedAt: number; generatedAt: number };
  asked: number;
  stopOne(): void;
  stop(): Promise<void>;
}

/** Two relays of a service with a new forecast each minute. */
function startRelays(cluster: NatsCluster): TimedRelays {
  const createBroker = createBrokerFactory({ clock, random: createSystemRandom() });
  const relays: TimedRelays = {
    newest: { askedAt: 0, generatedAt: 0 },
    asked: 0,
    stopOne: () => started[0]?.publisher.stop(),
    async stop() {
      for (const { publisher, link } of started) {
        publisher.stop();
        await link.stop();
      }
    },
  };
  const started = [0, 1].map((n) => {
    const link = createBroker({ url: cluster.nodes[n]?.url ?? '', clientId: `relay-${n}` });
    link.start();
    const publisher = startSignalPublisher({
      ...{ broker: link, clock, random: createSystemRandom(), signingKey, publicKeys: [signingKey], signals: [QUERY] },
      log() {},
      service: {
        async forecast() {
          const now = clock.now().wall;
          const generatedAt = (now - (now % ROUND)) as Instant;
          relays.asked += 1;
          relays.newest = { askedAt: performance.now(), generatedAt };
          return { ok: true, value: { ...buildForecastAt(now, 864), generatedAt, generatedPeriod: ROUND } };
        },
        signalIndex: async () => ({ ok: false, failure: { kind: 'stopped' } }),
        history: async () => ({ ok: false, failure: { kind: 'stopped' } }),
      },
    });
    return { publisher, link };
  });
  return relays;
}

/** Seconds until every house has what `isDone` asks for; undefined after the limit. */
async function measureUntil(isDone: () => boolean, limitSeconds: number): Promise<number | undefined> {
  const begun = performance.now();
  while (!isDone()) {
    if (performance.now() - begun > limitSeconds * 1_000) return undefined;
    await sleep(100);
  }
  return (performance.now() - begun) / 1_000;
}

const formatSeconds = (seconds: number | undefined) => (seconds === undefined ? 'never' : `${seconds.toFixed(1)} s`);
const readNodes = async (cluster: NatsCluster) =>
  (await Promise.all(cluster.nodes.map((one) => one.memory()))).map((memory) => `${memory.toFixed(0)} MiB`).join(', ');

type MeasureCluster = (cluster: NatsCluster, relays: TimedRelays, publicKey: string) => Promise<void>;

/** Three nodes and two relays of their own. */
const onCluster = (measure: MeasureCluster) => async (): Promise<void> => {
  const cluster = await startNatsCluster();
  await cluster.awaitReady();
  const relays = startRelays(cluster);
  await measure(cluster, relays, formatPublicKey(signingKey));
  await relays.stop();
  await cluster.stop();
};

/** Sessions that read the signal alone. */
async function measureLight(cluster: NatsCluster, relays: TimedRelays, publicKey: string): Promise<void> {
  const light = startHouses(cluster, publicKey, SESSIONS, '');
  const first = await measureUntil(() => light.count(1).fresh === SESSIONS, 300);
  const begun = light.count(1);
  console.log(
    `${SESSIONS} light sessions: all have a forecast ${formatSeconds(first)} after the first began; ${begun.online} online, ${begun.fresh} with a forecast, ${begun.cpuSeconds.toFixed(0)} s of processor time`,
  );
  const { generatedAt: before } = relays.newest;
  await measureUntil(() => relays.newest.generatedAt > before, 120);
  const { generatedAt } = relays.newest;
  const { cpuSeconds: cpuBefore } = light.count(0);
  const next = await measureUntil(() => light.count(generatedAt).fresh === SESSIONS, 120);
  const { fresh, cpuSeconds } = light.count(generatedAt);
  console.log(
    `a new forecast: ${fresh} of ${SESSIONS} have it after ${formatSeconds(next)} (${(cpuSeconds - cpuBefore).toFixed(0)} s of processor time of the houses); nodes ${await readNodes(cluster)}`,
  );
  bars.push([
    `all of ${SESSIONS} light sessions have a new forecast within 60 s, none missing`,
    next !== undefined && next <= 60,
  ]);
  light.stop();
}

/** Sessions as of whole agents, while a node and a relay die and all nodes begin again. */
async function measureWhole(cluster: NatsCluster, relays: TimedRelays, publicKey: string): Promise<void> {
  const whole = startHouses(cluster, publicKey, WHOLE_SESSIONS, 'qos1');
  const hasNow = () => whole.count(clock.now().wall - 2 * ROUND).fresh === WHOLE_SESSIONS;
  const first = await measureUntil(hasNow, 300);
  console.log(
    `${WHOLE_SESSIONS} sessions at QoS 1: all online after ${formatSeconds(first)}; nodes ${await readNodes(cluster)}`,
  );
  const [asked, at] = [relays.asked, performance.now()];
  relays.stopOne();
  await cluster.nodes[2]?.kill();
  await sleep(90_000);
  const rounds = (performance.now() - at) / ROUND;
  console.log(
    `a node and a relay dead for 90 s: ${relays.asked - asked} requests in ${rounds.toFixed(1)} rounds, ${whole.count(0).online} sessions online`,
  );
  for (const one of cluster.nodes) await one.kill();
  for (const one of cluster.nodes) await one.start();
  const back = await measureUntil(() => whole.count(0).online === WHOLE_SESSIONS && hasNow(), 300);
  const { older, online, fresh } = whole.count(clock.now().wall - 2 * ROUND);
  console.log(
    `all nodes begun again: every session and its forecast back after ${formatSeconds(back)} (${online} online, ${fresh} with a forecast of now); ${older} took something older`,
  );
  bars.push([
    `${WHOLE_SESSIONS} sessions at QoS 1 are back after a restart of all nodes, and take nothing older`,
    back !== undefined && older === 0,
  ]);
  whole.stop();
}

/** A broker with the documents of many devices, and the command that reads them all. */
async function measureFleet(): Promise<void> {
  const broker = await startBroker();
  const writer = await connectAsync(broker.url, { protocolVersion: 4 });
  const publish = (topic: string, payload: string) => writer.publishAsync(topic, payload, { retain: true, qos: 1 });
  for (let n = 0; n < DEVICES; n++) {
    const base = `gridtide/house-${n}`;
    await publish(`${base}/availability`, 'online');
    await publish(`${base}/info`, JSON.stringify({ version: '0.1.0', region: 'CAISO_NORTH', loads: ['car', 'water'] }));
    await publish(`${base}/health`, JSON.stringify({ ok: true, basis: 'fresh-forecast', problem: '', parts: {} }));
    await publish(`${base}/totals`, JSON.stringify({ today: { energyKwh: 12, savedKg: 1.2 }, loads: {}, days: [] }));
    await publish(
      `${base}/loads/car`,
      JSON.stringify({ running: n % 2 === 0, level: 'on', text: 'planned for these hours' }),
    );
  }
  await writer.endAsync();
  const bare = node('-e', 'setInterval(() => {}, 60_000)');
  await sleep(1_000);
  const begun = performance.now();
  const fleet = gridtide('fleet', '--broker', broker.url, '--watch');
  await fleet.line(new RegExp(`^${DEVICES} agents`, 'm'));
  const seconds = (performance.now() - begun) / 1_000;
  const cpu = readCpu(fleet) / 1_000;
  const over = readMemory(fleet).peak - readMemory(bare).peak;
  console.log(
    `gridtide fleet with ${DEVICES} devices: the table after ${seconds.toFixed(1)} s with its start (${cpu.toFixed(1)} s of processor time), peak ${over.toFixed(0)} MiB over bare Node`,
  );
  bars.push([`gridtide fleet: at most 60 MB over bare Node`, over <= 60]);
  bars.push(['gridtide fleet: the table within 5 s', seconds <= 5]);
  for (const one of [fleet, bare, broker.child]) await one.end();
}

const PAIRS = 3;
const IDLE_SECONDS = 90;
/** A house without an account relies on its own clock, which a file shows to be right: here in a mount of its own, which needs root. */
const SYNCHRONISED =
  'mount -t tmpfs none /run && mkdir -p /run/systemd/timesync && touch /run/systemd/timesync/synchronized && exec "$@"';

/** Agents at rest with an account and behind a relay, side by side: the median of what each kind keeps resident. */
async function measureMemory(): Promise<void> {
  const [service, broker] = [await startService(), await startBroker()];
  const ownFile = await house('own', { service: service.url, broker: broker.url });
  const folder = dirname(ownFile);
  const newKey = gridtide('relay', '--new-key', join(folder, 'key'));
  const publicKey = (await newKey.line(/^publicKey: /)).replace('publicKey: ', '');
  const secrets = ['--username-file', join(folder, 'username'), '--password-file', join(folder, 'password')];
  const relay = gridtide(
    ...['relay', '--key', join(folder, 'key'), '--broker', broker.url, '--region', QUERY.region],
    ...['--url', service.url, ...secrets],
  );
  const run = async (name: string, options: string): Promise<Child> => {
    const serviceOptions = `${options}, region: ${QUERY.region}`;
    const file = await house(name, { service: service.url, broker: broker.url, serviceOptions });
    const main = join(process.env.GRIDTIDE_DIST ?? '', 'main.js');
    const program = [process.execPath, ...readUnitFlags(), main, 'run', '--config', file];
    return start('unshare', ['--mount', 'sh', '-c', SYNCHRONISED, 'sh', ...program]);
  };
  const account = `url: "${service.url}", usernameFile: username, passwordFile: password`;
  const agents: { readonly own: Child; readonly relayed: Child }[] = [];
  for (let n = 0; n < PAIRS; n++)
    agents.push({
      own: await run(`own-${n}`, account),
      relayed: await run(`relayed-${n}`, `relay: true, publicKey: "${publicKey}"`),
    });
  await sleep(IDLE_SECONDS * 1_000);
  const table = gridtide('fleet', '--broker', broker.url, '--json');
  const { devices } = JSON.parse(await table.line(/devices/)) as {
    devices: { device: string; basis: string; problem: string }[];
  };
  console.log(`at rest: ${devices.map(({ device, basis }) => `${device} ${basis}`).join(', ')}`);
  const kept = (kind: 'own' | 'relayed') => median(agents.map((pair) => readMemory(pair[kind]).resident));
  const [own, relayed] = [kept('own'), kept('relayed')];
  console.log(
    `an agent at rest after ${IDLE_SECONDS} s: ${own.toFixed(1)} MiB with an account, ${relayed.toFixed(1)} behind a relay`,
  );
  const isServed = devices.length === 2 * PAIRS && devices.every(({ basis }) => basis === 'fresh-forecast');
  bars.push([
    'an agent behind a relay keeps no more memory than with an account, both with a forecast',
    isServed && relayed <= own,
  ]);
  for (const child of [...agents.flatMap((pair) => Object.values(pair)), relay, service.child, broker.child])
    await child.end();
}

async function measureRequests(): Promise<void> {
  const counts: number[] = [];
  for (const houses of [1, 100, DEVICES]) counts.push(await countRequests(houses));
  console.log(
    `requests in ${COUNTED / minutes(1)} minutes, with 1, 100 and ${DEVICES} houses that may ask the account too: ${counts.join(', ')}`,
  );
  bars.push([`the same requests for 1, 100 and ${DEVICES} houses`, new Set(counts).size === 1]);
}

async function measureSpread(): Promise<void> {
  const { most, mean } = measureStarts(10_000);
  console.log(`10,000 starts after one clean index: at most ${most} in a minute, mean of the spread ${mean}`);
  bars.push(['at most twice the mean of the spread in any minute', most <= 2 * mean]);
}

const PARTS = {
  ...{ requests: measureRequests, spread: measureSpread, memory: measureMemory, table: measureFleet },
  ...{ light: onCluster(measureLight), whole: onCluster(measureWhole) },
};
for (const [name, measure] of Object.entries(PARTS))
  if (values.only === undefined || values.only.split(',').includes(name)) await measure();
judge(bars);
process.exit();
