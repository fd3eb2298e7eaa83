/** Builds the simulator into a directory of its own and runs it; with `--planted [NAME]` once for each planted defect, which it must find. */

import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { buildSimulator } from './build-simulator.mjs';

const ROOT = resolve(import.meta.dirname, '..');
/** Of processor time, for each planted defect. */
const PLANTED_MINUTES = '10';
/** A young generation that holds a simulated hour, and no other threads: they cost more processor time than they save. */
const NODE_FLAGS = ['--enable-source-maps', '--max-semi-space-size=64', '--single-threaded'];
const args = process.argv.slice(2);

const work = await mkdtemp(join(tmpdir(), 'gridtide-simulator-'));
let running;
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => running?.kill(signal));
try {
  process.exitCode = args[0] === '--planted' ? await runPlanted(args.slice(1)) : await run(args, [], 'inherit');
} finally {
  await rm(work, { recursive: true, force: true });
}

/** Resolves to the exit code; what it prints goes to `onText` where one is given. */
async function run(programArgs, patches, stdout, onText) {
  const program = join(work, 'simulate.mjs');
  await buildSimulator(program, patches);
  running = spawn(process.execPath, [...NODE_FLAGS, program, ...programArgs], {
    stdio: ['ignore', stdout, onText === undefined ? 'inherit' : 'pipe'],
  });
  for (const stream of onText === undefined ? [] : [running.stdout, running.stderr]) stream.on('data', onText);
  return new Promise((done) => running.on('exit', (code) => done(code ?? 1)));
}

async function runPlanted([only, ...rest]) {
  const planted = JSON.parse(await readFile(join(ROOT, 'test/simulator/planted.json'), 'utf8'));
  const names = Object.keys(planted).filter((name) => only === undefined || name.includes(only));
  if (names.length === 0)
    throw new Error(`no planted defect is called "${only}"; there are ${Object.keys(planted).join(', ')}`);
  let missed = 0;
  for (const name of names) {
    let text = '';
    const options = ['--minutes', PLANTED_MINUTES, '--house', '24', '--shrink', '0', ...rest];
    const code = await run(options, planted[name], 'pipe', (part) => (text += part));
    const found = /^seed (\d+) breaks "(.+?)" at .*$/m.exec(text);
    const effort = /(\S+) hours \(.*?, (\d+) hours a minute/.exec(text);
    const minutes = effort === null ? '?' : (Number(effort[1]) / Number(effort[2])).toFixed(1);
    if (found === null) missed += 1;
    const result = found === null ? `NOT FOUND (exit ${code})` : `found by "${found[2]}", seed ${found[1]}`;
    console.log(`${name}: ${result}, ${minutes} min of processor time`);
  }
  console.log(`${names.length - missed} of ${names.length} planted defects found`);
  return missed > 0 ? 1 : 0;
}
