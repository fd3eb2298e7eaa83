/** Months in seconds: drives the unchanged core over a recorded history, one policy after the other, and measures what each saved. */

import type { LoadConfig } from '../config/config.ts';
import type { Site } from '../control/control.ts';
import type { Basis } from '../signal/view.ts';
import { type Instant, iso, type Kilowatt } from '../units.ts';
import { breaches, type Found, overBudget, startsOf } from './backtest/audit.ts';
import { drive, type Track } from './backtest/drive.ts';
import type { Faults } from './backtest/faults.ts';
import { type Feed, type FeedName, feedOf, planOnce } from './backtest/feeds.ts';
import { type Job, jobsOf, type Range } from './backtest/loads.ts';
import { type Bounds, boundsOf, kilograms, ranIn } from './backtest/price.ts';
import { type Record, timeOf } from './backtest/record.ts';

export const policies = [
  'immediate',
  'latest',
  'window',
  'threshold',
  'plan-once',
  'plan-rolling',
  'profile-only',
  'index-only',
  'hindsight',
] as const;
export type Policy = (typeof policies)[number];

export interface Result {
  readonly load: string;
  readonly policy: Policy;
  readonly energyKwh: number;
  readonly kg: number;
  readonly savedKg: number;
  readonly savedPercent: number;
  /** Ratio of summed savings against perfect hindsight under the same rules. */
  readonly shareOfHindsight: number;
  readonly startsPerDay: number;
  readonly startsPerJob: { readonly mean: number; readonly most: number };
  readonly shortestOnMinutes?: number;
  readonly shortestOffMinutes?: number;
  readonly deadlines: { readonly met: number; readonly missed: number };
  readonly minutesByBasis: { readonly [Name in Basis]?: number };
  /** Kilograms above the best thinkable: what the load's rules cost, what not knowing cost, and what ran off the plan cost. */
  readonly regret: { readonly constraintsKg: number; readonly forecastKg: number; readonly executionKg: number };
  readonly worstDays: readonly { readonly from: string; readonly lostKg: number }[];
  readonly violations: number;
  readonly violationsByRule: Readonly<globalThis.Record<string, number>>;
}

export interface Backtest {
  readonly record: Record;
  readonly loads: readonly LoadConfig[];
  readonly timezone: string;
  readonly budget?: Kilowatt;
  readonly range: Range;
  readonly faults: Faults;
  /** A share of one policy's work, 0 to 1. */
  readonly progress?: (policy: Policy, share: number) => void;
}

/** One job as it was done. */
interface Done {
  readonly job: Job;
  readonly bounds: Bounds;
  readonly time: number;
  readonly weight: number;
  readonly unplannedTime: number;
  readonly unplannedWeight: number;
  readonly starts: number;
}

const FEEDS: { readonly [Name in Policy]?: FeedName } = {
  window: 'nothing',
  threshold: 'threshold',
  'plan-once': 'forecast',
  'plan-rolling': 'forecast',
  'profile-only': 'profile',
  'index-only': 'index',
};

/** A job short of its need by less than this is met. */
const SECOND = 1_000;
const WORST_DAYS = 5;

/** All results of one policy, a load each. Loads of a site are driven together, except that each has its own single plan. */
export function backtest(test: Backtest, policy: Policy): readonly Result[] {
  const jobs = test.loads.map((load) => jobsOf(load, test.timezone, test.record, test.range));
  const feed = FEEDS[policy];
  if (feed === undefined)
    return test.loads.map((load, i) =>
      resultOf(load, policy, arithmetic(test, load, jobs[i] ?? [], policy), undefined),
    );
  const tracks = tracksOf(test, policy, feed, jobs);
  const site = siteOf(test, test.loads);
  const origin = timeOf(test.record, 0);
  const over = overBudget(site, tracks);
  return test.loads.map((load, i) => {
    const track = tracks[i];
    if (track === undefined) throw new Error(`load ${load.name} was not driven`);
    const cursor = { at: 0 };
    const done = (jobs[i] ?? []).map((job) => ({
      job,
      bounds: boundsOf(load, job, test.record),
      ...ranIn(job, track.stretches, test.record, cursor),
      starts: startsOf(job, track, origin),
    }));
    const found = [...breaches(load, track, origin), ...jobBreaches(load, done), ...(i === 0 ? over : [])];
    return resultOf(load, policy, done, { track, found });
  });
}

const siteOf = ({ timezone, budget }: Backtest, loads: readonly LoadConfig[]): Site => ({
  device: 'backtest',
  timezone,
  ...(budget === undefined ? {} : { budget }),
  loads,
});

function tracksOf(test: Backtest, policy: Policy, name: FeedName, jobs: readonly (readonly Job[])[]): readonly Track[] {
  const { record, faults, progress } = test;
  const first = jobs.flatMap(([job]) => job ?? []).reduce((least, { from }) => Math.min(least, from), Infinity);
  const run = (loads: readonly LoadConfig[], feed: Feed, part: number) =>
    drive({
      site: siteOf(test, loads),
      record,
      feed,
      faults,
      measured: first as Instant,
      ...(progress === undefined ? {} : { progress: (rows: number) => progress(policy, part * (rows / record.rows)) }),
    });
  if (policy !== 'plan-once') return run(test.loads, feedOf(name, record), 1);
  return test.loads.flatMap((load, i) => {
    const starts = (jobs[i] ?? []).map(({ from }) => from);
    return run([load], planOnce(feedOf(name, record), starts), 1 / test.loads.length);
  });
}

/** The policies that need no core: they are what it is measured against. */
function arithmetic({ record }: Backtest, load: LoadConfig, jobs: readonly Job[], policy: Policy): readonly Done[] {
  return jobs.map((job) => {
    const bounds = boundsOf(load, job, record);
    const weight = policy === 'latest' ? bounds.latest : policy === 'hindsight' ? bounds.hindsight : bounds.immediate;
    const starts = policy === 'hindsight' ? bounds.hindsightStarts : 1;
    return { job, bounds, time: job.need, weight, unplannedTime: 0, unplannedWeight: 0, starts };
  });
}

const isMet = ({ time, job }: Done) => time >= job.need - SECOND;

function jobBreaches(load: LoadConfig, done: readonly Done[]): readonly Found[] {
  const most = load.maxInterruptions === undefined ? Number.POSITIVE_INFINITY : load.maxInterruptions + 1;
  return done.flatMap((one): Found[] => {
    const at = one.job.from;
    return [
      ...(isMet(one) ? [] : [{ rule: 'deadline' as const, load: load.name, at }]),
      ...(one.starts > most ? [{ rule: 'starts-a-job' as const, load: load.name, at }] : []),
    ];
  });
}

/** Shortest time between a change and the next opposite one, in minutes. */
function shortest({ edges }: Track, on: boolean): number | undefined {
  const lengths = edges.slice(1).flatMap((edge, i) => {
    const before = edges[i];
    return before !== undefined && before.on === on && edge.on !== on ? [(edge.at - before.at) / 60_000] : [];
  });
  return lengths.length === 0 ? undefined : lengths.reduce((a, b) => Math.min(a, b));
}

const sumOf = <Item>(items: readonly Item[], value: (item: Item) => number) =>
  items.reduce((sum, item) => sum + value(item), 0);

/** What the same time would have weighed at once: a job that ran longer or shorter is compared with as much. */
const atOnce = ({ bounds, time, job }: Done) => (bounds.immediate * time) / job.need;

function regretOf(load: LoadConfig, done: readonly Done[]): Result['regret'] {
  const kg = (weight: (one: Done) => number) => kilograms(load, sumOf(done, weight));
  const execution = kg(
    ({ unplannedTime, unplannedWeight, bounds, job }) =>
      unplannedWeight - (bounds.hindsight * unplannedTime) / job.need,
  );
  return {
    constraintsKg: kg(({ bounds }) => bounds.hindsight - bounds.free),
    forecastKg: kg(({ weight, bounds, time, job }) => weight - (bounds.hindsight * time) / job.need) - execution,
    executionKg: execution,
  };
}

function resultOf(
  load: LoadConfig,
  policy: Policy,
  done: readonly Done[],
  driven: { readonly track: Track; readonly found: readonly Found[] } | undefined,
): Result {
  const kg = kilograms(
    load,
    sumOf(done, ({ weight }) => weight),
  );
  const instead = kilograms(load, sumOf(done, atOnce));
  const possible = kilograms(
    load,
    sumOf(done, ({ bounds, time, job }) => ((bounds.immediate - bounds.hindsight) * time) / job.need),
  );
  const span = done.length === 0 ? 1 : sumOf(done, ({ job }) => Math.max(job.by - job.from, 86_400_000)) / 86_400_000;
  const on = driven && shortest(driven.track, true);
  const off = driven && shortest(driven.track, false);
  const met = done.filter(isMet).length;
  const starts = sumOf(done, (one) => one.starts);
  const found = driven?.found ?? [];
  return {
    load: load.name,
    policy,
    energyKwh: (load.power * sumOf(done, ({ time }) => time)) / 3_600_000,
    kg,
    savedKg: instead - kg,
    savedPercent: instead === 0 ? 0 : (100 * (instead - kg)) / instead,
    shareOfHindsight: possible === 0 ? 0 : (instead - kg) / possible,
    startsPerDay: starts / span,
    startsPerJob: {
      mean: starts / Math.max(1, done.length),
      most: done.reduce((most, one) => Math.max(most, one.starts), 0),
    },
    ...(on === undefined ? {} : { shortestOnMinutes: on }),
    ...(off === undefined ? {} : { shortestOffMinutes: off }),
    deadlines: { met, missed: done.length - met },
    minutesByBasis: driven?.track.minutes ?? {},
    regret: regretOf(load, done),
    worstDays: worstOf(load, done),
    violations: found.length,
    violationsByRule: countsOf(found.map(({ rule }) => rule)),
  };
}

function worstOf(load: LoadConfig, done: readonly Done[]): Result['worstDays'] {
  return done
    .map(({ job, weight, bounds }) => ({
      from: iso(job.from),
      lostKg: kilograms(load, weight - bounds.hindsight) as number,
    }))
    .sort((a, b) => b.lostKg - a.lostKg)
    .slice(0, WORST_DAYS);
}

function countsOf(words: readonly string[]): Readonly<globalThis.Record<string, number>> {
  const counts: globalThis.Record<string, number> = {};
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}
