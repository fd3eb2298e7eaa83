/**
 * The CO2 that plans save on recorded months, each figure beside its bar: without delay, with constants chosen without the judged month,
 * with late answers, in a week offline, after a change of level, under a tariff; and what plans cost. Recorded files are not part of the project.
 *
 * usage: scripts/bench value [--only PART,…] [--before COMMIT] FILE.csv.gz …
 */

import { days, formatCount, type Instant } from '../../src/domain/units.ts';
import type { BacktestFaultName } from '../../src/simulation/backtest/backtest-faults.ts';
import { getRowTime, SLOT, SLOTS_PER_DAY, TEACHING_DAYS } from '../../src/simulation/backtest/recorded-series.ts';
import type { BacktestResult, JobRecord } from '../../src/simulation/backtest/run-backtest.ts';
import { measurePlans, PLAN_SIZES } from './control/plan-times.ts';
import { parseOptions } from './shared/parse-options.ts';
import { createFaults, type Replay, type ReplayOptions, readRecord, replay, splice } from './value/replay.ts';
import { runCommit, runVariant, VARIANTS } from './value/variants.ts';

const PARTS = ['fresh', 'frozen', 'late', 'offline', 'shift', 'tariff', 'faults', 'cost', 'speed'] as const;
const USAGE = `usage: scripts/bench value [--only PART,…] [--before COMMIT] FILE.csv.gz …   (recorded months: time,moer,f1,…,f36)
parts: ${PARTS.join(', ')}`;
const { values: flags, positionals: files } = parseOptions({
  allowPositionals: true,
  options: { only: { type: 'string' }, before: { type: 'string' } },
});
const only = flags.only?.split(',') ?? PARTS;
if (files.length === 0 || !only.every((part) => (PARTS as readonly string[]).includes(part))) {
  console.error(USAGE);
  process.exit(2);
}

const LOADS = ['ev-overnight', 'ev-day', 'heat-pump'] as const;
type LoadName = (typeof LOADS)[number];
type Shares = Readonly<Record<LoadName, number>>;
const perLoad = (night: number, day: number, pump: number): Shares => ({
  'ev-overnight': night,
  'ev-day': day,
  'heat-pump': pump,
});
const MONTHS_28 = 245_376;
/** Of the fault long-outage: 7 days of it without an answer. */
const OUTAGE_CYCLE = days(14);

const record = await readRecord(files);
let missed = 0;
function row(what: string, value: string, bar: string, ok: boolean) {
  if (!ok) missed++;
  console.log(`${what.padEnd(52)} ${value.padStart(10)}  ${bar.padEnd(44)} ${ok ? 'ok' : 'MISSED'}`);
}
const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
const seen = new Map<string, Replay>();
/** Each only once, whatever parts need it. */
function run(policy: Parameters<typeof replay>[1], options: ReplayOptions = {}): Replay {
  const key = JSON.stringify([policy, options]);
  const known = seen.get(key) ?? replay(record, policy, options);
  seen.set(key, known);
  return known;
}
const resultOf = ({ results }: Pick<Replay, 'results'>, load: LoadName) => results.find((one) => one.load === load);
const shareOf = (from: Pick<Replay, 'results'>, load: LoadName) => resultOf(from, load)?.shareOfHindsight ?? 0;

/** Sums of what was saved and of what hindsight would have saved, over the months that count. */
function sumMonths(result: BacktestResult | undefined, counts: (month: string) => boolean) {
  let [saved, possible] = [0, 0];
  for (const { month, savedKg, shareOfHindsight } of result?.months ?? []) {
    if (!counts(month) || shareOfHindsight === 0) continue;
    saved += savedKg;
    possible += savedKg / shareOfHindsight;
  }
  return { saved, possible };
}

function measureFresh() {
  const rolling = run('plan-rolling');
  const profile = run('profile-only');
  const index = run('index-only');
  const bars = perLoad(0.875, 0.84, 0.76);
  const profileBars = perLoad(0.95, 0.95, 0.88);
  for (const load of LOADS) {
    for (const { month, shareOfHindsight } of resultOf(rolling, load)?.months ?? [])
      console.log(`  ${load} ${month}: ${percent(shareOfHindsight)} of hindsight`);
    const [fresh, alone, ranked] = [rolling, profile, index].map((from) => shareOf(from, load)) as [
      number,
      number,
      number,
    ];
    const { savedPercent = 0, savedAgainstTimerPercent = 0 } = resultOf(rolling, load) ?? {};
    console.log(
      `  ${load}: ${savedPercent.toFixed(1)} % less CO2 than at once, ${savedAgainstTimerPercent.toFixed(1)} % less than a timer`,
    );
    row(`${load}: no latency, of hindsight`, percent(fresh), `at least ${percent(bars[load])}`, fresh >= bars[load]);
    row(
      `${load}: profile only (${percent(alone)}), of the fresh result`,
      percent(alone / fresh),
      `at least ${percent(profileBars[load])}`,
      alone / fresh >= profileBars[load],
    );
    row(`${load}: index only, of the profile`, percent(ranked / alone), 'at least 95.0 %', ranked / alone >= 0.95);
    const most = resultOf(rolling, load)?.startsPerJob.most ?? 0;
    const limit = load === 'heat-pump' ? 6 : 4;
    row(`${load}: most starts in a job`, String(most), `at most ${limit}`, most <= limit);
  }
}

/** Each month is judged by the constants that served best on the other months. */
async function measureFrozen() {
  const trials: { readonly name: string; readonly results: readonly BacktestResult[] }[] = [];
  for (const [i, variant] of VARIANTS.entries()) {
    const { results } = await runVariant(variant, i, files);
    const name = variant?.to ?? 'as they are';
    trials.push({ name, results });
    console.log(`  ${name}: ${LOADS.map((load) => percent(shareOf({ results }, load))).join(', ')}`);
  }
  const meanShare = ({ results }: Pick<Replay, 'results'>, counts: (month: string) => boolean) =>
    LOADS.reduce((sum, load) => {
      const { saved, possible } = sumMonths(resultOf({ results }, load), counts);
      return sum + saved / possible;
    }, 0);
  // A month of the calendar with one or two jobs belongs to the file before or after it.
  const months = files.map((file) => /\d{4}-\d\d/.exec(file)?.[0] ?? file);
  const fileOf = (month: string) => months.findLastIndex((first) => first <= month);
  const totals = new Map(LOADS.map((load) => [load, { saved: 0, possible: 0 }]));
  months.forEach((month, i) => {
    const others = (one: string) => Math.max(0, fileOf(one)) !== i;
    const best = trials.reduce((a, b) => (meanShare(b, others) > meanShare(a, others) ? b : a));
    console.log(`  ${month}: constants of the others: ${best.name}`);
    for (const load of LOADS) {
      const { saved, possible } = sumMonths(resultOf(best, load), (one) => !others(one));
      const total = totals.get(load);
      if (total === undefined) continue;
      total.saved += saved;
      total.possible += possible;
    }
  });
  const bars = perLoad(0.875, 0.84, 0.76);
  for (const load of LOADS) {
    const { saved = 0, possible = 1 } = totals.get(load) ?? {};
    const share = saved / possible;
    row(`${load}: leave one month out`, percent(share), `at least ${percent(bars[load])}`, share >= bars[load]);
  }
}

function measureLate() {
  const onTime = run('profile-only');
  const cases: readonly (readonly [string, ReplayOptions, Shares | undefined])[] = [
    ['5 min late', { lateMinutes: 5 }, perLoad(0.854, 0.829, 0.743)],
    ['10 min late', { lateMinutes: 10 }, perLoad(0.842, 0.823, 0.719)],
    ['30 min late', { lateMinutes: 30 }, undefined],
    ['every half hour', { faults: ['sparse'] }, undefined],
  ];
  for (const [name, options, floors] of cases) {
    const late = run('plan-rolling', options);
    const alone = run('profile-only', options);
    for (const load of LOADS) {
      const share = shareOf(late, load);
      const profile = shareOf(alone, load);
      row(`${load}: ${name}`, percent(share), `profile of the same run: ${percent(profile)}`, share >= profile);
      const floor = floors?.[load] ?? shareOf(onTime, load);
      const bar = floors === undefined ? 'profile without delay' : 'before';
      row(`${load}: ${name}`, percent(share), `${bar}: ${percent(floor)}`, share >= floor);
    }
  }
}

function measureOffline() {
  const [fresh, outage] = [run('plan-rolling'), run('plan-rolling', { faults: ['long-outage'] })];
  const { isAnswered } = createFaults(record, { faults: ['long-outage'] });
  const isOffline = ({ from, by }: JobRecord) => {
    for (let at: number = from; at < by; at += SLOT) if (isAnswered(at as Instant)) return false;
    return true;
  };
  const same = new Map(fresh.jobs.map((job) => [`${job.load} ${job.from}`, job]));
  const ratioOf = (jobs: readonly JobRecord[]) => {
    let [saved, wanted] = [0, 0];
    for (const job of jobs) {
      const one = same.get(`${job.load} ${job.from}`);
      if (one === undefined) continue;
      saved += job.immediateKg - job.kg;
      wanted += one.immediateKg - one.kg;
    }
    return saved / wanted;
  };
  const bars = perLoad(0.92, 0.91, 0.82);
  const outageOf = ({ from }: JobRecord) =>
    Math.floor((from - getRowTime(record, 0) - days(TEACHING_DAYS)) / OUTAGE_CYCLE);
  for (const load of LOADS) {
    const jobs = outage.jobs.filter((job) => job.load === load && isOffline(job));
    const ratios = [...new Set(jobs.map(outageOf))].map((one) => ratioOf(jobs.filter((job) => outageOf(job) === one)));
    const share = ratioOf(jobs);
    row(
      `${load}: ${formatCount(jobs.length, 'job')} in a week offline, of fresh`,
      percent(share),
      `at least ${percent(bars[load])}`,
      share >= bars[load],
    );
    const spread = `${percent(Math.min(...ratios))} to ${percent(Math.max(...ratios))}`;
    console.log(`  ${load} by outage: ${spread} over ${formatCount(ratios.length, 'outage')}`);
  }
}

/** The rows of each stretch without a gap, from the first midnight of UTC on. */
function listStretches() {
  const stretches: { readonly from: number; readonly to: number }[] = [];
  for (let from = 0; from < record.rows; from = record.gapRows[from] ?? record.rows) {
    const to = record.gapRows[from] ?? record.rows;
    const slot = record.series.slots[from] ?? 0;
    stretches.push({ from: from + ((SLOTS_PER_DAY - (slot % SLOTS_PER_DAY)) % SLOTS_PER_DAY), to });
  }
  return stretches;
}

/** Two weeks of one season, then at once another one: the jobs of the first week after. */
function measureShift() {
  const stretches = listStretches();
  const before = 14 * SLOTS_PER_DAY;
  const sums = new Map(LOADS.map((load) => [load, { saved: 0, possible: 0, weeks: [] as number[] }]));
  for (const [i, first] of stretches.entries())
    for (const [j, second] of stretches.entries()) {
      if (i === j) continue;
      const from = second.from;
      const spliced = splice(record, { from: first.from, to: first.from + before }, { from, to: from + before });
      const [start, end] = [before, before + 7 * SLOTS_PER_DAY].map((at) => getRowTime(spliced, at));
      const { jobs } = replay(spliced, 'plan-rolling');
      for (const load of LOADS) {
        const sum = sums.get(load);
        if (sum === undefined || start === undefined || end === undefined) continue;
        let [saved, possible] = [0, 0];
        for (const job of jobs) {
          if (job.load !== load || job.from < start || job.from >= end) continue;
          saved += job.immediateKg - job.kg;
          possible += job.immediateKg - job.hindsightKg;
        }
        sum.saved += saved;
        sum.possible += possible;
        sum.weeks.push(saved / possible);
      }
    }
  const bars = perLoad(0, 0, 0.63);
  for (const load of LOADS) {
    const { saved = 0, possible = 1, weeks = [] } = sums.get(load) ?? {};
    const bar = bars[load] === 0 ? 'none' : `above ${percent(bars[load])}`;
    row(`${load}: first week of another season`, percent(saved / possible), bar, saved / possible >= bars[load]);
    const spread = `${percent(Math.min(...weeks))} to ${percent(Math.max(...weeks))}`;
    console.log(`  ${load} by change: ${spread} over ${formatCount(weeks.length, 'change')}`);
  }
}

function measureTariff() {
  const rolling = run('plan-rolling');
  const balanced = run('plan-rolling', { load: { objective: 'balanced', maxDearer: 0.02 } });
  const byPrice = run('plan-rolling', { load: { objective: 'price' } });
  for (const load of LOADS) {
    const [carbon, both, price] = [rolling, balanced, byPrice].map((from) => resultOf(from, load));
    const above = both?.bill?.abovePercent ?? Number.NaN;
    const givenUp = (carbon?.savedPercent ?? 0) - (both?.savedPercent ?? 0);
    const tell = (one: BacktestResult | undefined) =>
      `${one?.bill?.abovePercent.toFixed(2)} % above the cheapest, ${one?.savedPercent.toFixed(1)} % CO2 saved`;
    console.log(`  ${load}: carbon ${tell(carbon)}; price ${tell(price)}`);
    row(`${load}: balanced bill above the cheapest`, `${above.toFixed(2)} %`, 'at most 2 %', above <= 2);
    row(`${load}: CO2 saving given up for it`, `${givenUp.toFixed(2)}`, 'at most 3 points', givenUp <= 3);
  }
}

function measureFaults() {
  const cases: BacktestFaultName[][] = [[], ['outage'], ['long-outage'], ['late'], ['restart'], ['clock-jump']];
  for (const faults of cases) {
    const { results } = run('plan-rolling', faults.length === 0 ? {} : { faults });
    const name = faults[0] ?? 'no fault';
    const late = results.reduce((sum, { deadlines }) => sum + deadlines.missed, 0);
    const broken = results.reduce((sum, { violations }) => sum + violations, 0);
    row(`deadlines missed, ${name}`, String(late), '0', late === 0);
    row(`rules broken, ${name}`, String(broken), '0', broken === 0);
  }
}

async function measureCost() {
  const now = await runVariant(undefined, VARIANTS.length, files);
  const scale = MONTHS_28 / record.rows;
  const seconds = now.seconds * scale;
  row('28 months of three loads, scaled from these', `${seconds.toFixed(0)} s`, 'at most 120 s', seconds <= 120);
  if (flags.before === undefined) return console.log('  the commit before: give --before COMMIT');
  const before = await runCommit(flags.before, files);
  const ratio = now.seconds / before.seconds;
  row(`28 months, times those of ${flags.before}`, ratio.toFixed(2), 'at most 2', ratio <= 2);
}

function measureSpeed() {
  for (const [i, size] of PLAN_SIZES.entries()) {
    const [half, most] = measurePlans(size, i === 0 ? 2_000 : 100);
    const name = `a plan: ${size.slots} slots, ${size.need} needed, ${size.maxStarts} starts`;
    row(`${name}, p95`, `${most.toFixed(2)} ms`, `at most ${size.bar} ms; half ${half.toFixed(2)}`, most <= size.bar);
  }
}

console.log(`${formatCount(record.rows, 'slot')} of 5 minutes in ${formatCount(files.length, 'file')}`);
const measures: Readonly<Record<(typeof PARTS)[number], () => void | Promise<void>>> = {
  fresh: measureFresh,
  frozen: measureFrozen,
  late: measureLate,
  offline: measureOffline,
  shift: measureShift,
  tariff: measureTariff,
  faults: measureFaults,
  cost: measureCost,
  speed: measureSpeed,
};
for (const part of PARTS) {
  if (!only.includes(part)) continue;
  console.log(`\n${part}`);
  await measures[part]();
}
process.exitCode = missed === 0 ? 0 : 1;
