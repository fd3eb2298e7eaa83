/**
 * Makes the code cache of an installation: `node FLAGS make-code-cache.js`, run by the superuser with the flags of the unit. An agent
 * with dry loads runs twice against a reference service on loopback, so that the functions of a start are compiled.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { writeCodeCache } from './code-cache.ts';
import { CODE_CACHE, compilePack, createFileLoader, FIRST_FILE, packFiles } from './file-loader.ts';

const DIRECTORY = dirname(__filename);
const NEW_CACHE = join(DIRECTORY, `${CODE_CACHE}.new`);
const LIMIT_MS = 90_000;
const PASSWORD = 'clean-grid-1';
const BY_SIGNAL = /"why":"(?!boot|no-data|untrusted-clock)/;

const CONFIGURATION = (service: string, state: string) => `device: code-cache
state: ${state}
place: {latitude: 38.5, longitude: -122.0, timezone: America/Los_Angeles}
service: {url: "${service}", usernameFile: username, passwordFile: password}
mqtt: {url: "mqtt://127.0.0.1:9", discovery: homeassistant}
loads:
  car: {type: ev, output: {kind: mqtt, preset: openevse, topic: openevse}, goal: {need: 4h, by: "07:00", from: "18:00"}}
  heating: {type: heat-pump, output: {kind: dry-run, as: sg-ready}}
  water: {type: tank, output: {kind: dry-run}}
`;

const children = new Set<ChildProcess>();

function startNode(args: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, [...process.execArgv, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.add(child);
  child.once('exit', () => children.delete(child));
  return child;
}

/** The first line of stdout that fits. */
function awaitLine(child: ChildProcess, pattern: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    if (child.stdout === null) throw new Error('a child without stdout');
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (pattern.test(line)) resolve(line);
    });
    child.once('exit', (code) => reject(new Error(`a child ended with ${code} before a line like ${pattern}`)));
  });
}

/** A child that was killed has not written all it was told to. */
const awaitOrderlyExit = (child: ChildProcess) =>
  new Promise<void>((resolve, reject) =>
    child.once('exit', (code, signal) =>
      code === 0 ? resolve() : reject(new Error(`the agent ended with ${code ?? signal} before it had written`)),
    ),
  );

/**
 * A child: runs the agent until it is told to write and end. The first writes the files of a start as one source `into`; the second
 * runs that source, so that V8 has compiled its functions, and writes the cache.
 */
function runAgent(config: string, into: string): void {
  const isFirst = !existsSync(into);
  const source = isFirst ? '' : readFileSync(into, 'latin1');
  const pack = isFirst ? undefined : compilePack(source);
  const loader = createFileLoader({
    directory: DIRECTORY,
    cached: pack?.runInThisContext() ?? {},
    requireOther: (id) => require(id),
  });
  process.once('SIGUSR2', () => {
    if (pack === undefined) writeFileSync(into, packFiles(DIRECTORY, loader.loadedNames()), 'latin1');
    else writeCodeCache(NEW_CACHE, { source, code: pack.createCachedData() });
    process.kill(process.pid, 'SIGTERM');
  });
  process.argv = [process.execPath, join(DIRECTORY, 'main.js'), 'run', '--config', config];
  loader.load(FIRST_FILE);
}

async function makeCache(work: string): Promise<void> {
  const main = join(DIRECTORY, 'main.js');
  const service = startNode([main, 'reference', '--account', `owner:${PASSWORD}:analyst`]);
  const { listening } = JSON.parse(await awaitLine(service, /listening/));
  const config = join(work, 'gridtide.yaml');
  writeFileSync(join(work, 'username'), 'owner\n');
  writeFileSync(join(work, 'password'), `${PASSWORD}\n`, { mode: 0o600 });
  writeFileSync(config, CONFIGURATION(listening, join(work, 'state')));
  rmSync(NEW_CACHE, { recursive: true, force: true });
  for (let life = 0; life < 2; life++) {
    const agent = startNode([__filename, config, join(work, 'source')]);
    const decided = awaitLine(agent, BY_SIGNAL).then(() => agent.kill('SIGUSR2'));
    await Promise.all([decided, awaitOrderlyExit(agent)]);
  }
  renameSync(NEW_CACHE, join(DIRECTORY, CODE_CACHE));
}

async function main(): Promise<void> {
  rmSync(join(DIRECTORY, CODE_CACHE), { recursive: true, force: true });
  const work = mkdtempSync(join(tmpdir(), 'code-cache-'));
  const limit = setTimeout(() => {
    console.error(`no code cache: no decision within ${LIMIT_MS / 1_000} s`);
    for (const child of children) child.kill('SIGKILL');
  }, LIMIT_MS);
  try {
    await makeCache(work);
  } catch (error) {
    console.error(`no code cache: ${error instanceof Error ? error.message : error}`);
    process.exitCode = 1;
  } finally {
    clearTimeout(limit);
    for (const child of children) child.kill('SIGTERM');
    rmSync(work, { recursive: true, force: true });
  }
}

const [config, into] = process.argv.slice(2);
if (config !== undefined && into !== undefined) runAgent(config, into);
else void main();
