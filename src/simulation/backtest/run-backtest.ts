/** Runs the unchanged control core over months of recorded history, one policy after the other, and measures the savings of each. */

import type { Site } from '../../control/control-types.ts';
import type { LoadConfig } from '../../domain/load-types.ts';
import { createTablePrices } from '../../domain/tariff.ts';
import { formatInstant, type Instant, type Kilowatt, minutes } from '../../domain/units.ts';
import type { Basis } from '../../signal/signal-view.ts';
import { countStarts, type FoundViolation, findBudgetViolations, findLoadViolations } from './audit.ts';
import type { BacktestFaults } from './backtest-faults.ts';
import { type BacktestJob, type JobRange, listJobs } from './backtest-loads.ts';
import {
  type Baseline,
  type Counterfactual,
  type CounterfactualWorld,
  computeCounterfactual,
  computeKilograms,
  type RunTotals,
  sumRuns,
} from './counterfactual.ts';
import { getRowTime, type RecordedSeries } from './recorded-series.ts';
import {
  type BacktestFeed,
  type BacktestFeedName,
  type BacktestTariff,
  createBacktestFeed,
  createPlanOnceFeed,
  withPrices,
} from './signal-feeds.ts';
import { type SimulatedTrack, simulateSites, startShortlyBefore } from './simulate.ts';

export const policies = [
  'immediate',
  'latest',
  'timer',
  'window',
  'threshold',
  'plan-once',
  'plan-rolling',
  'profile-only',
  'index-only',
  'hindsight',
] as const;
export type Policy = (typeof policies)[number];

/** Against the baseline of the backtest. */
interface Savings {
  readonly savedKg: number;
  readonly savedPercent: number;
  /** Ratio of summed savings against perfect hindsight under the same rules. */
  readonly shareOfHindsight: number;
}

/** One job of a policy, for the list of all jobs. */
export interface JobRecord {
  readonly load: string;
  readonly policy: Policy;
  readonly from: Instant;
  readonly by: Instant;
  readonly kg: number;
  readonly immediateKg: number;
  readonly timerKg: number;
  readonly hindsightKg: number;
  /** Absent for a policy that is computed without runs. */
  readonly runs: readonly { readonly from: Instant; readonly to: Instant }[];
}

/** What the jobs cost by the tariff. */
interface Bill {
  readonly currency: string;
  readonly paid: number;
  readonly immediate: number;
  readonly timer: number;
  /** The least that prices alone allow under the load's own rules. */
  readonly cheapest: number;
  readonly abovePercent: number;
}

export interface BacktestResult extends Savings {
  readonly load: string;
  readonly policy: Policy;
  readonly energyKwh: number;
  readonly kg: number;
  /** Against a plain timer set to the load's daily window. */
  readonly savedAgainstTimerPercent: number;
  readonly startsPerDay: number;
  readonly startsPerJob: { readonly mean: number; readonly most: number };
  readonly shortestOnMinutes?: number;
  readonly shortestOffMinutes?: number;
  readonly deadlines: { readonly met: number; readonly missed: number };
  readonly minutesByBasis: { readonly [Name in Basis]?: number };
  /** Kilograms above the best thinkable: what the load's rules cost, what not knowing cost, and what ran off the plan cost. */
  readonly regret: { readonly constraintsKg: number; readonly forecastKg: number; readonly executionKg: number };
  readonly worstDays: readonly { readonly from: string; readonly lostKg: number }[];
  readonly bill?: Bill;
  /** The savings of the jobs that begin in each month. */
  readonly months: readonly (Savings & { readonly month: string })[];
  readonly violations: number;
  readonly violationsByRule: Readonly<Record<string, number>>;
}

export interface BacktestOptions {
  readonly record: RecordedSeries;
  readonly loads: readonly LoadConfig[];
  readonly timezone: string;
  readonly budget?: Kilowatt;
  readonly tariff?: BacktestTariff;
  readonly range: JobRange;
  readonly faults: BacktestFaults;
  /** What savings are measured against; `immediate` when absent. */
  readonly baseline?: Baseline;
  readonly onJob?: (job: JobRecord) => void;
  /** A share of one policy's work, 0 to 1. */
  readonly onProgress?: (policy: Policy, share: number) => void;
}

/** One job as it was done. */
interface CompletedJob extends RunTotals {
  readonly job: BacktestJob;
  readonly bounds: Counterfactual;
  readonly starts: number;
}

const POLICY_FEEDS: { readonly [Name in Policy]?: BacktestFeedName } = {
  window: 'nothing',
  threshold: 'threshold',
  'plan-once': 'forecast',
  'plan-rolling': 'forecast',
  'profile-only': 'profile',
  'index-only': 'index',
};

/** A job short of its need by less than this is met. */
const NEED_TOLERANCE = 1_000;
const WORST_DAYS = 5;

const listAllJobs = ({ loads, timezone, record, range }: BacktestOptions) =>
  loads.map((load) => listJobs(load, timezone, record, range));

/** All results of one policy, a load each. Loads of a site are driven together, except that each has its own single plan. */
export function runBacktest(test: BacktestOptions, policy: Policy): readonly BacktestResult[] {
  const jobs = listAllJobs(test);
  const feed = POLICY_FEEDS[policy];
  if (feed === undefined)
    return test.loads.map((load, i) => {
      const done = computeBaselines(test, load, jobs[i] ?? [], policy);
      reportJobs(test, { load, policy, runs: [] }, done);
      return buildBacktestResult(test, load, policy, done);
    });
  return measurePolicy(test, policy, jobs, simulatePolicy(test, policy, feed, jobs));
}

/**
 * A trial plans each half hour, an agent after each forecast: a sixth of the plans. On the last 14 days of three recorded months the proposals
 * for the built-in loads were the same, and the kilograms of a job within 8 %.
 */
const TRIAL_PLAN_INTERVAL = minutes(30);

export interface TrialOptions extends Pick<BacktestOptions, 'record' | 'timezone' | 'faults'> {
  /** Alone in its house. */
  readonly trials: readonly { readonly load: LoadConfig; readonly range: JobRange }[];
  /** A share of the work, 0 to 1. */
  readonly onProgress?: (share: number) => void;
}

/** What rolling plans did in one trial. */
interface TrialResult extends Pick<BacktestResult, 'kg' | 'deadlines'> {
  readonly starts: number;
}

/** The result of each trial, all in one pass over the record. */
export function runTrials({ trials, onProgress, ...shared }: TrialOptions): readonly TrialResult[] {
  const { record, faults } = shared;
  const tests = trials.map(({ load, range }) => ({ ...shared, loads: [load], range }));
  const jobs = tests.map(listAllJobs);
  const tracks = simulateSites({
    sites: tests.map((test, i) =>
      startShortlyBefore(buildBacktestSite(test, test.loads), findFirstStart(jobs[i] ?? [])),
    ),
    record,
    feed: createBacktestFeed('forecast', record, TRIAL_PLAN_INTERVAL),
    faults,
    onProgress: (rows) => onProgress?.(rows / record.rows),
  });
  return trials.map(({ load }, i) => measureTrial(shared, load, jobs[i]?.[0] ?? [], tracks[i]?.[0]));
}

function measureTrial(
  { record, timezone }: Pick<TrialOptions, 'record' | 'timezone'>,
  load: LoadConfig,
  jobs: readonly BacktestJob[],
  track: SimulatedTrack | undefined,
): TrialResult {
  if (track === undefined) throw new Error(`load ${load.name} was not driven`);
  const cursor = { at: 0 };
  const totals = jobs.map((job) => ({ job, ...sumRuns(job, track.runSpans, { record, timezone }, cursor) }));
  const met = totals.filter(isJobMet).length;
  return {
    kg: computeKilograms(
      load,
      sumBy(totals, ({ weight }) => weight),
    ),
    deadlines: { met, missed: jobs.length - met },
    starts: sumBy(jobs, (job) => countStarts(job, track, getRowTime(record, 0))),
  };
}

function measurePolicy(
  test: BacktestOptions,
  policy: Policy,
  jobs: readonly (readonly BacktestJob[])[],
  tracks: readonly SimulatedTrack[],
): readonly BacktestResult[] {
  const world = buildCounterfactualWorld(test);
  const site = buildBacktestSite(test, test.loads);
  const origin = getRowTime(test.record, 0);
  const budgetViolations = findBudgetViolations(site, tracks);
  return test.loads.map((load, i) => {
    const track = tracks[i];
    if (track === undefined) throw new Error(`load ${load.name} was not driven`);
    const cursor = { at: 0 };
    const done = (jobs[i] ?? []).map((job) => ({
      job,
      bounds: computeCounterfactual(load, job, world),
      ...sumRuns(job, track.runSpans, world, cursor),
      starts: countStarts(job, track, origin),
    }));
    reportJobs(test, { load, policy, runs: track.runSpans }, done);
    const violations = [
      ...findLoadViolations(load, track, origin),
      ...findJobViolations(load, done),
      ...(i === 0 ? budgetViolations : []),
    ];
    return buildBacktestResult(test, load, policy, done, { track, found: violations });
  });
}

const buildCounterfactualWorld = ({ record, timezone, tariff }: BacktestOptions): CounterfactualWorld => ({
  record,
  timezone,
  ...(tariff === undefined ? {} : { pricesAt: createTablePrices(tariff, timezone) }),
});

const buildBacktestSite = ({ timezone, budget }: BacktestOptions, loads: readonly LoadConfig[]): Site => ({
  device: 'backtest',
  timezone,
  ...(budget === undefined ? {} : { budget }),
  loads,
});

const findFirstStart = (jobs: readonly (readonly BacktestJob[])[]) =>
  jobs.flatMap(([job]) => job ?? []).reduce((least, { from }) => Math.min(least, from), Infinity) as Instant;

function simulatePolicy(
  test: BacktestOptions,
  policy: Policy,
  name: BacktestFeedName,
  jobs: readonly (readonly BacktestJob[])[],
): readonly SimulatedTrack[] {
  const { record, faults, onProgress, tariff, timezone } = test;
  const createFeed = () => withPrices(createBacktestFeed(name, record), tariff, timezone);
  const measureFrom = findFirstStart(jobs);
  const simulateLoads = (loads: readonly LoadConfig[], feed: BacktestFeed, part: number) =>
    simulateSites({
      sites: [{ site: buildBacktestSite(test, loads), measureFrom }],
      record,
      feed,
      faults,
      onProgress: (rows) => onProgress?.(policy, part * (rows / record.rows)),
    }).flat();
  if (policy !== 'plan-once') return simulateLoads(test.loads, createFeed(), 1);
  return test.loads.flatMap((load, i) => {
    const starts = (jobs[i] ?? []).map(({ from }) => from);
    return simulateLoads([load], createPlanOnceFeed(createFeed(), starts), 1 / test.loads.length);
  });
}

/** The policies that need no core: they are what it is measured against. */
function computeBaselines(
  test: BacktestOptions,
  load: LoadConfig,
  jobs: readonly BacktestJob[],
  policy: Policy,
): readonly CompletedJob[] {
  const world = buildCounterfactualWorld(test);
  return jobs.map((job) => {
    const bounds = computeCounterfactual(load, job, world);
    const way = policy === 'latest' || policy === 'timer' || policy === 'hindsight' ? policy : 'immediate';
    const weight = bounds[way];
    const bill = bounds.bills?.[way] ?? 0;
    const starts = policy === 'hindsight' ? bounds.hindsightStarts : 1;
    return { job, bounds, time: job.need, weight, bill, unplannedTime: 0, unplannedWeight: 0, starts };
  });
}

const isJobMet = ({ time, job }: Pick<CompletedJob, 'time' | 'job'>) => time >= job.need - NEED_TOLERANCE;

function findJobViolations(load: LoadConfig, done: readonly CompletedJob[]): readonly FoundViolation[] {
  const most = (load.maxInterruptions ?? Number.POSITIVE_INFINITY) + 1;
  const listJobsThat = (rule: FoundViolation['rule'], breaks: (one: CompletedJob) => boolean) =>
    done.filter(breaks).map(({ job }) => ({ rule, load: load.name, at: job.from }));
  return [
    ...listJobsThat('deadline', (one) => !isJobMet(one)),
    ...listJobsThat('starts-a-job', ({ starts }) => starts > most),
  ];
}

/** Shortest time between a change and the next opposite one, in minutes. */
function findShortestMinutes({ transitions }: SimulatedTrack, on: boolean): number | undefined {
  const lengths = transitions.slice(1).flatMap((edge, i) => {
    const before = transitions[i];
    return before !== undefined && before.on === on && edge.on !== on ? [(edge.at - before.at) / 60_000] : [];
  });
  return lengths.length === 0 ? undefined : lengths.reduce((a, b) => Math.min(a, b));
}

const sumBy = <Item>(items: readonly Item[], value: (item: Item) => number) =>
  items.reduce((sum, item) => sum + value(item), 0);

/** The savings against a baseline: a job that ran longer or shorter is compared with as much of it. */
function computeSavings(load: LoadConfig, done: readonly CompletedJob[], baseline: Baseline): Savings {
  const sum = (weightOf: (one: CompletedJob) => number) => computeKilograms(load, sumBy(done, weightOf));
  const baselineKg = sum(({ bounds, time, job }) => (bounds[baseline] * time) / job.need);
  const possibleKg = sum(({ bounds, time, job }) => ((bounds[baseline] - bounds.hindsight) * time) / job.need);
  const savedKg = baselineKg - sum(({ weight }) => weight);
  return {
    savedKg,
    savedPercent: baselineKg === 0 ? 0 : (100 * savedKg) / baselineKg,
    shareOfHindsight: possibleKg === 0 ? 0 : savedKg / possibleKg,
  };
}

/** The counterfactuals of as much energy as each job drew. */
function computeBill(load: LoadConfig, done: readonly CompletedJob[], currency: string): Bill {
  const sum = (way: 'immediate' | 'timer' | 'cheapest') =>
    load.powerKw * sumBy(done, ({ bounds, time, job }) => ((bounds.bills?.[way] ?? 0) * time) / job.need);
  const paid = load.powerKw * sumBy(done, ({ bill }) => bill);
  const cheapest = sum('cheapest');
  const abovePercent = cheapest === 0 ? 0 : (100 * (paid - cheapest)) / Math.abs(cheapest);
  return { currency, paid, immediate: sum('immediate'), timer: sum('timer'), cheapest, abovePercent };
}

function listMonths(load: LoadConfig, done: readonly CompletedJob[], baseline: Baseline): BacktestResult['months'] {
  const monthOf = ({ job }: CompletedJob) => formatInstant(job.from).slice(0, 7);
  return [...new Set(done.map(monthOf))].map((month) => ({
    month,
    ...computeSavings(
      load,
      done.filter((one) => monthOf(one) === month),
      baseline,
    ),
  }));
}

function reportJobs(
  { onJob }: BacktestOptions,
  { load, policy, runs }: Pick<JobRecord, 'policy' | 'runs'> & { readonly load: LoadConfig },
  done: readonly CompletedJob[],
): void {
  if (onJob === undefined) return;
  for (const { job, weight, bounds } of done)
    onJob({
      load: load.name,
      policy,
      from: job.from,
      by: job.by,
      kg: computeKilograms(load, weight),
      immediateKg: computeKilograms(load, bounds.immediate),
      timerKg: computeKilograms(load, bounds.timer),
      hindsightKg: computeKilograms(load, bounds.hindsight),
      runs: runs
        .filter(({ from, to }) => to > job.from && from < job.by)
        .map(({ from, to }) => ({
          from: Math.max(from, job.from) as Instant,
          to: Math.min(to, job.by) as Instant,
        })),
    });
}

function computeRegret(load: LoadConfig, done: readonly CompletedJob[]): BacktestResult['regret'] {
  const kg = (weight: (one: CompletedJob) => number) => computeKilograms(load, sumBy(done, weight));
  const executionKg = kg((one) => one.unplannedWeight - (one.bounds.hindsight * one.unplannedTime) / one.job.need);
  return {
    constraintsKg: kg(({ bounds }) => bounds.hindsight - bounds.unconstrained),
    forecastKg: kg(({ weight, bounds, time, job }) => weight - (bounds.hindsight * time) / job.need) - executionKg,
    executionKg,
  };
}

function buildBacktestResult(
  { baseline = 'immediate', tariff }: BacktestOptions,
  load: LoadConfig,
  policy: Policy,
  done: readonly CompletedJob[],
  simulated?: { readonly track: SimulatedTrack; readonly found: readonly FoundViolation[] },
): BacktestResult {
  const span = done.length === 0 ? 1 : sumBy(done, ({ job }) => Math.max(job.by - job.from, 86_400_000)) / 86_400_000;
  const shortestOn = simulated && findShortestMinutes(simulated.track, true);
  const shortestOff = simulated && findShortestMinutes(simulated.track, false);
  const met = done.filter(isJobMet).length;
  const starts = sumBy(done, (one) => one.starts);
  const violations = simulated?.found ?? [];
  return {
    load: load.name,
    policy,
    energyKwh: (load.powerKw * sumBy(done, ({ time }) => time)) / 3_600_000,
    kg: computeKilograms(
      load,
      sumBy(done, ({ weight }) => weight),
    ),
    ...computeSavings(load, done, baseline),
    savedAgainstTimerPercent: computeSavings(load, done, 'timer').savedPercent,
    ...(tariff === undefined ? {} : { bill: computeBill(load, done, tariff.currency) }),
    months: listMonths(load, done, baseline),
    startsPerDay: starts / span,
    startsPerJob: {
      mean: starts / Math.max(1, done.length),
      most: done.reduce((most, one) => Math.max(most, one.starts), 0),
    },
    ...(shortestOn === undefined ? {} : { shortestOnMinutes: shortestOn }),
    ...(shortestOff === undefined ? {} : { shortestOffMinutes: shortestOff }),
    deadlines: { met, missed: done.length - met },
    minutesByBasis: simulated?.track.minutesByBasis ?? {},
    regret: computeRegret(load, done),
    worstDays: findWorstDays(load, done),
    violations: violations.length,
    violationsByRule: countByName(violations.map(({ rule }) => rule)),
  };
}

function findWorstDays(load: LoadConfig, done: readonly CompletedJob[]): BacktestResult['worstDays'] {
  return done
    .map(({ job, weight, bounds }) => ({ from: job.from, lostKg: computeKilograms(load, weight - bounds.hindsight) }))
    .sort((a, b) => b.lostKg - a.lostKg)
    .slice(0, WORST_DAYS)
    .map(({ from, lostKg }) => ({ from: formatInstant(from), lostKg }));
}

function countByName(names: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
