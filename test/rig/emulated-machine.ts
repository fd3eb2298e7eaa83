/** Puts programs with onoff into the emulated machine of `scripts/rig` and reads back what they printed and what the kernel traced. */

import { spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';
import { beforeAll, describe } from 'vitest';
// @ts-expect-error a script without types
import { ESM_PROGRAM } from '../../scripts/esm-program.mjs';

const PROJECT = join(import.meta.dirname, '..', '..');
const RIG = join(PROJECT, 'scripts', 'rig');

let isReadyHere: boolean | undefined;

/** Whether the machine can be had; where it must be (CI) and is not, this throws. */
function isRigReady(): boolean {
  isReadyHere ??= checkRig();
  return isReadyHere;
}

function checkRig(): boolean {
  const isReady = spawnSync(RIG, ['ready']).status === 0;
  const hasOnoff = existsSync(join(PROJECT, 'node_modules/epoll/build/Release/epoll.node'));
  if (isReady && hasOnoff) return true;
  const why = isReady ? 'onoff is not compiled (npm rebuild epoll)' : 'it is not set up (scripts/rig setup)';
  if (process.env.CI === 'true') throw new Error(`the rig must run in CI, but ${why}`);
  console.warn(`\n  SKIPPED: the relays on a real kernel; ${why}\n`);
  return false;
}

let isBuilt: boolean | undefined;

/** Whether the installed program can be tried in the machine: where nothing is built, this says so once. */
function isInstallationReady(): boolean {
  if (isBuilt === undefined) {
    isBuilt = existsSync(join(PROJECT, 'dist', 'main.js'));
    if (!isBuilt) console.warn('\n  SKIPPED: the installed service; nothing is built (npm run build)\n');
  }
  return isBuilt && isRigReady();
}

/** The package and what it depends on, as installed here; `nan` is for compiling only. */
function copyPackage(name: string, into: string): void {
  const target = join(into, 'node_modules', name);
  if (name === 'nan' || existsSync(target)) return;
  const source = join(PROJECT, 'node_modules', name);
  cpSync(source, target, {
    recursive: true,
    filter: (path) => !/\/(test|integration-test|example|examples|src)$/.test(path),
  });
  const { dependencies = {} } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'));
  for (const one of Object.keys(dependencies)) copyPackage(one, into);
}

/** The holder of the lines, beside the bundled sources as it is in a build. */
function compileLineProgram(app: string): void {
  const program = join(app, `gridtide-lines-${process.arch}`);
  const source = join(PROJECT, 'src/native/gridtide-lines.c');
  const { status, stderr } = spawnSync('cc', ['-O2', '-static', '-o', program, source], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`gridtide-lines: ${stderr}`);
}

/** Lays the built program into a root directory as `scripts/install` does. */
function installInto(root: string): void {
  mkdirSync(root, { recursive: true });
  const { status, stderr } = spawnSync(join(PROJECT, 'scripts', 'install'), ['--root', root], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`scripts/install: ${stderr}`);
}

function writeFiles(directory: string, files: Readonly<Record<string, string>>, mode: number): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text, { mode });
  }
}

/** What one suite runs in the machine. */
interface Scenario {
  /** A shell script. */
  readonly start: string;
  /** Programs bundled as `/app/NAME.mjs`, where the machine has no systemd. */
  readonly sources?: Readonly<Record<string, string>>;
  /** Beside the programs, or under systemd laid over the root before this scenario begins. */
  readonly files?: Readonly<Record<string, string>>;
}

export interface RigRun {
  readonly output: string;
  /** What the programs said as JSON lines of the shape `{"part": …}`. */
  part(name: string): Readonly<Record<string, unknown>>;
  /** The kernel's line changes between the markers of this name. */
  eventsOf(name: string): readonly LineEvent[];
  markedAt(name: string): number;
}

export type LineEvent = {
  /** Seconds of the machine's own clock, and the name of who did it. */
  readonly at: number;
  readonly task: string;
  readonly number: number;
} & (
  | { readonly kind: 'value'; readonly set: boolean; readonly value: number }
  | { readonly kind: 'direction'; readonly direction: 'in' | 'out' }
);

function parseEvent(line: string): LineEvent | undefined {
  const [, task = '', at, rest = ''] = /^\s*(\S+)-\d+ .* (\d+\.\d+): (gpio_.*)$/.exec(line) ?? [];
  const value = /^gpio_value: (\d+) (get|set) ([01])/.exec(rest);
  const origin = { at: Number(at), task };
  if (value)
    return { ...origin, kind: 'value', number: Number(value[1]), set: value[2] === 'set', value: Number(value[3]) };
  const direction = /^gpio_direction: (\d+) +(in|out)/.exec(rest);
  if (direction === null) return undefined;
  return {
    ...origin,
    kind: 'direction',
    number: Number(direction[1]),
    direction: direction[2] === 'in' ? 'in' : 'out',
  };
}

/** When a marker was written, by the machine's own clock. */
function findMarkerTime(output: string, name: string): number {
  const found = output.split('\n').find((line) => line.endsWith(`tracing_mark_write: ${name}`));
  const at = /(\d+\.\d+): tracing_mark_write/.exec(found ?? '')?.[1];
  if (at === undefined) throw new Error(`there is no marker "${name}"`);
  return Number(at);
}

function traceBetween(output: string, name: string): readonly LineEvent[] {
  const lines = output.split('\n').filter((line) => /gpio_(value|direction):|tracing_mark_write:/.test(line));
  const from = lines.findIndex((line) => line.endsWith(`: begin ${name}`));
  const to = lines.findIndex((line) => line.endsWith(`: end ${name}`));
  if (from < 0 || to < from) throw new Error(`nothing was traced for "${name}":\n${output}`);
  return lines.slice(from + 1, to).flatMap((line) => parseEvent(line) ?? []);
}

/** Written values and directions in order, as `537 1` and `537 out`, or counted from the first number of their chip. */
export const formatSteps = (events: readonly LineEvent[], first = 0) =>
  events
    .filter((event) => event.kind === 'direction' || event.set)
    .map((event) => `${event.number - first} ${event.kind === 'value' ? event.value : event.direction}`);

/** Levels written to a line, in order: the first is its first level. */
export const writtenLevels = (events: readonly LineEvent[], number: number) =>
  events.flatMap((event) => (event.kind === 'value' && event.set && event.number === number ? [event.value] : []));

/** Before each scenario: no GPIO chip, nothing over /sys/class/gpio and an empty trace, as after the boot. */
const CLEAN_UP = `
umount /sys/class/gpio 2>/dev/null
for chip in /sys/kernel/config/gpio-sim/*; do
  [ -e "$chip/live" ] || continue
  echo 0 >"$chip/live"
  rmdir "$chip"/bank*/line*/hog "$chip"/bank*/line* 2>/dev/null
  rmdir "$chip"/bank* "$chip"
done
echo >/sys/kernel/tracing/trace
`;

type Scenarios = ReadonlyMap<string, Scenario>;

/** One scenario after the other, each between two lines that say where it begins and how it ended. */
function writeStart(app: string, scenarios: Scenarios, prepare = (_: string) => ''): void {
  const steps = [...scenarios].map(([name, { start }]) => {
    writeFileSync(join(app, `${name}.sh`), start);
    return `${CLEAN_UP}${prepare(name)}echo 'rig: begin ${name}'\nsh ./${name}.sh\nprintf '\\nrig: end %d\\n' $?\n`;
  });
  writeFileSync(join(app, 'start'), `#!/bin/sh\n${steps.join('')}`, { mode: 0o755 });
}

/** Without systemd: `/app` has the programs, onoff and the holder of the lines. */
async function layOutPrograms(app: string, scenarios: Scenarios): Promise<void> {
  const all = [...scenarios.values()];
  for (const { files = {} } of all) writeFiles(app, files, 0o644);
  await build({
    entryPoints: Object.assign({}, ...all.map(({ sources }) => sources)),
    outdir: app,
    outExtension: { '.js': '.mjs' },
    ...ESM_PROGRAM,
    splitting: true,
    external: ['onoff'],
    logLevel: 'error',
  });
  mkdirSync(join(app, 'node_modules'));
  copyPackage('onoff', app);
  compileLineProgram(app);
  writeStart(app, scenarios);
}

/** Under systemd: the built program is installed. Wants a build. */
function layOutInstallation(app: string, scenarios: Scenarios): void {
  const root = join(app, 'root');
  installInto(root);
  for (const [name, { files = {} }] of scenarios) writeFiles(join(root, 'scenarios', name), files, 0o600);
  const settings = 'busybox find . -type f | while read -r file; do install -D -m 600 "$file" "/$file"; done';
  writeStart(
    app,
    scenarios,
    (name) => `systemctl stop gridtide
rm -rf /etc/gridtide/* /var/lib/gridtide/* /etc/systemd/system/gridtide.service.d
(cd /scenarios/${name} && ${settings})
systemctl daemon-reload
systemctl reset-failed
`,
  );
}

/** Against a machine that hangs; one that is only slow ends before. */
const BOOT_TIMEOUT_MS = 7_200_000;

/** The scenarios of a test file share one boot: the first suite that runs boots, with all that the file has described. */
function createSharedMachine(
  command: 'run' | 'boot',
  isReady: () => boolean,
  layOut: (app: string, scenarios: Scenarios) => void | Promise<void>,
) {
  const scenarios = new Map<string, () => Scenario | Promise<Scenario>>();
  let output: Promise<string> | undefined;

  async function boot(): Promise<string> {
    const app = mkdtempSync(join(tmpdir(), 'gridtide-rig-'));
    try {
      const ready = await Promise.all([...scenarios].map(async ([name, prepare]) => [name, await prepare()] as const));
      await layOut(app, new Map(ready));
      return await bootMachine(command, app);
    } finally {
      rmSync(app, { recursive: true });
    }
  }

  return (
    title: string,
    [name, prepare]: readonly [name: string, prepare: () => Scenario | Promise<Scenario>],
    describeRun: (run: RigRun) => void,
  ): void => {
    scenarios.set(name, prepare);
    describe.skipIf(!isReady())(title, () => {
      const run = {} as RigRun;
      beforeAll(async () => {
        output ??= boot();
        Object.assign(run, readRun(name, await output));
      }, BOOT_TIMEOUT_MS);
      describeRun(run);
    });
  };
}

/** A suite over what its scenario printed in the boot without systemd. */
export const describeInMachine = createSharedMachine('run', isRigReady, layOutPrograms);
/** A suite over what its scenario printed in the boot under systemd, with the program installed. */
export const describeInInstallation = createSharedMachine('boot', isInstallationReady, layOutInstallation);

async function bootMachine(command: 'run' | 'boot', app: string): Promise<string> {
  const child = spawn(RIG, [command, app], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  let errors = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  const code = await new Promise<number>((resolve) => child.once('close', (status) => resolve(status ?? 255)));
  if (code !== 0) throw new Error(`the machine ended with ${code}\n${errors}\n${output}`);
  return output;
}

/** What the scenario `name` printed. */
function readRun(name: string, all: string): RigRun {
  const [, after = ''] = all.split(`rig: begin ${name}\n`);
  const [output = '', code] = after.split(/^rig: end (\d+)$/m, 2);
  if (code !== '0') throw new Error(`${name} ended with ${code}\n${output}`);
  const parts = new Map<string, Readonly<Record<string, unknown>>>();
  for (const line of output.split('\n').filter((text) => text.startsWith('{"part":'))) {
    const part = JSON.parse(line);
    parts.set(part.part, part);
  }
  return {
    output,
    part: (name) => {
      const found = parts.get(name);
      if (found === undefined) throw new Error(`the machine said nothing of "${name}":\n${output}`);
      return found;
    },
    eventsOf: (name) => traceBetween(output, name),
    markedAt: (name) => findMarkerTime(output, name),
  };
}
