/** Builds the simulator into a directory of its own, runs it and removes the directory. */

import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSimulator } from './build-simulator.mjs';

const work = await mkdtemp(join(tmpdir(), 'gridtide-simulator-'));
try {
  const program = join(work, 'simulate.mjs');
  await buildSimulator(program);
  const child = spawn(process.execPath, ['--enable-source-maps', program, ...process.argv.slice(2)], {
    stdio: 'inherit',
  });
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
  process.exitCode = await new Promise((done) => child.on('exit', (code) => done(code ?? 1)));
} finally {
  await rm(work, { recursive: true, force: true });
}
