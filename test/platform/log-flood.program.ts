/** Run by the log test as a process of its own: says "ready" on standard error, and after each word on its input talks to whoever still listens. */

import { createLogging } from '../../src/platform/pino-log.ts';

const LINES = 100_000;

function readMemoryBytes(): number {
  // What a collection found unused is given back beside it, by another thread; the next one waits for that.
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

const { log, flush } = await createLogging({ level: 'info' });
process.stdin.once('data', () => {
  const before = readMemoryBytes();
  for (let n = 0; n < LINES; n += 1) log('info', 'into the void', { n });
  process.stderr.write(`still here ${readMemoryBytes() - before}\n`);
  process.stdin.once('data', () => {
    log('info', 'the last word');
    flush();
    process.exitCode = 7;
    process.stdin.destroy();
  });
});
process.stderr.write('ready\n');
