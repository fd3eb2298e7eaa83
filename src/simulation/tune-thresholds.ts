/** Tries other thresholds and wider goals on the last days of a history and proposes cleaner ones. */

import type { Goal, LoadConfig } from '../domain/load-types.ts';
import { days, type Instant, type Percentile } from '../domain/units.ts';
import { combineBacktestFaults } from './backtest/backtest-faults.ts';
import { getRowTime, type RecordedSeries, sumWeight } from './backtest/recorded-series.ts';
import { runTrials } from './backtest/run-backtest.ts';
import { createBacktestFeed } from './backtest/signal-feeds.ts';
import { type SimulatedTrack, simulateSites, startShortlyBefore } from './backtest/simulate.ts';

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
  /** A share of the work on one kind of loads, 0 to 1. */
  readonly onProgress?: (kind: 'thresholds' | 'goals', share: number) => void;
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
  const plain = tuning.loads.filter(({ goal }) => goal === undefined).map(listThresholds);
  const scheduled = tuning.loads.filter(({ goal }) => goal?.armedBy === 'schedule').map(listSlacks);
  const proposals = new Map([
    ...groupTrials(plain, tryThresholds(tuning, plain.flat())).map(proposeThresholds),
    ...groupTrials(scheduled, trySlacks(tuning, scheduled.flat())).map(proposeGoal),
  ]);
  return tuning.loads.map(({ name }) => proposals.get(name) ?? { load: name, kind: 'armed' });
}

/** The trials of one load, its present setting first. */
interface LoadTrials<Trial> {
  readonly load: string;
  readonly now: Trial;
  readonly tried: readonly Trial[];
}

function groupTrials<Trial>(
  settings: readonly (readonly { readonly load: LoadConfig }[])[],
  results: readonly Trial[],
): readonly LoadTrials<Trial>[] {
  let next = 0;
  return settings.flatMap((ofLoad) => {
    const [now, ...tried] = results.slice(next, next + ofLoad.length);
    next += ofLoad.length;
    return ofLoad[0] === undefined || now === undefined ? [] : [{ load: ofLoad[0].load.name, now, tried }];
  });
}

/** Nobody else starts at this moment, and a load in shadow shows what it would do. */
const isolateLoad = (load: LoadConfig): LoadConfig => ({
  ...load,
  startSpread: 0 as LoadConfig['startSpread'],
  observeOnly: false,
});

interface ThresholdSetting {
  readonly load: LoadConfig;
  readonly onBelow: number;
  readonly offAbove: number;
}

const listThresholds = (load: LoadConfig): readonly ThresholdSetting[] => [
  { load, onBelow: load.onBelow, offAbove: load.offAbove },
  ...ON_BELOW_TRIALS.flatMap((onBelow) =>
    HYSTERESIS_TRIALS.map((hysteresis) => ({ load, onBelow, offAbove: onBelow + hysteresis })),
  ),
];

function proposeThresholds({ load, now, tried }: LoadTrials<ThresholdTrial>): readonly [string, Proposal] {
  const best = tried
    .filter(({ hoursPerDay }) => hoursPerDay >= now.hoursPerDay * MIN_HOURS_SHARE)
    .sort((a, b) => a.lbsPerMwh - b.lbsPerMwh || a.startsPerDay - b.startsPerDay)[0];
  const isWorthwhile = best !== undefined && best.lbsPerMwh < now.lbsPerMwh * (1 - MIN_GAIN);
  return [load, { load, kind: 'thresholds', now, ...(isWorthwhile ? { proposed: best } : {}), tried }];
}

/** All in one pass over the record. */
function tryThresholds(tuning: TuningOptions, settings: readonly ThresholdSetting[]): readonly ThresholdTrial[] {
  if (settings.length === 0) return [];
  const { record, timezone, from, onProgress } = tuning;
  const origin = getRowTime(record, 0);
  const tracks = simulateSites({
    sites: settings.map(({ load, onBelow, offAbove }) => {
      const tried = { ...isolateLoad(load), onBelow: onBelow as Percentile, offAbove: offAbove as Percentile };
      return startShortlyBefore({ device: 'tune', timezone, loads: [tried] }, from);
    }),
    record,
    feed: createBacktestFeed('threshold', record),
    faults: combineBacktestFaults([], origin),
    onProgress: (rows) => onProgress?.('thresholds', rows / record.rows),
  });
  return settings.map((setting, i) => measureThresholds(tuning, setting, tracks[i]?.[0]));
}

function measureThresholds(
  { record, from }: TuningOptions,
  { onBelow, offAbove }: ThresholdSetting,
  track: SimulatedTrack | undefined,
): ThresholdTrial {
  const to = getRowTime(record, record.rows - 1);
  let [time, weight] = [0, 0];
  for (const span of track?.runSpans ?? []) {
    const start = Math.max(span.from, from);
    if (start >= span.to) continue;
    time += span.to - start;
    weight += sumWeight(record, start, span.to);
  }
  const hours = time / 3_600_000;
  const evenMean = sumWeight(record, from, to) / ((to - from) / 3_600_000);
  const mean = hours === 0 ? 0 : weight / hours;
  const span = (to - from) / days(1);
  const origin = getRowTime(record, 0);
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

interface SlackSetting {
  readonly load: LoadConfig;
  readonly earlier: number;
  readonly later: number;
}

/** As now, and wider by one or two hours on either side where a day has room for it. */
function listSlacks(load: LoadConfig): readonly SlackSetting[] {
  const [one, two] = [MINUTES_PER_HOUR, 2 * MINUTES_PER_HOUR];
  const wider = [
    { earlier: one, later: 0 },
    { earlier: two, later: 0 },
    { earlier: 0, later: one },
    { earlier: 0, later: two },
  ];
  return [
    { load, earlier: 0, later: 0 },
    ...wider.flatMap(({ earlier, later }) => {
      const goal = load.goal && widenGoal(load.goal, earlier, later);
      return goal === undefined ? [] : [{ load: { ...load, goal }, earlier, later }];
    }),
  ];
}

function proposeGoal({ load, now, tried: all }: LoadTrials<SlackTrial>): readonly [string, Proposal] {
  const tried = all.filter(({ jobs }) => jobs > 0);
  const best = tried.filter(({ missed }) => missed <= now.missed).sort((a, b) => a.kgPerJob - b.kgPerJob)[0];
  const isWorthwhile =
    best !== undefined && now.jobs > 0 && best.kgPerJob < now.kgPerJob - MIN_GAIN * Math.abs(now.kgPerJob);
  return [load, { load, kind: 'goal', now, ...(isWorthwhile ? { proposed: best } : {}), tried }];
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

/** All in one pass over the record. */
function trySlacks(tuning: TuningOptions, settings: readonly SlackSetting[]): readonly SlackTrial[] {
  if (settings.length === 0) return [];
  const { record, timezone, from, onProgress } = tuning;
  // Each width has the same days: its window moves the ends of what counts.
  const end = getRowTime(record, record.rows - 1) - 2 * MINUTES_PER_HOUR * 60_000;
  const results = runTrials({
    record,
    timezone,
    faults: combineBacktestFaults([], getRowTime(record, 0)),
    trials: settings.map(({ load, earlier, later }) => ({
      load: isolateLoad(load),
      range: { from: (from - earlier * 60_000) as Instant, to: (end + later * 60_000) as Instant },
    })),
    onProgress: (share) => onProgress?.('goals', share),
  });
  return settings.map(({ earlier, later }, i) => {
    const { deadlines = { met: 0, missed: 0 }, kg = 0, starts = 0 } = results[i] ?? {};
    const { met, missed } = deadlines;
    const jobs = met + missed;
    return {
      earlierMinutes: earlier,
      laterMinutes: later,
      jobs,
      kgPerJob: jobs === 0 ? 0 : kg / jobs,
      startsPerJob: starts / Math.max(1, jobs),
      missed,
    };
  });
}
