/**
 * The CO2 the plans really save on recorded months, beside the bars: share of perfect hindsight, what is left without a forecast
 * or with the index alone, rules broken under faults, and processor time. Recorded files are not part of the project.
 *
 * usage: scripts/bench value FILE.csv.gz …
 */

import { formatCount } from '../../src/domain/units.ts';
import { readSeries } from '../../src/reference/world/recorded-signal.ts';
import { type BacktestFaultName, combineBacktestFaults } from '../../src/simulation/backtest/backtest-faults.ts';
import { builtInLoads } from '../../src/simulation/backtest/backtest-loads.ts';
import { buildRecordedSeries, timeOfRow } from '../../src/simulation/backtest/recorded-series.ts';
import { type BacktestResult, type Policy, runBacktest } from '../../src/simulation/backtest/run-backtest.ts';

const files = process.argv.slice(2);
if (files.length === 0) {
  console.error('usage: scripts/bench value FILE.csv.gz …   (recorded months: time,moer,f1,…,f36)');
  process.exit(2);
}

const BARS: Readonly<Record<string, { readonly floor: number; readonly goal: number; readonly profile: number }>> = {
  'ev-overnight': { floor: 0.85, goal: 0.87, profile: 0.95 },
  'ev-day': { floor: 0.79, goal: 0.84, profile: 0.95 },
  'heat-pump': { floor: 0.68, goal: 0.76, profile: 0.88 },
};
const INDEX_OF_PROFILE = 0.95;
const MONTHS_28 = 245_376;
const CPU_BAR = 120;

const record = buildRecordedSeries(await readSeries(files));
let missed = 0;
const row = (what: string, value: string, bar: string, ok: boolean) => {
  if (!ok) missed++;
  console.log(`${what.padEnd(44)} ${value.padStart(10)}  ${bar.padEnd(28)} ${ok ? 'ok' : 'MISSED'}`);
};
const percent = (share: number) => `${(100 * share).toFixed(1)} %`;

function run(policy: Policy, faults: readonly BacktestFaultName[] = []) {
  const before = process.cpuUsage();
  const test = {
    record,
    loads: builtInLoads,
    timezone: 'America/Los_Angeles',
    range: {},
    faults: combineBacktestFaults(faults, timeOfRow(record, 0)),
  };
  const results = new Map(runBacktest(test, policy).map((result): [string, BacktestResult] => [result.load, result]));
  const { user, system } = process.cpuUsage(before);
  return { results, seconds: (user + system) / 1e6 };
}

console.log(`${formatCount(record.rows, 'slot')} of 5 minutes in ${formatCount(files.length, 'file')}`);
const rolling = run('plan-rolling');
const profile = run('profile-only');
const index = run('index-only');
for (const [load, bar] of Object.entries(BARS)) {
  const share = ({ results }: ReturnType<typeof run>) => results.get(load)?.shareOfHindsight ?? 0;
  const fresh = share(rolling);
  row(
    `${load}: rolling plan, of hindsight`,
    percent(fresh),
    `floor ${percent(bar.floor)}, goal ${percent(bar.goal)}`,
    fresh >= bar.floor,
  );
  const kept = share(profile) / fresh;
  row(
    `${load}: profile only, of the fresh result`,
    percent(kept),
    `at least ${percent(bar.profile)}`,
    kept >= bar.profile,
  );
  const alone = share(index) / share(profile);
  row(
    `${load}: index only, of the profile`,
    percent(alone),
    `at least ${percent(INDEX_OF_PROFILE)}`,
    alone >= INDEX_OF_PROFILE,
  );
}
const starts = [...rolling.results.values()].map(({ load, startsPerJob }) => ({ load, most: startsPerJob.most }));
for (const { load, most } of starts) {
  const bar = load === 'heat-pump' ? 6 : 4;
  row(`${load}: most starts in a job`, String(most), `at most ${bar}`, most <= bar);
}
for (const faults of [
  [],
  ['outage'],
  ['long-outage'],
  ['late'],
  ['restart'],
  ['clock-jump'],
] satisfies BacktestFaultName[][]) {
  const { results } = faults.length === 0 ? rolling : run('plan-rolling', faults);
  const broken = [...results.values()].reduce((sum, { violations }) => sum + violations, 0);
  row(`rules broken, ${faults[0] ?? 'no fault'}`, String(broken), '0', broken === 0);
}
const scaled = (rolling.seconds * MONTHS_28) / record.rows;
row('CPU of 28 months, scaled from these', `${scaled.toFixed(0)} s`, `at most ${CPU_BAR} s`, scaled <= CPU_BAR);
process.exitCode = missed === 0 ? 0 : 1;
