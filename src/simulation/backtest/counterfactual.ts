/** Emissions of the jobs of a load as they ran, and as they would have been at once, at the latest, by a timer, and with perfect foresight. */

import { planSlots } from '../../control/planning/planner.ts';
import type { PlannedRun } from '../../control/planning/slot-plan.ts';
import type { LoadConfig } from '../../domain/load-types.ts';
import { checkWindow } from '../../domain/local-time.ts';
import { findPriceSpan, type PriceSpan, sumPrice } from '../../domain/tariff.ts';
import {
  computeEmissions,
  type Instant,
  type Kilogram,
  type KilowattHour,
  type LbsPerMwh,
} from '../../domain/units.ts';
import type { BacktestJob } from './backtest-loads.ts';
import { type RecordedSeries, SLOT, sumWeight } from './recorded-series.ts';
import type { RunSpan } from './simulate.ts';

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
  /** Where there is a tariff. */
  readonly bills?: JobBills;
}

/** Price times hours. */
interface JobBills {
  readonly immediate: number;
  readonly latest: number;
  readonly timer: number;
  /** Of the hindsight of emissions. */
  readonly hindsight: number;
  /** Of the cheapest way under the load's own rules. */
  readonly cheapest: number;
}

const SLOT_HOURS = SLOT / 3_600_000;

/** The baselines that need no signal. */
export const baselines = ['immediate', 'latest', 'timer'] as const;
export type Baseline = (typeof baselines)[number];

/** The hours of the daily window in order; what they leave of the need runs at the end. */
function listTimerRuns(load: LoadConfig, job: BacktestJob, timezone: string): readonly PlannedRun[] {
  const runs: PlannedRun[] = [];
  let left = job.need as number;
  for (let at = job.from as number; load.window !== undefined && at < job.by && left > 0; ) {
    const { inside, changesAt } = checkWindow(timezone, load.window, at as Instant);
    const length = inside ? Math.min(left, Math.min(changesAt, job.by) - at) : 0;
    if (length > 0) runs.push({ from: at as Instant, to: (at + length) as Instant });
    left -= length;
    at = changesAt;
  }
  return left > 0 ? [...runs, { from: (job.by - left) as Instant, to: job.by }] : runs;
}

/** The cheapest slots of these weights under the load's own rules. */
const planByWeights = (load: LoadConfig, job: BacktestJob, weights: Float64Array) =>
  planSlots({
    weights,
    need: job.need / SLOT,
    minOn: load.minOn / SLOT,
    minOff: load.minOff / SLOT,
    startCost: 0,
    maxStarts: load.maxInterruptions === undefined ? load.maxStartsPerDay : load.maxInterruptions + 1,
    running: false,
    age: weights.length,
    lastSlot: 1,
  });

function computeBills(
  load: LoadConfig,
  job: BacktestJob,
  spans: readonly PriceSpan[],
  runs: { readonly timer: readonly PlannedRun[]; readonly hindsight: readonly PlannedRun[] },
): JobBills {
  const sumRunPrices = (ran: readonly PlannedRun[]) =>
    ran.reduce((sum, { from, to }) => sum + sumPrice(spans, from, to), 0);
  const prices = Float64Array.from(
    { length: job.end - job.first },
    (_, i) => findPriceSpan(spans, (job.from + i * SLOT) as Instant)?.price ?? Number.NaN,
  );
  return {
    immediate: sumPrice(spans, job.from, (job.from + job.need) as Instant),
    latest: sumPrice(spans, (job.by - job.need) as Instant, job.by),
    timer: sumRunPrices(runs.timer),
    hindsight: sumRunPrices(runs.hindsight),
    cheapest: (planByWeights(load, job, prices)?.cost ?? Number.NaN) * SLOT_HOURS,
  };
}

export interface CounterfactualWorld {
  readonly record: RecordedSeries;
  readonly timezone: string;
  /** The prices around a moment, where there is a tariff. */
  readonly pricesAt?: (now: Instant) => readonly PriceSpan[];
}

export function computeCounterfactual(
  load: LoadConfig,
  job: BacktestJob,
  { record, timezone, pricesAt }: CounterfactualWorld,
): Counterfactual {
  const weights = record.series.values.slice(job.first, job.end);
  const need = job.need / SLOT;
  const plan = planByWeights(load, job, weights);
  const timer = listTimerRuns(load, job, timezone);
  const hindsight = (plan?.runs ?? []).map(({ from, to }) => ({
    from: (job.from + from * SLOT) as Instant,
    to: (job.from + to * SLOT) as Instant,
  }));
  const sorted = weights.slice().sort();
  const whole = Math.floor(need);
  const unconstrained = sorted.slice(0, whole).reduce((sum, w) => sum + w, 0) + (need - whole) * (sorted[whole] ?? 0);
  return {
    immediate: sumWeight(record, job.from, job.from + job.need),
    latest: sumWeight(record, job.by - job.need, job.by),
    timer: timer.reduce((sum, { from, to }) => sum + sumWeight(record, from, to), 0),
    hindsight: (plan?.cost ?? Number.NaN) * SLOT_HOURS,
    hindsightStarts: plan?.starts ?? 0,
    unconstrained: unconstrained * SLOT_HOURS,
    ...(pricesAt === undefined ? {} : { bills: computeBills(load, job, pricesAt(job.from), { timer, hindsight }) }),
  };
}

/** What ran within a job. */
export interface RunTotals {
  /** Milliseconds. */
  readonly time: number;
  readonly weight: number;
  /** Price times hours; 0 without a tariff. */
  readonly bill: number;
  /** The part outside the plan: deadline rule, window, fail-safe. */
  readonly unplannedTime: number;
  readonly unplannedWeight: number;
}

/** `stretches` are ascending; `cursor` remembers where the last job's ended. */
export function sumRuns(
  job: BacktestJob,
  runSpans: readonly RunSpan[],
  { record, pricesAt }: CounterfactualWorld,
  cursor: { at: number },
): RunTotals {
  const spans = pricesAt?.(job.from) ?? [];
  let [time, weight, bill, unplannedTime, unplannedWeight] = [0, 0, 0, 0, 0];
  while ((runSpans[cursor.at]?.to ?? Number.POSITIVE_INFINITY) <= job.from) cursor.at++;
  for (let i = cursor.at; i < runSpans.length; i++) {
    const span = runSpans[i];
    if (span === undefined || span.from >= job.by) break;
    const from = Math.max(span.from, job.from);
    const to = Math.min(span.to, job.by);
    const cost = sumWeight(record, from, to);
    time += to - from;
    weight += cost;
    bill += sumPrice(spans, from as Instant, to as Instant);
    if (span.planned) continue;
    unplannedTime += to - from;
    unplannedWeight += cost;
  }
  return { time, weight, bill, unplannedTime, unplannedWeight };
}
