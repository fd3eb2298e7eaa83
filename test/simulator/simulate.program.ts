/** The simulator as a program: lives through houses by seed and prints what happened; a house that breaks an invariant is shrunk and printed. */

import { parseArgs } from 'node:util';
import { crashListeners, liveScenario } from './live-scenario.ts';
import { drawScenario } from './scenario.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    hours: { type: 'string' },
    minutes: { type: 'string' },
    house: { type: 'string', default: '96' },
    verbose: { type: 'boolean', default: false },
    'keep-going': { type: 'boolean', default: false },
  },
});

for (const event of ['unhandledRejection', 'uncaughtException'] as const)
  process.on(event, (error) => {
    if (crashListeners.size === 0) throw error;
    for (const listener of crashListeners) listener(error);
  });

const used = () => process.cpuUsage().user + process.cpuUsage().system;
const firstSeed = Number(values.seed);
const houseHours = Number(values.house);
const total =
  values.hours === undefined ? (values.minutes === undefined ? houseHours : Infinity) : Number(values.hours);
const budget = values.minutes === undefined ? Infinity : Number(values.minutes) * 60e6;

let hours = 0;
const sum: Record<string, number> = {};
const began = used();
const digests: string[] = [];
let failed = 0;
for (let seed = firstSeed; hours < total && used() - began < budget; seed += 1) {
  const length = Math.min(houseHours, total - hours);
  const onLine = values.verbose ? (line: string) => console.log(line) : undefined;
  const result = await liveScenario(drawScenario(seed, length), onLine);
  hours += length;
  digests.push(result.digest);
  for (const [name, n] of Object.entries(result.counts)) sum[name] = (sum[name] ?? 0) + n;
  for (const { invariant, at, text } of result.violations) {
    failed += 1;
    console.log(`seed ${seed}: ${invariant} at ${(at / 3_600_000).toFixed(3)} h: ${text}`);
  }
  if (failed > 0 && !values['keep-going']) {
    console.log(result.tail.slice(-30).join('\n'));
    break;
  }
}
console.log(
  Object.entries(sum)
    .sort()
    .map(([name, n]) => `${name} ${n}`)
    .join(', '),
);
if (digests.length < 5) console.log(digests.join(' '));
console.log(`${hours} h, ${Math.round(hours / ((used() - began) / 60e6))} h a CPU minute`);
process.exitCode = failed > 0 ? 1 : 0;
