/** What an answer costs the reference service beside node:http alone, how history streams, and what ten thousand clients leave behind. */

import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';

const DIST = process.env.GRIDTIDE_DIST ?? 'dist';
const BENCH = process.env.GRIDTIDE_BENCH ?? '';
const FORECASTS = Number(process.argv[2] ?? 21_000);
const CONNECTIONS = 16;
/** Turns of the comparison, odd for a median. */
const ROUNDS = 7;
/** A user may ask 3,000 times in 5 minutes; the work is shared among these. */
const USERS = Math.ceil((5 * FORECASTS + 10_000) / 3_000);
/** Clients of the long run, each with an account and a login of its own; what each asks before memory is measured, and after. */
const CLIENTS = Number(process.argv[3] ?? 10_000);
/** Enough that the windows of the limits have grown to the size of the whole run. */
const REQUESTS_BEFORE = 20;
const REQUESTS_AFTER = 10;
const ACCOUNTS_AT_START = 1_000;
const PASSWORD = 'pass-word1';
const TICKS_A_SECOND = 100;

interface Server {
  readonly url: string;
  readonly child: ChildProcess;
}

async function started(argv: readonly string[]): Promise<Server> {
  const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'inherit'] });
  const line = await new Promise<string>((resolve, reject) => {
    child.stdout?.once('data', (chunk: Buffer) => resolve(chunk.toString()));
    child.once('exit', (code) => reject(new Error(`${argv[0]} ended with ${code}`)));
  });
  return { url: JSON.parse(line).listening, child };
}

const stopped = ({ child }: Server) =>
  new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.kill('SIGTERM');
  });

/** CPU seconds of a process so far; Linux only. */
function cpuOf({ child }: Server): number {
  const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_A_SECOND;
}
const residentOf = ({ child }: Server) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1_024;
const peakOf = ({ child }: Server) =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1_024;

const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });

/** Asks and throws the body away; resolves with its length. */
function ask(url: string, headers: Readonly<Record<string, string>>): Promise<number> {
  return new Promise((resolve, reject) => {
    request(url, { headers, agent }, (reply) => {
      let length = 0;
      if (reply.statusCode !== 200) reject(new Error(`${url} answered ${reply.statusCode}`));
      reply.on('data', (chunk: Buffer) => {
        length += chunk.length;
      });
      reply.on('end', () => resolve(length));
      reply.on('error', reject);
    })
      .on('error', reject)
      .end();
  });
}

function text(url: string, authorization: string): Promise<string> {
  return new Promise((resolve, reject) => {
    request(url, { headers: { authorization } }, (reply) => {
      let whole = '';
      reply.on('data', (chunk: Buffer) => {
        whole += chunk.toString();
      });
      reply.on('end', () => resolve(whole));
    })
      .on('error', reject)
      .end();
  });
}

interface Cost {
  readonly perSecond: number;
  /** Milliseconds of the server's CPU. */
  readonly cpu: number;
  readonly bytes: number;
}

/** `one` is warmed up with negative numbers. */
async function costOf(server: Server, count: number, one: (n: number) => Promise<number>): Promise<Cost> {
  for (let i = 1; i <= Math.min(count, 200); i++) await one(-i);
  const before = cpuOf(server);
  const began = performance.now();
  let next = 0;
  let bytes = 0;
  const worker = async () => {
    while (next < count) {
      const n = next;
      next += 1;
      bytes = await one(n);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));
  const seconds = (performance.now() - began) / 1_000;
  return { perSecond: count / seconds, cpu: ((cpuOf(server) - before) * 1_000) / count, bytes };
}

const row = (name: string, { perSecond, cpu, bytes }: Cost) =>
  console.log(
    `${name.padEnd(44)} ${perSecond.toFixed(0).padStart(7)}/s  ${cpu.toFixed(3).padStart(8)} ms CPU each  ${(bytes / 1_024).toFixed(1).padStart(8)} KiB`,
  );

const nameUsers = (count: number) => Array.from({ length: count }, (_, i) => `user${i}`);
const startService = (names: readonly string[]) =>
  started([
    join(DIST, 'main.js'),
    'reference',
    '--now',
    '2026-06-10T12:00:30Z',
    ...names.flatMap((name) => ['--account', `${name}:${PASSWORD}:pro`]),
  ]);
async function login({ url }: Server, user: string): Promise<string> {
  const basic = `Basic ${Buffer.from(`${user}:${PASSWORD}`).toString('base64')}`;
  return `Bearer ${JSON.parse(await text(`${url}/login`, basic)).token}`;
}

const users = nameUsers(USERS);
const service = await startService(users);
const bearers: string[] = [];
for (const user of users) bearers.push(await login(service, user));
const headersOf = (n: number, zip: boolean) => ({
  authorization: bearers[Math.abs(n) % USERS] ?? '',
  ...(zip ? { 'accept-encoding': 'gzip' } : {}),
});
const forecast = `${service.url}/v3/forecast?signal_type=co2_moer&region=`;
const access = await text(`${service.url}/v3/my-access?signal_type=co2_moer`, bearers[0] ?? '');
const regions: string[] = JSON.parse(access).signal_types[0].regions.map(({ region }: { region: string }) => region);

console.log(`${CONNECTIONS} connections, one process each side; forecasts of 24 hours`);
const regionOf = (n: number) => regions[Math.abs(n) % regions.length] ?? '';
const cold = await costOf(service, regions.length, (n) =>
  ask(`${forecast}${regionOf(n)}&horizon_hours=${n < 0 ? 23 : 24}`, headersOf(n, true)),
);
interface Comparison {
  readonly own: Cost;
  /** Answers a second as a share of what node:http alone gives to the same client: the median of the rounds. */
  readonly ratio: number;
  /** Processor time of node:http alone as a share of the service's. */
  readonly cpuRatio: number;
}

/** A path of one region beside node:http alone with as many bytes, in turns, so that both meet the same machine. */
async function compare(name: string, path: string): Promise<Comparison> {
  const length = await ask(service.url + path, headersOf(0, false));
  const bareServer = await started([join(BENCH, 'service/bare.child.js'), String(length)]);
  const askOwn = (n: number) => ask(service.url + path, headersOf(n, false));
  const askBare = (n: number) => ask(bareServer.url, headersOf(n, false));
  const rounds: { readonly own: Cost; readonly bare: Cost }[] = [];
  for (let i = 0; i <= ROUNDS; i++)
    rounds.push({
      own: await costOf(service, FORECASTS / ROUNDS, askOwn),
      bare: await costOf(bareServer, FORECASTS / ROUNDS, askBare),
    });
  await stopped(bareServer);
  // The first round warms both up.
  const [own, bare] = [rounds.slice(1).map((round) => round.own), rounds.slice(1).map((round) => round.bare)];
  row(name, medianOf(own));
  row('  node:http alone, as many bytes', medianOf(bare));
  const medianRatio = (ratioOf: (own: Cost, bare: Cost) => number) =>
    own.map((cost, i) => ratioOf(cost, bare[i] ?? cost)).sort((x, y) => x - y)[ROUNDS >> 1] ?? 0;
  return {
    own: medianOf(own),
    ratio: medianRatio((mine, other) => mine.perSecond / other.perSecond),
    cpuRatio: medianRatio((mine, other) => other.cpu / mine.cpu),
  };
}
const medianOf = (costs: readonly Cost[]): Cost => [...costs].sort((x, y) => x.cpu - y.cpu)[costs.length >> 1] as Cost;

row('forecasts, each region the first time, gzip', cold);
const place = 'signal_type=co2_moer&region=CAISO_NORTH';
const warm = await compare('forecasts, one region, plain', `/v3/forecast?${place}`);
const index = await compare('indices, one region', `/v3/signal-index?${place}`);
const dayOfHistory = await compare(
  'a day of history, one region',
  `/v3/historical?${place}&start=2026-06-09T12:00Z&end=2026-06-10T12:00Z`,
);
const zipped = await costOf(service, FORECASTS, (n) => ask(`${forecast}CAISO_NORTH`, headersOf(n, true)));
row('forecasts, one region, gzip', zipped);

const month = 'start=2026-05-01T00:00Z&end=2026-06-02T00:00Z';
const history = (region: string) => `${service.url}/v3/historical?signal_type=co2_moer&region=${region}&${month}`;
const months = await costOf(service, 60, (n) => ask(history(regionOf(n)), headersOf(n, false)));
row('32 days of history', months);
const day = 'horizon_hours=72&start=2026-05-01T00:00Z&end=2026-05-02T00:00Z';
const issues = (region: string) => `${service.url}/v3/forecast/historical?signal_type=co2_moer&region=${region}&${day}`;
const before = peakOf(service);
const days = await costOf(service, 32, (n) => ask(issues(regionOf(n)), headersOf(n, false)));
const grown = peakOf(service) - before;
row('a day of past forecasts, 72 hours each', days);
const inFlight = (CONNECTIONS * days.bytes) / 1_048_576;
console.log(
  `peak memory grew by ${grown.toFixed(1)} MiB while ${inFlight.toFixed(1)} MiB of answers were on their way`,
);
await stopped(service);

const beganAt = performance.now();
await stopped(await startService(nameUsers(ACCOUNTS_AT_START)));
const startSeconds = (performance.now() - beganAt) / 1_000;
console.log(`${ACCOUNTS_AT_START} accounts: started and stopped in ${startSeconds.toFixed(2)} s`);

/** Memory in use of a service whose clients have all logged in, and again after their requests. */
async function measureGrowth(): Promise<{ readonly before: number; readonly after: number }> {
  const names = nameUsers(CLIENTS);
  const crowd = await startService(names);
  const tokens: string[] = [];
  await costOf(crowd, CLIENTS, async (n) => {
    if (n >= 0) tokens[n] = await login(crowd, names[n] ?? '');
    return 0;
  });
  const askAll = (rounds: number) =>
    costOf(crowd, CLIENTS * rounds, (n) => {
      const client = Math.abs(n) % CLIENTS;
      const region = regionOf(client);
      return ask(`${crowd.url}/v3/signal-index?signal_type=co2_moer&region=${region}`, {
        authorization: tokens[client] ?? '',
      });
    });
  await askAll(REQUESTS_BEFORE);
  const before = residentOf(crowd);
  row(`indices for ${CLIENTS} clients`, await askAll(REQUESTS_AFTER));
  const after = residentOf(crowd);
  await stopped(crowd);
  return { before, after };
}
const growth = await measureGrowth();
console.log(
  `${CLIENTS} clients: ${growth.before.toFixed(0)} MiB after ${REQUESTS_BEFORE} requests each, ${growth.after.toFixed(0)} MiB after ${REQUESTS_AFTER} more`,
);
agent.destroy();

const describeRatio = ({ ratio, cpuRatio }: Comparison) =>
  `${ratio.toFixed(2)} (${cpuRatio.toFixed(2)} by processor time)`;
const bars: readonly (readonly [string, boolean])[] = [
  [
    `at least 1,000 forecasts a second of CPU: ${(1_000 / warm.own.cpu).toFixed(0)} plain, ${(1_000 / zipped.cpu).toFixed(0)} gzip`,
    Math.max(warm.own.cpu, zipped.cpu) <= 1,
  ],
  [`forecasts beside node:http alone, at least 0.85: ${describeRatio(warm)}`, warm.ratio >= 0.85],
  [`indices beside node:http alone, at least 0.8: ${describeRatio(index)}`, index.ratio >= 0.8],
  [`a day of history beside node:http alone, at least 0.6: ${describeRatio(dayOfHistory)}`, dayOfHistory.ratio >= 0.6],
  [`long answers stream: memory grows by less than a quarter of what is on its way`, grown < inFlight / 4],
  [
    `${ACCOUNTS_AT_START} accounts do not keep the start waiting: ${startSeconds.toFixed(2)} s, at most 2`,
    startSeconds <= 2,
  ],
  [`requests leave nothing behind: memory grows by at most a tenth`, growth.after <= growth.before * 1.1],
];
for (const [words, kept] of bars) console.log(`${kept ? 'kept  ' : 'MISSED'} ${words}`);
process.exitCode = bars.every(([, kept]) => kept) ? 0 : 1;
