/** `gridtide state`: copies the state of a house into one file, and from it onto another card or board. */

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { lstat, mkdtemp, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import type { Disk } from '../../domain/ports.ts';
import { formatCount } from '../../domain/units.ts';
import { createSharedFileDisk } from '../../platform/file-disk.ts';
import { findOtherAgent, PROCESS_FILE } from '../../platform/single-instance.ts';
import {
  type Arguments,
  type CommandSpec,
  errorMessage,
  explainReadError,
  explainWriteError,
  JobError,
  selectAction,
  type Terminal,
} from '../shared/command.ts';
import { fileExists } from '../shared/config-file.ts';
import { loadOptionalConfig } from '../shared/load-configuration.ts';
import { locateStateDirectory, STATE_ROW } from '../shared/state-directory.ts';
import { VERSION } from '../shared/version.ts';
import { copySettings, planSettings, type SettingsPaths, writeSettings } from './house-settings.ts';

type Row = 'config' | 'state' | 'force' | 'secrets';

export const spec: CommandSpec<Row> = {
  name: 'state',
  positionals: ['export FILE', 'import FILE'],
  options: {
    config: { value: 'FILE', help: 'configuration with the state directory' },
    state: STATE_ROW,
    secrets: { help: 'also the configuration and the files that it names, credentials included' },
    force: { help: 'replaces the file of an export, or the state and settings that are there already' },
  },
  notes: [
    'The file is a gzipped tar archive of ledger, map, profile, jobs and settings of the state directory.',
    'Configuration and credentials are in it with --secrets alone: keep such a file as you keep a password.',
  ],
};

/** Lists the files of the archive; the last one added, so that an archive cut short has none. */
const MANIFEST = 'state-manifest.json';

interface Manifest {
  readonly program: string;
  readonly version: string;
  readonly exportedAt: string;
  /** The SHA-256 of each file. */
  readonly files: Readonly<Record<string, string>>;
  readonly settings?: SettingsPaths;
}

async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

async function runTar(words: readonly string[]): Promise<void> {
  try {
    await promisify(execFile)('tar', [...words]);
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    if (isMissing) throw new JobError('tar is not installed; apt install tar');
    throw error;
  }
}

async function locateState(args: Arguments<Row>, terminal: Terminal): Promise<string> {
  const state = args.text('state');
  const config = await loadOptionalConfig(args.text('config'), terminal, { state, allowsMissingCredentials: true });
  return config?.state ?? locateStateDirectory(terminal, state);
}

/** The complete files of the state; that of a running process is no state. */
const listState = async (disk: Disk) => (await disk.list()).filter((name) => name !== PROCESS_FILE).sort();

/** Copies first: a file that changes while it is read would not fit its checksum. */
async function copyState(disk: Disk, directory: string, names: readonly string[]): Promise<Record<string, string>> {
  const hashes: Record<string, string> = {};
  for (const name of names) {
    const file = await disk.open(name);
    if (file === undefined) continue;
    const copy = await open(join(directory, name), 'w', 0o600);
    try {
      for (let at = 0; at < file.size; ) {
        const part = await file.read(at, Math.min(1 << 20, file.size - at));
        if (part.byteLength === 0) break;
        await copy.write(part);
        at += part.byteLength;
      }
    } finally {
      await copy.close();
      await file.close();
    }
    hashes[name] = await hashFile(join(directory, name));
  }
  return hashes;
}

async function withScratch<Value>(work: (directory: string) => Promise<Value>): Promise<Value> {
  const directory = await mkdtemp(join(tmpdir(), 'exported-state-'));
  try {
    return await work(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function exportState(args: Arguments<Row>, terminal: Terminal): Promise<number> {
  const target = resolve(args.positionals[0] ?? '');
  const isPresent = await lstat(target).then(Boolean, () => false);
  if (isPresent && !args.flag('force'))
    throw new JobError(`${target} exists already; name another file, or --force replaces it`);
  const state = await locateState(args, terminal);
  const disk = createSharedFileDisk(state);
  const names = await listState(disk);
  if (names.length === 0) throw new JobError(`${state} holds no state; name the directory with --state or --config`);
  if ((await findOtherAgent(disk)) !== undefined)
    terminal.err('the agent is running: what it saves from now on is not in the file\n');
  await withScratch(async (directory) => {
    const files = await copyState(disk, directory, names);
    const count = formatCount(Object.keys(files).length, 'file');
    const settings = args.flag('secrets') ? await copySettings(args, terminal, directory) : {};
    for (const name of Object.keys(settings)) files[name] = await hashFile(join(directory, name));
    const exportedAt = new Date().toISOString();
    const manifest: Manifest = { program: 'gridtide', version: VERSION, exportedAt, files, settings };
    await writeFile(join(directory, MANIFEST), `${JSON.stringify(manifest, null, 1)}\n`);
    const unfinished = `${target}.unfinished`;
    try {
      await writeFile(unfinished, '', { mode: 0o600 });
      await runTar(['-czf', unfinished, '-C', directory, '--', ...Object.keys(files), MANIFEST]);
      await rename(unfinished, target);
    } catch (error) {
      await rm(unfinished, { force: true });
      if (error instanceof JobError) throw error;
      throw new JobError(
        `${target} cannot be written: ${explainWriteError(error)}; name a file in a directory of yours`,
      );
    }
    const more = args.flag('secrets') ? ` and ${formatCount(Object.keys(settings).length, 'file')} of settings` : '';
    terminal.out(`${count} of ${state}${more} in ${target}\n`);
  });
  return 0;
}

const isTextByName = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.values(value).every((text) => typeof text === 'string');

/** Throws `JobError` unless every listed file, and no other, is there and whole. */
async function readManifest(directory: string, archive: string): Promise<Manifest> {
  const text = await readFile(join(directory, MANIFEST), 'utf8').catch(() => undefined);
  if (text === undefined)
    throw new JobError(`${archive} is no whole state: it lacks ${MANIFEST}; make it with gridtide state export`);
  const manifest = JSON.parse(text) as Manifest;
  if (!isTextByName(manifest.files) || !isTextByName(manifest.settings ?? {}))
    throw new JobError(`${archive} is damaged: its ${MANIFEST} has another form; make it with gridtide state export`);
  for (const name of Object.keys(manifest.settings ?? {}))
    if (!Object.hasOwn(manifest.files, name))
      throw new JobError(`${archive} names "${name}" as settings, which it does not hold; export it again`);
  for (const name of await readdir(directory)) {
    const isListed = name === MANIFEST || Object.hasOwn(manifest.files, name);
    if (!isListed || !(await lstat(join(directory, name))).isFile())
      throw new JobError(
        `${archive} holds "${name}", which its list does not name; make it with gridtide state export`,
      );
  }
  for (const [name, hash] of Object.entries(manifest.files))
    if ((await hashFile(join(directory, name)).catch(() => undefined)) !== hash)
      throw new JobError(`${archive} is damaged: "${name}" does not fit its checksum; export it again`);
  return manifest;
}

async function unpack(archive: string, directory: string): Promise<Manifest> {
  await lstat(archive).catch((error: unknown) => {
    throw new JobError(`${archive}: ${explainReadError(error)}; name a file that gridtide state export made`);
  });
  try {
    await runTar(['-xzf', archive, '-C', directory, '--no-same-owner', '--no-same-permissions']);
  } catch (error) {
    if (error instanceof JobError) throw error;
    throw new JobError(`${archive} is no whole gzipped tar archive; make it with gridtide state export`);
  }
  return readManifest(directory, archive).catch((error: unknown) => {
    throw error instanceof JobError
      ? error
      : new JobError(`${archive} is damaged: ${errorMessage(error)}; export it again`);
  });
}

async function putFile(disk: Disk, name: string, path: string): Promise<void> {
  const file = await disk.create(name);
  try {
    for await (const chunk of createReadStream(path)) await file.write(chunk as Uint8Array);
    await file.commit();
  } finally {
    await file.abandon();
  }
}

interface PresentState {
  readonly state: string;
  readonly disk: Disk;
  readonly present: readonly string[];
}

async function openForImport(args: Arguments<Row>, terminal: Terminal): Promise<PresentState> {
  const state = await locateState(args, terminal);
  const disk = createSharedFileDisk(state);
  if ((await findOtherAgent(disk)) !== undefined)
    throw new JobError(`the agent is running on ${state}; stop it first, or it overwrites what is imported`);
  const present = await listState(disk);
  if (present.length > 0 && !args.flag('force'))
    throw new JobError(`${state} holds a state already (${formatCount(present.length, 'file')}); --force replaces it`);
  return { state, disk, present };
}

async function importState(args: Arguments<Row>, terminal: Terminal): Promise<number> {
  const archive = resolve(args.positionals[0] ?? '');
  // A fresh machine has its configuration, which names the directory of the state, in the archive alone.
  const config = args.text('config');
  if (!args.flag('secrets') || config === undefined || (await fileExists(config))) await openForImport(args, terminal);
  await withScratch(async (directory) => {
    const { files, settings = {}, exportedAt, version } = await unpack(archive, directory);
    let more = '';
    if (args.flag('secrets')) {
      const targets = await planSettings(settings, args, terminal);
      await writeSettings(targets, directory);
      more = `, with ${[...targets.values()].join(', ')}`;
    }
    // The imported configuration may name a state directory of its own.
    const { state, disk, present } = await openForImport(args, terminal);
    const names = Object.keys(files).filter((name) => !Object.hasOwn(settings, name));
    for (const name of names) await putFile(disk, name, join(directory, name));
    for (const name of present) if (!names.includes(name)) await disk.remove(name);
    const count = formatCount(names.length, 'file');
    terminal.out(`${count} of ${exportedAt} (gridtide ${version}) imported into ${state}${more}\n`);
  });
  return 0;
}

export const run = (args: Arguments<Row>, terminal: Terminal): Promise<number> =>
  selectAction({ export: exportState, import: importState }, args)(args, terminal);
