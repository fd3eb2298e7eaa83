/** Loaded before the agent: prints its loop lag since the last time, in milliseconds, at each SIGUSR2. */

import { monitorEventLoopDelay } from 'node:perf_hooks';

const RESOLUTION_MS = 5;
const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
delay.enable();
let count = 0;
process.on('SIGUSR2', () => {
  const [mean, p99] = [delay.mean / 1e6 - RESOLUTION_MS, delay.percentile(99) / 1e6 - RESOLUTION_MS];
  console.log(`lag ${++count} ${JSON.stringify({ mean, p99 })}`);
  delay.reset();
});
