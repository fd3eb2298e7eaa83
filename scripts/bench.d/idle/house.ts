/** A house for the benches: the reference service, mosquitto and the built agent, each a process of its own on loopback. Measures what a process costs. */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { cp, mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { connectAsync } from 'mqtt';
import { freePort } from '../../../test/doubles/free-port.ts';
import { parseOptions } from '../shared/parse-options.ts';

const DIST = process.env.GRIDTIDE_DIST ?? 'dist';
export const WORK = process.env.GRIDTIDE_WORK ?? tmpdir();
/** In memory. */
const RUNTIME = process.env.GRIDTIDE_RUNTIME ?? tmpdir();
const MOSQUITTO = '/usr/sbin/mosquitto';
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

export function start(program: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env): Child {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env });
  children.add(child);
  const lines: string[] = [];
  const looks = new Set<(line: string) => void>();
  for (const stream of [child.stdout, child.stderr])
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line);
      for (const look of [...looks]) look(line);
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
        const look = (line: string | undefined) => {
          if (line === undefined || !pattern.test(line)) return;
          looks.delete(look);
          clearTimeout(late);
          resolve(line);
        };
        looks.add(look);
        look(lines.find((line) => pattern.test(line)));
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

/** The flags of V8 with which the unit starts the agent. */
export function readUnitFlags(): readonly string[] {
  const root = process.env.GRIDTIDE_ROOT ?? '.';
  const text = readFileSync(join(root, 'systemd/gridtide.service'), 'utf8');
  const flags = /^ExecStart=\/usr\/bin\/env node (.*)\/usr\/local/m.exec(text)?.[1];
  if (flags === undefined) throw new Error('the unit starts no node: see ExecStart');
  return flags.split(' ').filter((flag) => flag !== '');
}

export interface BenchedNode {
  readonly name: string;
  /** Node without flags and without the program. */
  readonly bare: (...args: readonly string[]) => Child;
  /** Where the program is. */
  readonly dist: string;
  /** The agent of a house as its unit runs it: the flags of V8, a code cache made with them, and a runtime directory that outlives a start. */
  readonly agent: (config: string, ...args: readonly string[]) => Child;
}

/** `v20.20.2`; ends the bench in one sentence where the program is no Node. */
function readNodeVersion(program: string): string {
  const { stdout, error } = spawnSync(program, ['--version'], { encoding: 'utf8' });
  const [version = ''] = error === undefined ? stdout.split('\n') : [];
  if (/^v\d+\.\d+\.\d+/.test(version)) return version;
  console.error(
    `--node ${program}: ${error?.message ?? `"${version}" is no version of Node`}; give the path of a node program`,
  );
  process.exit(2);
}

/** What the unit calls `RuntimeDirectory=` for the agent of a configuration. */
export const findRuntimeDirectory = (config: string) => join(RUNTIME, basename(dirname(config)));

/** A copy of the program for one Node, with the code cache that an installation makes. */
async function installProgram(program: string, flags: readonly string[]): Promise<BenchedNode> {
  const name = readNodeVersion(program);
  const dist = join(WORK, `dist-${name}`);
  await cp(DIST, dist, { recursive: true });
  const made = spawnSync(program, [...flags, join(dist, 'make-code-cache.js')], { encoding: 'utf8' });
  if (made.status !== 0) console.log(`${name} has no code cache: ${made.stderr}`);
  return {
    name,
    dist,
    bare: (...args) => start(program, args),
    agent: (config, ...args) => {
      const directory = findRuntimeDirectory(config);
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      return start(program, [...flags, join(dist, 'main.js'), 'run', '--config', config, ...args], {
        ...process.env,
        RUNTIME_DIRECTORY: directory,
      });
    },
  };
}

/**
 * `--node PATH`, any number of times, else this Node; `--flags=TEXT` instead of those of the unit; `--node-red PATH` measures the
 * red.js of a node-red beside them; and the other arguments.
 */
export async function parseNodes(args: readonly string[]) {
  const { values, positionals } = parseOptions({
    args: [...args],
    allowPositionals: true,
    options: { node: { type: 'string', multiple: true }, flags: { type: 'string' }, 'node-red': { type: 'string' } },
  });
  const flags = values.flags === undefined ? readUnitFlags() : values.flags.split(' ').filter((flag) => flag !== '');
  const nodes: BenchedNode[] = [];
  for (const program of values.node ?? [process.execPath]) nodes.push(await installProgram(program, flags));
  console.log(`flags of V8: ${flags.join(' ') || 'none'}`);
  // Node 20 reads those certificates at its start, used or not: bare Node then takes twice as long, and each ratio is smaller.
  if (process.env.NODE_EXTRA_CA_CERTS)
    console.log('NODE_EXTRA_CA_CERTS is set: bare Node and the agent start slower for it');
  return { nodes, positionals, nodeRed: values['node-red'] };
}

/** A node-red at rest with an empty flow, as installed by `npm install node-red`. */
export async function startNodeRed(program: string): Promise<Child> {
  const folder = join(WORK, 'node-red');
  await mkdir(folder, { recursive: true });
  const child = node(program, '--userDir', folder, '--port', `${await freePort()}`);
  await child.line(/Started flows/);
  return child;
}

/** MiB of a process, by the kernel's account of its pages. */
export interface Memory {
  readonly resident: number;
  /** Pages shared with other processes counted by their share. */
  readonly proportional: number;
  readonly own: number;
  /** The most that was ever resident. */
  readonly peak: number;
}

const readField = (text: string, field: string) =>
  Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? Number.NaN) / 1024;

/** Linux only. */
export function readMemory({ pid }: Pick<Child, 'pid'>): Memory {
  const pages = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  return {
    resident: readField(pages, 'Rss'),
    proportional: readField(pages, 'Pss'),
    own: readField(pages, 'Private_Clean') + readField(pages, 'Private_Dirty'),
    peak: readField(readFileSync(`/proc/${pid}/status`, 'utf8'), 'VmHWM'),
  };
}

/** Milliseconds of processor time so far, of all threads that live, to the nanosecond. */
export function readCpu({ pid }: Child): number {
  const nanoseconds = readdirSync(`/proc/${pid}/task`).map((task) =>
    Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]),
  );
  return nanoseconds.reduce((sum, one) => sum + one, 0) / 1e6;
}

/** How often the threads of a process have gone to sleep so far; what a busy machine takes from it is not counted. */
export function readSwitches({ pid }: Child): number {
  const counts = readdirSync(`/proc/${pid}/task`).map((task) => {
    const text = readFileSync(`/proc/${pid}/task/${task}/status`, 'utf8');
    return readField(text, 'voluntary_ctxt_switches') * 1024;
  });
  return counts.reduce((sum, one) => sum + one, 0);
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

/** The OpenEVSE charger of each house: a charger that does not answer is sent its command again and again. */
export async function startChargers(broker: string): Promise<{ readonly close: () => Promise<void> }> {
  const client = await connectAsync(broker);
  client.on('message', (topic, payload) => {
    const state = payload.toString() === 'clear' ? '{}' : payload;
    client.publish(topic.replace(/\/set$/, ''), state, { retain: true });
  });
  await client.subscribeAsync('+/override/set');
  return { close: () => client.endAsync() };
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
  readonly logLevel?: string;
  /** The options of `service` in place of those of the account. */
  readonly serviceOptions?: string;
  /** GPIO lines of the character device in place of dry runs. */
  readonly hasRelays?: boolean;
}

/** A zone in which it is evening now: what an agent decides at its start must not depend on the hour at which it is measured. */
function findEveningZone(hour = new Date().getUTCHours()): string {
  const ahead = ((20 - hour + 36) % 24) - 12;
  return `Etc/GMT${ahead > 0 ? '-' : '+'}${Math.abs(ahead)}`;
}

/** The configuration of a house with one MQTT load and two dry ones, its credentials beside it; the path of the file. */
export async function house(
  name: string,
  { service, broker, state, logLevel = 'info', serviceOptions, hasRelays = false }: HouseOptions,
): Promise<string> {
  const folder = join(WORK, name);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'username'), 'owner\n');
  await writeFile(join(folder, 'password'), `${PASSWORD}\n`, { mode: 0o600 });
  const file = join(folder, 'gridtide.yaml');
  const [dryCar, heating, water] = hasRelays
    ? ['{kind: relay, pin: 17}', '{kind: sg-ready, pins: [22, 23]}', '{kind: relay, pin: 18}']
    : ['{kind: dry-run}', '{kind: dry-run, as: sg-ready}', '{kind: dry-run}'];
  const text = `device: ${name}
logLevel: ${logLevel}
state: ${state ?? join(folder, 'state')}
place: {latitude: 38.5, longitude: -122.0, timezone: ${findEveningZone()}}
${hasRelays ? 'gpio: character-device\n' : ''}service: {${serviceOptions ?? `url: "${service}", usernameFile: username, passwordFile: password`}}
${broker === undefined ? '' : `mqtt: {url: "${broker}", discovery: homeassistant}\n`}loads:
  car:
    type: ev
    output: ${broker === undefined ? dryCar : `{kind: mqtt, preset: openevse, topic: openevse-${name}}`}
    goal: {need: 4h, by: {mon-fri: "07:00", sat-sun: "09:00"}, from: "18:00"}
  heating: {type: heat-pump, output: ${heating}}
  water: {type: tank, output: ${water}}
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
