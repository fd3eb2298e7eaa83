/** Tries other thresholds and wider goals on the last days of a history and proposes what would have been cleaner. Changes nothing. */

import type { Goal, LoadConfig } from '../config/config.ts';
import type { SignalView } from '../signal/view.ts';
import { days, type Instant, type Percentile } from '../units.ts';
import { drive } from './backtest/drive.ts';
import { faultsOf } from './backtest/faults.ts';
import { type Feed, feedOf } from './backtest/feeds.ts';
import { type Record, timeOf, weightOf } from './backtest/record.ts';
import { backtest } from './backtest.ts';

/** What one pair of thresholds did. */
export interface Threshold {
  readonly onBelow: number;
  readonly offAbove: number;
  readonly hoursPerDay: number;
  readonly startsPerDay: number;
  /** Mean over the running time. */
  readonly lbsPerMwh: number;
  /** Cleaner than the same energy drawn evenly, percent. */
  readonly cleanerPercent: number;
}

/** What one width of a job's window did. */
export interface Slack {
  readonly earlierMinutes: number;
  readonly laterMinutes: number;
  readonly jobs: number;
  readonly kgPerJob: number;
  readonly startsPerJob: number;
  readonly missed: number;
}

/** `proposed` is absent when nothing tried was better than what is. */
export type Proposal = { readonly load: string } & (
  | {
      readonly kind: 'thresholds';
      readonly now: Threshold;
      readonly proposed?: Threshold;
      readonly tried: readonly Threshold[];
    }
  | { readonly kind: 'goal'; readonly now: Slack; readonly proposed?: Slack; readonly tried: readonly Slack[] }
  /** Its jobs come with a command and a window of their own: a history of rates does not say when. */
  | { readonly kind: 'armed' }
);

export interface Tuning {
  readonly record: Record;
  readonly loads: readonly LoadConfig[];
  readonly timezone: string;
  /** What is measured begins here; what is before only teaches. */
  readonly from: Instant;
  /** The load that is tried next. */
  readonly progress?: (load: string) => void;
}

const ON_BELOW = [10, 15, 20, 25, 30, 35, 40, 45, 50, 60];
const GAPS = [5, 10, 20];
/** Proposals run at least this part of the hours of today: a house has its need. */
const SAME_HOURS = 0.98;
/** Less than this is the luck of the days tried. */
const WORTH = 0.01;
const HOUR = 60;
const A_DAY = 1_440;

/** One proposal a load, in their order. Loads with a scheduled goal are tried alone, without the power budget. */
export function tune(tuning: Tuning): readonly Proposal[] {
  const views = kept(feedOf('threshold', tuning.record));
  return tuning.loads.map((load) => {
    tuning.progress?.(load.name);
    if (load.goal?.armedBy === 'command') return { load: load.name, kind: 'armed' };
    return load.goal === undefined ? tuneThresholds(tuning, load, views) : tuneGoal(tuning, load, load.goal);
  });
}

/** The views of a feed do not depend on the loads, so each is made once. */
function kept(feed: Feed): Feed {
  const views: SignalView[] = [];
  return (row, now) => {
    const view = (row === undefined ? undefined : views[row]) ?? feed(row, now);
    if (row !== undefined) views[row] = view;
    return view;
  };
}

/** Nobody else starts at this moment, and a load in shadow shows what it would do. */
const alone = (load: LoadConfig): LoadConfig => ({ ...load, jitter: 0 as LoadConfig['jitter'], shadow: false });

function tuneThresholds(tuning: Tuning, load: LoadConfig, views: Feed): Proposal {
  const tryOut = (onBelow: number, offAbove: number) => thresholdOf(tuning, load, { onBelow, offAbove, views });
  const now = tryOut(load.onBelow, load.offAbove);
  const tried = ON_BELOW.flatMap((on) => GAPS.map((gap) => tryOut(on, on + gap)));
  const best = tried
    .filter(({ hoursPerDay }) => hoursPerDay >= now.hoursPerDay * SAME_HOURS)
    .sort((a, b) => a.lbsPerMwh - b.lbsPerMwh || a.startsPerDay - b.startsPerDay)[0];
  const isWorth = best !== undefined && best.lbsPerMwh < now.lbsPerMwh * (1 - WORTH);
  return { load: load.name, kind: 'thresholds', now, ...(isWorth ? { proposed: best } : {}), tried };
}

function thresholdOf(
  { record, timezone, from }: Tuning,
  load: LoadConfig,
  wish: { readonly onBelow: number; readonly offAbove: number; readonly views: Feed },
): Threshold {
  const { onBelow, offAbove, views } = wish;
  const origin = timeOf(record, 0);
  const one = { ...alone(load), onBelow: onBelow as Percentile, offAbove: offAbove as Percentile };
  const [track] = drive({
    site: { device: 'tune', timezone, loads: [one] },
    record,
    feed: views,
    faults: faultsOf([], origin),
    measured: from,
  });
  const to = timeOf(record, record.rows - 1);
  let [time, weight] = [0, 0];
  for (const stretch of track?.stretches ?? []) {
    const start = Math.max(stretch.from, from);
    if (start >= stretch.to) continue;
    time += stretch.to - start;
    weight += weightOf(record, start, stretch.to);
  }
  const hours = time / 3_600_000;
  const evenly = weightOf(record, from, to) / ((to - from) / 3_600_000);
  const mean = hours === 0 ? 0 : weight / hours;
  const span = (to - from) / days(1);
  const starts = track?.edges.filter(({ at, on }) => on && origin + at >= from).length ?? 0;
  return {
    onBelow,
    offAbove,
    hoursPerDay: hours / span,
    startsPerDay: starts / span,
    lbsPerMwh: mean,
    cleanerPercent: hours === 0 || evenly === 0 ? 0 : (100 * (evenly - mean)) / evenly,
  };
}

function tuneGoal(tuning: Tuning, load: LoadConfig, goal: Goal): Proposal {
  const tryOut = (earlier: number, later: number): Slack | undefined => {
    const wider = widened(goal, earlier, later);
    return wider === undefined ? undefined : slackOf(tuning, { ...load, goal: wider }, earlier, later);
  };
  const now = slackOf(tuning, load, 0, 0);
  const tried = [tryOut(HOUR, 0), tryOut(2 * HOUR, 0), tryOut(0, HOUR), tryOut(0, 2 * HOUR)].filter(
    (slack) => slack !== undefined && slack.jobs > 0,
  ) as readonly Slack[];
  const best = tried.filter(({ missed }) => missed <= now.missed).sort((a, b) => a.kgPerJob - b.kgPerJob)[0];
  const isWorth = best !== undefined && now.jobs > 0 && best.kgPerJob < now.kgPerJob - WORTH * Math.abs(now.kgPerJob);
  return { load: load.name, kind: 'goal', now, ...(isWorth ? { proposed: best } : {}), tried };
}

/** The goal with a window wider by so many minutes on either side; undefined when a day has no room for it. */
function widened(goal: Goal, earlier: number, later: number): Goal | undefined {
  const by = goal.by.map((time) => (time === undefined ? time : time + later));
  const from = goal.from === undefined ? undefined : goal.from - earlier;
  if ((from === undefined && earlier > 0) || (from !== undefined && from < 0)) return undefined;
  const fits = goal.by.every((time) => {
    if (time === undefined) return true;
    const window = goal.from === undefined ? A_DAY : (time - goal.from + A_DAY) % A_DAY || A_DAY;
    return time + later < A_DAY && (goal.from === undefined || window + earlier + later <= A_DAY);
  });
  if (!fits) return undefined;
  return { ...goal, by: by as unknown as Goal['by'], ...(from === undefined ? {} : { from }) };
}

function slackOf({ record, timezone, from }: Tuning, load: LoadConfig, earlier: number, later: number): Slack {
  const faults = faultsOf([], timeOf(record, 0));
  // Each width has the same days: its window moves the ends of what counts.
  const end = timeOf(record, record.rows - 1) - 2 * HOUR * 60_000;
  const range = { from: (from - earlier * 60_000) as Instant, to: (end + later * 60_000) as Instant };
  const [result] = backtest({ record, loads: [alone(load)], timezone, range, faults }, 'plan-rolling');
  const jobs = (result?.deadlines.met ?? 0) + (result?.deadlines.missed ?? 0);
  return {
    earlierMinutes: earlier,
    laterMinutes: later,
    jobs,
    kgPerJob: jobs === 0 ? 0 : (result?.kg ?? 0) / jobs,
    startsPerJob: result?.startsPerJob.mean ?? 0,
    missed: result?.deadlines.missed ?? 0,
  };
}
