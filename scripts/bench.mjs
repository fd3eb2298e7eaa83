/** Builds the program and one bench into a directory of their own, so that several may run side by side, runs it and removes what they left. */

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import { buildPage, buildProgram } from './build.mjs';
import { ESM_PROGRAM } from './esm-program.mjs';

const [name, ...args] = process.argv.slice(2);
const root = resolve(import.meta.dirname, '..');
const makeDirectory = (under) => mkdtemp(join(under, `gridtide-bench-${name}-`));
const work = await makeDirectory(tmpdir());
// In memory, as systemd's /run is.
const runtime = await makeDirectory(existsSync('/dev/shm') ? '/dev/shm' : tmpdir());
try {
  process.exitCode = await run();
} finally {
  for (const directory of [work, runtime]) await rm(directory, { recursive: true, force: true });
}

async function run() {
  await buildProgram(join(work, 'dist'));
  await buildPage(join(work, 'dist'));
  // A folder of the bench's name holds its children: programs that it starts and measures.
  const children = await readdir(join(root, 'scripts/bench.d', name)).catch(() => []);
  const entryPoints = [
    `${name}.ts`,
    ...children.filter((file) => file.endsWith('.child.ts')).map((file) => join(name, file)),
  ];
  await build({
    ...ESM_PROGRAM,
    splitting: true,
    external: ['onoff'],
    entryPoints: entryPoints.map((file) => join(root, 'scripts/bench.d', file)),
    outbase: join(root, 'scripts/bench.d'),
    outdir: join(work, 'bench'),
    minifySyntax: true,
  });

  const child = spawn(process.execPath, [join(work, 'bench', `${name}.js`), ...args], {
    stdio: 'inherit',
    env: {
      ...process.env,
      GRIDTIDE_ROOT: root,
      GRIDTIDE_DIST: join(work, 'dist'),
      GRIDTIDE_BENCH: join(work, 'bench'),
      GRIDTIDE_WORK: work,
      GRIDTIDE_RUNTIME: runtime,
    },
  });
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
  return new Promise((done) => child.on('exit', (code) => done(code ?? 1)));
}
