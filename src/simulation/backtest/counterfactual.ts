/** Emissions of the jobs of a load as they ran, and as they would have been at once, at the latest, by a timer, and with perfect foresight. */

import { planSlots } from '../../control/planning/planner.ts';
import type { LoadConfig } from '../../domain/load-types.ts';
import { checkWindow } from '../../domain/local-time.ts';
import {
  computeEmissions,
  type Instant,
  type Kilogram,
  type KilowattHour,
  type LbsPerMwh,
} from '../../domain/units.ts';
import type { BacktestJob } from './backtest-loads.ts';
import { type RecordedSeries, SLOT, sumWeight } from './recorded-series.ts';
import type { RunInterval } from './simulate.ts';

/** Kilograms of a weight in lb/MWh h at a power. */
export const computeKilograms = (load: LoadConfig, weight: number): Kilogram =>
  computeEmissions(load.powerKw as number as KilowattHour, weight as LbsPerMwh);

/** Weights of one job, lb/MWh h. */
export interface Counterfactual {
  readonly immediate: number;
  readonly latest: number;
  /** By a plain timer set to the load's daily window. */
  readonly timer: number;
  /** The cheapest under the load's own rules, with every rate known beforehand. */
  readonly hindsight: number;
  readonly hindsightStarts: number;
  /** The cheapest slots with no rule at all. */
  readonly unconstrained: number;
}

const SLOT_HOURS = SLOT / 3_600_000;

/** The baselines that need no signal. */
export const baselines = ['immediate', 'latest', 'timer'] as const;
export type Baseline = (typeof baselines)[number];

/** The hours of the daily window in order; what they leave of the need runs at the end. */
function computeTimerWeight(load: LoadConfig, job: BacktestJob, record: RecordedSeries, timezone: string): number {
  let weight = 0;
  let left = job.need as number;
  for (let at = job.from as number; load.window !== undefined && at < job.by && left > 0; ) {
    const { inside, changesAt } = checkWindow(timezone, load.window, at as Instant);
    const length = inside ? Math.min(left, Math.min(changesAt, job.by) - at) : 0;
    weight += sumWeight(record, at, at + length);
    left -= length;
    at = changesAt;
  }
  return weight + sumWeight(record, job.by - left, job.by);
}

export function computeCounterfactual(
  load: LoadConfig,
  job: BacktestJob,
  record: RecordedSeries,
  timezone: string,
): Counterfactual {
  const weights = record.series.values.slice(job.first, job.end);
  const need = job.need / SLOT;
  const plan = planSlots({
    weights,
    need,
    minOn: load.minOn / SLOT,
    minOff: load.minOff / SLOT,
    startCost: 0,
    maxStarts: load.maxInterruptions === undefined ? load.maxStartsPerDay : load.maxInterruptions + 1,
    running: false,
    age: weights.length,
    lastSlot: 1,
  });
  const sorted = weights.slice().sort();
  const whole = Math.floor(need);
  const unconstrained = sorted.slice(0, whole).reduce((sum, w) => sum + w, 0) + (need - whole) * (sorted[whole] ?? 0);
  return {
    immediate: sumWeight(record, job.from, job.from + job.need),
    latest: sumWeight(record, job.by - job.need, job.by),
    timer: computeTimerWeight(load, job, record, timezone),
    hindsight: (plan?.cost ?? Number.NaN) * SLOT_HOURS,
    hindsightStarts: plan?.starts ?? 0,
    unconstrained: unconstrained * SLOT_HOURS,
  };
}

/** What ran within a job. */
export interface RunTotals {
  /** Milliseconds. */
  readonly time: number;
  readonly weight: number;
  /** Of it not by the plan: deadline guard, window, fail-safe. */
  readonly unplannedTime: number;
  readonly unplannedWeight: number;
}

/** `stretches` are ascending; `cursor` remembers where the last job's ended. */
export function sumRuns(
  job: BacktestJob,
  runIntervals: readonly RunInterval[],
  record: RecordedSeries,
  cursor: { at: number },
): RunTotals {
  let [time, weight, unplannedTime, unplannedWeight] = [0, 0, 0, 0];
  while ((runIntervals[cursor.at]?.to ?? Number.POSITIVE_INFINITY) <= job.from) cursor.at++;
  for (let i = cursor.at; i < runIntervals.length; i++) {
    const interval = runIntervals[i];
    if (interval === undefined || interval.from >= job.by) break;
    const from = Math.max(interval.from, job.from);
    const to = Math.min(interval.to, job.by);
    const cost = sumWeight(record, from, to);
    time += to - from;
    weight += cost;
    if (interval.planned) continue;
    unplannedTime += to - from;
    unplannedWeight += cost;
  }
  return { time, weight, unplannedTime, unplannedWeight };
}
