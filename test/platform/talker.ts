/** Run by the log test as a process of its own: says "ready", and after a word on its input talks to whoever still listens. */

import { createLog } from '../../src/platform/log.ts';

const { log } = await createLog({ level: 'info' });
process.stdin.once('data', () => {
  for (let n = 0; n < 2_000; n += 1) log('info', 'into the void', { n });
  process.stderr.write('still here');
  process.exitCode = 7;
  process.stdin.destroy();
});
log('info', 'ready');
