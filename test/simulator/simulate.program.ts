/** The simulator as a program: lives through houses by seed and prints what happened; a house that breaks an invariant is shrunk and printed as a day. */

import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { incidentKinds } from './incidents.ts';
import { crashListeners, liveScenario, type ScenarioResult } from './live-scenario.ts';
import { drawScenario, type Scenario } from './scenario.ts';
import { formatScenarioDay, parseScenarioDay } from './scenario-day.ts';
import { shrinkScenario } from './shrink.ts';

const OPTIONS = {
  /** Of the first house. */
  seed: { type: 'string', default: '1' },
  /** Simulated, of all houses together. */
  hours: { type: 'string' },
  /** Of processor time. */
  minutes: { type: 'string' },
  /** Simulated hours of one house. */
  house: { type: 'string', default: '96' },
  /** Measures the live heap of one quiet house over so many days instead. */
  memory: { type: 'string' },
  /** A day to live through again. */
  replay: { type: 'string' },
  /** Minutes of processor time for making a find short. */
  shrink: { type: 'string', default: '3' },
  /** Goes on after a house that breaks an invariant. */
  all: { type: 'boolean', default: false },
  verbose: { type: 'boolean', default: false },
} as const;

const { values } = readOptions();

function readOptions() {
  try {
    const read = parseArgs({ options: OPTIONS });
    const { seed, hours, minutes, house, memory, shrink } = read.values;
    for (const [name, text] of Object.entries({ seed, hours, minutes, house, memory, shrink }))
      if (text !== undefined && !/^\d+(\.\d+)?$/.test(text))
        throw new TypeError(`--${name} ${text}: expected a number`);
    return read;
  } catch (error) {
    console.error(`scripts/simulate: ${error instanceof Error ? error.message : error}`);
    process.exit(2);
  }
}

const MINUTE = 60e6;
const measureUse = () => process.cpuUsage().user + process.cpuUsage().system;
const print = (line: string): void => console.log(line);
const onLine = values.verbose ? print : undefined;

for (const event of ['unhandledRejection', 'uncaughtException'] as const)
  process.on(event, (error) => {
    if (crashListeners.size === 0) throw error;
    for (const listener of crashListeners) listener(error);
  });

async function report(scenario: Scenario, { violations }: ScenarioResult): Promise<void> {
  for (const { invariant, at, text } of violations)
    print(`seed ${scenario.seed} breaks "${invariant}" at ${(at / 3_600_000).toFixed(3)} h: ${text}`);
  const [first] = violations;
  const began = measureUse();
  const limit = Number(values.shrink) * MINUTE;
  if (first === undefined || limit === 0) return;
  const short = await shrinkScenario(scenario, { ...first, isTimeLeft: () => measureUse() - began < limit });
  const again = await liveScenario(short);
  const title = again.violations[0]?.text ?? first.text;
  print(formatScenarioDay(`${first.invariant}: ${title}`, short, again.tail));
}

function printCounts(total: Readonly<Record<string, number>>): void {
  const groups = new Map<string, string[]>();
  for (const [name, n] of Object.entries(total).sort()) {
    const [group = '', ...rest] = name.split(' ');
    groups.set(group, [...(groups.get(group) ?? []), `${rest.join(' ')} ${n}`.trim()]);
  }
  for (const [group, rows] of groups) print(`${group}: ${rows.join(', ')}`);
  const missing = incidentKinds.filter((kind) => total[`incident ${kind}`] === undefined);
  if (missing.length > 0) print(`never happened: ${missing.join(', ')}`);
}

async function replay(path: string): Promise<number> {
  const scenario = parseScenarioDay(readFileSync(path, 'utf8'));
  const { violations, digest } = await liveScenario(scenario, { onLine });
  for (const { invariant, text } of violations) print(`${invariant}: ${text}`);
  print(`digest ${digest}`);
  return violations.length;
}

async function simulate(): Promise<number> {
  const houseHours = Number(values.house);
  const isByTime = values.hours === undefined && values.minutes !== undefined;
  const totalHours = isByTime ? Number.POSITIVE_INFINITY : Number(values.hours ?? houseHours);
  const limit = Number(values.minutes ?? Number.POSITIVE_INFINITY) * MINUTE;
  const total: Record<string, number> = {};
  const began = measureUse();
  let hours = 0;
  let broken = 0;
  let digest = '';
  for (let seed = Number(values.seed); hours < totalHours && measureUse() - began < limit; seed += 1) {
    const scenario = drawScenario(seed, Math.min(houseHours, totalHours - hours));
    const result = await liveScenario(scenario, { onLine });
    hours += scenario.hours;
    digest = result.digest.slice(0, 8) + digest.slice(0, 56);
    for (const [name, n] of Object.entries(result.counts)) total[name] = (total[name] ?? 0) + n;
    if (result.violations.length === 0) continue;
    broken += 1;
    await report(scenario, result);
    if (!values.all) break;
  }
  printCounts(total);
  print(`digest ${digest}`);
  if (broken === 0 && (total.switches ?? 0) * 20 < hours) {
    print('too little happened: fewer than one switch in 20 hours');
    broken = 1;
  }
  const speed = hours / ((measureUse() - began) / MINUTE);
  console.error(
    `${hours} hours (${(hours / 8_766).toFixed(3)} years), ${Math.round(speed)} hours a minute of processor time`,
  );
  return broken;
}

/** The live heap may grow by this a day, from the second week on. */
const MOST_GROWTH = 0.1e6;
const WEEK = 7;

/** Live heap after two collections at the end of each week; the number of weeks in which it grew too much, of the house as a whole. */
async function measureMemory(days: number): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const samples: { readonly day: number; readonly heap: number }[] = [];
  const quiet: Scenario = { ...drawScenario(Number(values.seed), days * 24), plan: 'pro', incidents: [] };
  const onDay = (day: number): void => {
    if (day % WEEK !== days % WEEK) return;
    collect();
    collect();
    samples.push({ day, heap: process.memoryUsage().heapUsed });
  };
  const { violations, tail } = await liveScenario(quiet, { onLine, onDay });
  for (const { invariant, text } of violations) print(formatScenarioDay(`${invariant}: ${text}`, quiet, tail));
  for (const { day, heap } of samples) print(`day ${day}: ${(heap / 1e6).toFixed(2)} MB of live heap`);
  const [first, last] = [samples.find(({ day }) => day >= WEEK), samples.at(-1)];
  if (first === undefined || last === undefined || last === first) throw new Error('--memory needs at least 15 days');
  const growth = (last.heap - first.heap) / (last.day - first.day);
  const verdict = growth <= MOST_GROWTH ? 'ok' : 'MISSED';
  print(
    `${(growth / 1e6).toFixed(3)} MB a day from day ${first.day} to ${last.day}; at most ${MOST_GROWTH / 1e6}: ${verdict}`,
  );
  return violations.length + (growth <= MOST_GROWTH ? 0 : 1);
}

async function run(): Promise<number> {
  if (values.replay !== undefined) return replay(values.replay);
  return values.memory === undefined ? simulate() : measureMemory(Number(values.memory));
}

process.exitCode = (await run()) > 0 ? 1 : 0;
