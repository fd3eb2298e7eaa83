/** A house for the benches: the reference service, mosquitto and the built agent, each a process of its own on loopback. Measures what a process costs. */

import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const DIST = process.env.GRIDTIDE_DIST ?? 'dist';
export const WORK = process.env.GRIDTIDE_WORK ?? '/tmp';
const MOSQUITTO = '/usr/sbin/mosquitto';
const TICKS_A_SECOND = 100;
const WAIT_MS = 60_000;
const PASSWORD = 'clean-grid-1';

export interface Child {
  readonly pid: number;
  /** The first line of either stream, also an earlier one, that fits. */
  line(pattern: RegExp): Promise<string>;
  readonly lines: readonly string[];
  end(signal?: NodeJS.Signals): Promise<void>;
}

const children = new Set<ChildProcess>();
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    for (const child of children) child.kill('SIGKILL');
    process.exit(1);
  });

export function start(program: string, args: readonly string[]): Child {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  children.add(child);
  const lines: string[] = [];
  const looks = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr])
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line);
      for (const look of [...looks]) look();
    });
  const over = new Promise<void>((resolve) =>
    child.once('close', () => {
      children.delete(child);
      resolve();
    }),
  );
  return {
    pid: child.pid ?? 0,
    lines,
    line: (pattern) =>
      new Promise((resolve, reject) => {
        const fail = (what: string) => reject(new Error(`${what} ${pattern}:\n${lines.slice(-10).join('\n')}`));
        const late = setTimeout(() => fail(`no line in ${WAIT_MS / 1000} s like`), WAIT_MS);
        const look = () => {
          const found = lines.find((line) => pattern.test(line));
          if (found === undefined) return;
          looks.delete(look);
          clearTimeout(late);
          resolve(found);
        };
        looks.add(look);
        look();
        void over.then(() => fail('ended without a line like'));
      }),
    async end(signal = 'SIGTERM') {
      child.kill(signal);
      await over;
    },
  };
}

export const node = (...args: readonly string[]) => start(process.execPath, args);
export const gridtide = (...args: readonly string[]) => node(join(DIST, 'main.js'), ...args);

/** Linux only. */
function statusOf(pid: number, field: string): number {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? Number.NaN) / 1024;
}

/** MiB resident now. */
export const resident = ({ pid }: Child) => statusOf(pid, 'VmRSS');
/** The most MiB that were ever resident. */
export const peak = ({ pid }: Child) => statusOf(pid, 'VmHWM');

/** CPU milliseconds so far, user and system, in steps of 10. */
export function cpu({ pid }: Child): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return ((Number(fields[11]) + Number(fields[12])) * 1_000) / TICKS_A_SECOND;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const address = server.address();
  await new Promise<void>((closed) => server.close(() => closed()));
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}

export async function startBroker(): Promise<{ readonly url: string; readonly child: Child }> {
  const port = await freePort();
  const file = join(WORK, `mosquitto-${port}.conf`);
  const user = process.getuid?.() === 0 ? 'user root\n' : '';
  await writeFile(
    file,
    `listener ${port} 127.0.0.1\nallow_anonymous true\npersistence false\nlog_dest stderr\n${user}`,
  );
  const child = start(MOSQUITTO, ['-c', file]);
  await child.line(/running/);
  return { url: `mqtt://127.0.0.1:${port}`, child };
}

export async function startService(
  ...more: readonly string[]
): Promise<{ readonly url: string; readonly child: Child }> {
  const child = gridtide('reference', '--account', `owner:${PASSWORD}:analyst`, ...more);
  const { listening } = JSON.parse(await child.line(/listening/));
  return { url: listening, child };
}

export interface HouseOptions {
  readonly service: string;
  readonly broker?: string;
  readonly state?: string;
}

/** The configuration of a house with one MQTT load and two dry ones, its credentials beside it; the path of the file. */
export async function house(name: string, { service, broker, state }: HouseOptions): Promise<string> {
  const folder = join(WORK, name);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'username'), 'owner\n');
  await writeFile(join(folder, 'password'), `${PASSWORD}\n`, { mode: 0o600 });
  const file = join(folder, 'gridtide.yaml');
  const text = `device: bench
state: ${state ?? join(folder, 'state')}
place: {latitude: 38.5, longitude: -122.0, timezone: America/Los_Angeles}
service: {url: "${service}", usernameFile: username, passwordFile: password}
${broker === undefined ? '' : `mqtt: {url: "${broker}", discovery: homeassistant}\n`}loads:
  car:
    type: ev
    output: ${broker === undefined ? '{kind: dry-run}' : '{kind: mqtt, preset: openevse, topic: openevse}'}
    goal: {need: 4h, by: {mon-fri: "07:00", sat-sun: "09:00"}, from: "18:00"}
  heating: {type: heat-pump, output: {kind: dry-run, as: sg-ready}}
  water: {type: tank, output: {kind: dry-run}}
`;
  await writeFile(file, text);
  return file;
}

/** Prints each bar and says whether all are kept. */
export function judge(bars: readonly (readonly [words: string, kept: boolean])[]): void {
  for (const [words, kept] of bars) console.log(`${kept ? 'kept  ' : 'MISSED'} ${words}`);
  process.exitCode = bars.every(([, kept]) => kept) ? 0 : 1;
}

export const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
export const median = (values: readonly number[]) =>
  [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
