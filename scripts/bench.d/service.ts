/** What an answer costs the reference service: forecasts a second, the price of each in CPU, and history that streams in flat memory. */

import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';

const DIST = process.env.GRIDTIDE_DIST ?? 'dist';
const BENCH = process.env.GRIDTIDE_BENCH ?? '';
const FORECASTS = Number(process.argv[2] ?? 12_000);
const CONNECTIONS = 16;
/** A user may ask 3,000 times in 5 minutes; the work is shared among these. */
const USERS = 12;
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

const users = Array.from({ length: USERS }, (_, i) => `user${i}`);
const accounts = users.flatMap((user) => ['--account', `${user}:${PASSWORD}:pro`]);
const service = await started([join(DIST, 'main.js'), 'reference', '--now', '2026-06-10T12:00:30Z', ...accounts]);
const bearers: string[] = [];
for (const user of users) {
  const basic = `Basic ${Buffer.from(`${user}:${PASSWORD}`).toString('base64')}`;
  bearers.push(`Bearer ${JSON.parse(await text(`${service.url}/login`, basic)).token}`);
}
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
const warm = await costOf(service, FORECASTS, (n) => ask(`${forecast}CAISO_NORTH`, headersOf(n, false)));
const zipped = await costOf(service, FORECASTS, (n) => ask(`${forecast}CAISO_NORTH`, headersOf(n, true)));
const bareServer = await started([join(BENCH, 'service/bare.child.js'), String(warm.bytes)]);
const bare = await costOf(bareServer, FORECASTS, () => ask(bareServer.url, {}));
await stopped(bareServer);
row('forecasts, each region the first time, gzip', cold);
row('forecasts, one region, plain', warm);
row('forecasts, one region, gzip', zipped);
row('node:http alone, the same bytes, plain', bare);

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
agent.destroy();

const ratio = warm.cpu / bare.cpu;
const bars: readonly (readonly [string, boolean])[] = [
  [
    `at least 1,000 forecasts a second of CPU: ${(1_000 / warm.cpu).toFixed(0)} plain, ${(1_000 / zipped.cpu).toFixed(0)} gzip`,
    Math.max(warm.cpu, zipped.cpu) <= 1,
  ],
  [`a forecast costs at most 3 times what node:http alone does: ${ratio.toFixed(2)}`, ratio <= 3],
  [`long answers stream: memory grows by less than a quarter of what is on its way`, grown < inFlight / 4],
];
for (const [words, kept] of bars) console.log(`${kept ? 'kept  ' : 'MISSED'} ${words}`);
process.exitCode = bars.every(([, kept]) => kept) ? 0 : 1;
