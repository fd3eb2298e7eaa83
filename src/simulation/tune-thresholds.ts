/** Tries other thresholds and wider goals on the last days of a history and proposes cleaner ones. */

import type { Goal, LoadConfig } from '../domain/load-types.ts';
import { days, type Instant, type Percentile } from '../domain/units.ts';
import type { SignalView } from '../signal/signal-view.ts';
import { combineBacktestFaults } from './backtest/backtest-faults.ts';
import { type RecordedSeries, sumWeight, timeOfRow } from './backtest/recorded-series.ts';
import { runBacktest } from './backtest/run-backtest.ts';
import { type BacktestFeed, createBacktestFeed } from './backtest/signal-feeds.ts';
import { simulate } from './backtest/simulate.ts';

/** What one pair of thresholds did. */
export interface ThresholdTrial {
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
export interface SlackTrial {
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
      readonly now: ThresholdTrial;
      readonly proposed?: ThresholdTrial;
      readonly tried: readonly ThresholdTrial[];
    }
  | {
      readonly kind: 'goal';
      readonly now: SlackTrial;
      readonly proposed?: SlackTrial;
      readonly tried: readonly SlackTrial[];
    }
  /** Its jobs come with a command and a window of their own: a history of rates does not say when. */
  | { readonly kind: 'armed' }
);

export interface TuningOptions {
  readonly record: RecordedSeries;
  readonly loads: readonly LoadConfig[];
  readonly timezone: string;
  /** What is measured begins here; what is before only teaches. */
  readonly from: Instant;
  /** The load that is tried next. */
  readonly onLoad?: (load: string) => void;
}

const ON_BELOW_TRIALS = [10, 15, 20, 25, 30, 35, 40, 45, 50, 60];
const HYSTERESIS_TRIALS = [5, 10, 20];
/** Proposals run at least this part of the hours of today: a house has its need. */
export const MIN_HOURS_SHARE = 0.98;
/** Less than this share of what is emitted is the luck of the days tried. */
export const MIN_GAIN = 0.01;
const MINUTES_PER_HOUR = 60;
const MINUTES_PER_DAY = 1_440;

/** One proposal a load, in their order. Loads with a scheduled goal are tried alone, without the power budget. */
export function proposeTuning(tuning: TuningOptions): readonly Proposal[] {
  const views = cacheViews(createBacktestFeed('threshold', tuning.record));
  return tuning.loads.map((load) => {
    tuning.onLoad?.(load.name);
    if (load.goal !== undefined && load.goal.armedBy !== 'schedule') return { load: load.name, kind: 'armed' };
    return load.goal === undefined ? proposeThresholds(tuning, load, views) : proposeGoal(tuning, load, load.goal);
  });
}

/** The views of a feed do not depend on the loads, so each is made once. */
function cacheViews(feed: BacktestFeed): BacktestFeed {
  const views: SignalView[] = [];
  return (row, now) => {
    const view = (row === undefined ? undefined : views[row]) ?? feed(row, now);
    if (row !== undefined) views[row] = view;
    return view;
  };
}

/** Nobody else starts at this moment, and a load in shadow shows what it would do. */
const isolateLoad = (load: LoadConfig): LoadConfig => ({
  ...load,
  startSpread: 0 as LoadConfig['startSpread'],
  observeOnly: false,
});

function proposeThresholds(tuning: TuningOptions, load: LoadConfig, views: BacktestFeed): Proposal {
  const tryOut = (onBelow: number, offAbove: number) => tryThresholds(tuning, load, { onBelow, offAbove, views });
  const now = tryOut(load.onBelow, load.offAbove);
  const tried = ON_BELOW_TRIALS.flatMap((on) => HYSTERESIS_TRIALS.map((hysteresis) => tryOut(on, on + hysteresis)));
  const best = tried
    .filter(({ hoursPerDay }) => hoursPerDay >= now.hoursPerDay * MIN_HOURS_SHARE)
    .sort((a, b) => a.lbsPerMwh - b.lbsPerMwh || a.startsPerDay - b.startsPerDay)[0];
  const isWorthwhile = best !== undefined && best.lbsPerMwh < now.lbsPerMwh * (1 - MIN_GAIN);
  return { load: load.name, kind: 'thresholds', now, ...(isWorthwhile ? { proposed: best } : {}), tried };
}

function tryThresholds(
  { record, timezone, from }: TuningOptions,
  load: LoadConfig,
  trial: { readonly onBelow: number; readonly offAbove: number; readonly views: BacktestFeed },
): ThresholdTrial {
  const { onBelow, offAbove, views } = trial;
  const origin = timeOfRow(record, 0);
  const isolated = { ...isolateLoad(load), onBelow: onBelow as Percentile, offAbove: offAbove as Percentile };
  const [track] = simulate({
    site: { device: 'tune', timezone, loads: [isolated] },
    record,
    feed: views,
    faults: combineBacktestFaults([], origin),
    measureFrom: from,
  });
  const to = timeOfRow(record, record.rows - 1);
  let [time, weight] = [0, 0];
  for (const interval of track?.runIntervals ?? []) {
    const start = Math.max(interval.from, from);
    if (start >= interval.to) continue;
    time += interval.to - start;
    weight += sumWeight(record, start, interval.to);
  }
  const hours = time / 3_600_000;
  const evenMean = sumWeight(record, from, to) / ((to - from) / 3_600_000);
  const mean = hours === 0 ? 0 : weight / hours;
  const span = (to - from) / days(1);
  const starts = track?.transitions.filter(({ at, on }) => on && origin + at >= from).length ?? 0;
  return {
    onBelow,
    offAbove,
    hoursPerDay: hours / span,
    startsPerDay: starts / span,
    lbsPerMwh: mean,
    cleanerPercent: hours === 0 || evenMean === 0 ? 0 : (100 * (evenMean - mean)) / evenMean,
  };
}

function proposeGoal(tuning: TuningOptions, load: LoadConfig, goal: Goal): Proposal {
  const tryOut = (earlier: number, later: number): SlackTrial | undefined => {
    const widerGoal = widenGoal(goal, earlier, later);
    return widerGoal === undefined ? undefined : trySlack(tuning, { ...load, goal: widerGoal }, earlier, later);
  };
  const now = trySlack(tuning, load, 0, 0);
  const tried = [
    tryOut(MINUTES_PER_HOUR, 0),
    tryOut(2 * MINUTES_PER_HOUR, 0),
    tryOut(0, MINUTES_PER_HOUR),
    tryOut(0, 2 * MINUTES_PER_HOUR),
  ].filter((slack) => slack !== undefined && slack.jobs > 0) as readonly SlackTrial[];
  const best = tried.filter(({ missed }) => missed <= now.missed).sort((a, b) => a.kgPerJob - b.kgPerJob)[0];
  const isWorthwhile =
    best !== undefined && now.jobs > 0 && best.kgPerJob < now.kgPerJob - MIN_GAIN * Math.abs(now.kgPerJob);
  return { load: load.name, kind: 'goal', now, ...(isWorthwhile ? { proposed: best } : {}), tried };
}

/** The goal with a window wider by so many minutes on either side; undefined when a day has no room for it. */
function widenGoal(goal: Goal, earlier: number, later: number): Goal | undefined {
  const by = goal.by.map((time) => (time === undefined ? time : time + later));
  const from = goal.from === undefined ? undefined : goal.from - earlier;
  if ((from === undefined && earlier > 0) || (from !== undefined && from < 0)) return undefined;
  const fits = goal.by.every((time) => {
    if (time === undefined) return true;
    const window =
      goal.from === undefined
        ? MINUTES_PER_DAY
        : (time - goal.from + MINUTES_PER_DAY) % MINUTES_PER_DAY || MINUTES_PER_DAY;
    return time + later < MINUTES_PER_DAY && (goal.from === undefined || window + earlier + later <= MINUTES_PER_DAY);
  });
  if (!fits) return undefined;
  return { ...goal, by: by as unknown as Goal['by'], ...(from === undefined ? {} : { from }) };
}

function trySlack(
  { record, timezone, from }: TuningOptions,
  load: LoadConfig,
  earlier: number,
  later: number,
): SlackTrial {
  const faults = combineBacktestFaults([], timeOfRow(record, 0));
  // Each width has the same days: its window moves the ends of what counts.
  const end = timeOfRow(record, record.rows - 1) - 2 * MINUTES_PER_HOUR * 60_000;
  const range = { from: (from - earlier * 60_000) as Instant, to: (end + later * 60_000) as Instant };
  const [result] = runBacktest({ record, loads: [isolateLoad(load)], timezone, range, faults }, 'plan-rolling');
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
