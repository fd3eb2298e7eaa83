/** Takes each guard of the control core out, one at a time, in a copy, and checks that a test notices. Exits 1 when one goes unnoticed. */

import { spawn } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');

/** By the name of a file, each of which is unique in src: what is taken out, its text, and what stands there instead; nothing where that is missing. */
const mutations = JSON.parse(await readFile(join(root, 'test/control/mutations.json'), 'utf8'));

const sources = await readdir(join(root, 'src'), { recursive: true });

const work = await mkdtemp(join(tmpdir(), 'gridtide-mutations-'));
for (const name of ['src', 'test', 'package.json', 'tsconfig.json', 'vitest.config.ts'])
  await cp(join(root, name), join(work, name), { recursive: true });
await symlink(join(root, 'node_modules'), join(work, 'node_modules'));

/** Tables and days in seconds; what they let pass, the searches look at. */
const SEARCHES = ['test/control/invariants.test.ts', 'test/control/exhaustive.test.ts'];
/** Only says that the table fits the source: it would notice every one. */
const TABLE = 'test/control/mutations.test.ts';
const without = [...SEARCHES, TABLE].flatMap((file) => ['--exclude', file]);
const stages = [['test/control', 'test/days', ...without], SEARCHES];

function passesStage(args) {
  const command = ['-n', '10', process.execPath, 'node_modules/vitest/vitest.mjs', 'run', '--bail=1', ...args];
  const env = { GRIDTIDE_SEED: '20260301', ...process.env, GRIDTIDE_RUNS: '150', GRIDTIDE_SHRINK: 'no' };
  const child = spawn('nice', command, { cwd: work, stdio: 'ignore', env });
  return new Promise((done) => child.on('exit', (code) => done(code === 0)));
}

async function passes() {
  for (const stage of stages) if (!(await passesStage(stage))) return false;
  return true;
}

/** The file with and without one guard; throws when the text to take out is not there exactly once. */
async function mutant(file, [name, text, instead = '']) {
  const path = join(work, 'src', sources.find((source) => basename(source) === file) ?? file);
  const whole = await readFile(path, 'utf8');
  const parts = whole.split(text);
  if (parts.length !== 2) throw new Error(`${file} holds ${parts.length - 1} times: ${text}`);
  return { name, path, whole, without: parts.join(instead) };
}

const only = process.argv[2];
const unnoticed = [];
let chosen = [];
try {
  const rows = Object.entries(mutations).flatMap(([file, of]) => of.map((row) => mutant(file, row)));
  chosen = (await Promise.all(rows)).filter(({ name }) => only === undefined || name.includes(only));
  if (only === undefined && !(await passes())) throw new Error('the tests fail before anything is taken out');
  for (const { name, path, whole, without } of chosen) {
    await writeFile(path, without);
    const noticed = !(await passes());
    await writeFile(path, whole);
    console.log(`${noticed ? 'noticed  ' : 'UNNOTICED'} ${name}`);
    if (!noticed) unnoticed.push(name);
  }
} finally {
  await rm(work, { recursive: true, force: true });
}
if (unnoticed.length > 0) {
  console.log(`${unnoticed.length} of ${chosen.length} taken out and not noticed: ${unnoticed.join(', ')}`);
  process.exitCode = 1;
} else console.log(`each of the ${chosen.length} guards taken out makes a test fail`);
