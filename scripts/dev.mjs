/** Runs a command of gridtide from its sources and starts it again after each change: npm run dev -- demo --hours 3. */

import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { context } from 'esbuild';
import { BASE } from './build.mjs';

const ROOT = join(import.meta.dirname, '..');
const OUT = join(ROOT, '.cache', 'dev');

let child;
/** The command that runs, ended first by SIGTERM, as by systemd: loads go to their fail-safe levels. */
async function restart() {
  const previous = child;
  child = undefined;
  if (previous !== undefined && previous.exitCode === null && previous.signalCode === null) {
    const ended = new Promise((resolve) => previous.once('close', resolve));
    previous.kill('SIGTERM');
    await ended;
  }
  const started = spawn(process.execPath, ['--enable-source-maps', join(OUT, 'main.js'), ...process.argv.slice(2)], {
    stdio: 'inherit',
  });
  started.once('close', (code) => {
    if (child === started) console.error(`dev: ended with ${code}; waiting for a change`);
  });
  child = started;
}

let starting = Promise.resolve();
const bundler = await context({
  ...BASE,
  packages: 'external',
  sourcemap: true,
  outdir: OUT,
  logLevel: 'warning',
  plugins: [
    {
      name: 'restart',
      setup({ onEnd }) {
        onEnd(({ errors }) => {
          if (errors.length === 0) starting = starting.then(restart);
        });
      },
    },
  ],
});
await bundler.watch();
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, async () => {
    await bundler.dispose();
    // Ctrl-C reaches the child from the terminal; a second signal would end it in the middle of its stop.
    if (signal === 'SIGTERM') child?.kill(signal);
  });
