/** What history costs the client: CPU a month beside the service's own, and memory over ten years read through the iterator. */

import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Instant } from '../../src/domain/units.ts';
import { createHttp } from '../../src/platform/http-client.ts';
import { createSystemRandom } from '../../src/platform/random.ts';
import { createSystemClock } from '../../src/platform/system-clock.ts';
import { createServiceClient } from '../../src/service/client.ts';

const DIST = process.env.GRIDTIDE_DIST ?? 'dist';
const PASSWORD = 'pass-word1';
const TICKS_A_SECOND = 100;
const MIB = 1_048_576;
const at = (text: string) => Date.parse(text) as Instant;

async function started(): Promise<{ readonly url: string; readonly child: ChildProcess }> {
  const argv = ['reference', '--now', '2029-06-10T12:00:30Z', '--account', `user:${PASSWORD}:pro`];
  const child = spawn(process.execPath, [join(DIST, 'main.js'), ...argv], { stdio: ['ignore', 'pipe', 'inherit'] });
  const line = await new Promise<string>((resolve, reject) => {
    child.stdout?.once('data', (chunk: Buffer) => resolve(chunk.toString()));
    child.once('exit', (code) => reject(new Error(`the service ended with ${code}`)));
  });
  return { url: JSON.parse(line).listening, child };
}

/** CPU milliseconds of the child so far; Linux only. */
function cpuOf({ pid }: ChildProcess): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return ((Number(fields[11]) + Number(fields[12])) * 1_000) / TICKS_A_SECOND;
}

const ownCpu = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

/** What is really held, in MiB: resident size also tells how lazily garbage is collected. */
function held(): number {
  // What a collection found unused is given back beside it, by another thread; the next one waits for that.
  collectGarbage();
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / MIB;
}

const { url, child } = await started();
const http = createHttp();
const service = createServiceClient({
  url,
  http,
  clock: createSystemClock(),
  random: createSystemRandom(),
  credentials: async () => ({ username: 'user', password: PASSWORD }),
  log: () => {},
});

interface Cost {
  readonly months: number;
  readonly points: number;
  readonly wall: number;
  readonly client: number;
  readonly service: number;
  /** Highest resident size seen at the end of a piece, MiB. */
  readonly peak: number;
  /** Most that was held at each tenth piece, MiB. */
  readonly held: number;
}

async function read(start: string, end: string): Promise<Cost> {
  const [wall, client, server] = [performance.now(), ownCpu(), cpuOf(child)];
  let [months, points, peak, most] = [0, 0, 0, 0];
  const range = { region: 'CAISO_NORTH', signalType: 'co2_moer', start: at(start), end: at(end) };
  for await (const piece of service.historyRange(range)) {
    if (!piece.ok) throw new Error(JSON.stringify(piece.failure));
    months += 1;
    points += piece.value.points.length;
    peak = Math.max(peak, process.memoryUsage().rss / MIB);
    if (months % 10 === 0) most = Math.max(most, held());
  }
  return {
    months,
    points,
    wall: performance.now() - wall,
    client: ownCpu() - client,
    service: cpuOf(child) - server,
    peak,
    held: most,
  };
}

const row = (name: string, { months, points, wall, client, service, peak, held }: Cost) =>
  console.log(
    `${name.padEnd(22)} ${String(months).padStart(4)} requests ${String(points).padStart(8)} points; each ${(wall / months).toFixed(1)} ms, of CPU ${(client / months).toFixed(1)} ms here and ${(service / months).toFixed(1)} ms in the service; at most ${held.toFixed(1)} MiB held, ${peak.toFixed(0)} resident`,
  );

await read('2019-01-01T00:00Z', '2019-06-30T23:55Z');
const year = await read('2019-01-01T00:00Z', '2020-12-31T23:55Z');
const decade = await read('2019-01-01T00:00Z', '2028-12-31T23:55Z');
row('two years of history', year);
row('ten years of history', decade);
service.stop();
await http.close();
child.kill('SIGTERM');

const ratio = decade.client / decade.service;
const grown = decade.held - year.held;
const expected = (at('2029-01-01T00:00Z') - at('2019-01-01T00:00Z')) / 300_000;
const bars: readonly (readonly [string, boolean])[] = [
  [`ten years are complete: ${decade.points} of ${expected} points`, decade.points === expected],
  [`the client's CPU is less than what the service spends on the same answers: ${ratio.toFixed(2)} of it`, ratio < 1],
  [`memory stays flat from two years to ten: ${grown.toFixed(1)} MiB more are held at the most`, grown <= 8],
];
for (const [words, kept] of bars) console.log(`${kept ? 'kept  ' : 'MISSED'} ${words}`);
process.exitCode = bars.every(([, kept]) => kept) ? 0 : 1;
