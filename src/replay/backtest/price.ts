/** What the jobs of a load emitted, and what they would have emitted at once, at the latest, and with perfect foresight. */

import type { LoadConfig } from '../../config/config.ts';
import { planSlots } from '../../control/planner.ts';
import { emissions, type Kilogram, type KilowattHour, type LbsPerMwh } from '../../units.ts';
import type { Stretch } from './drive.ts';
import type { Job } from './loads.ts';
import { type Record, SLOT, weightOf } from './record.ts';

/** Kilograms of a weight in lb/MWh h at a power. */
export const kilograms = (load: LoadConfig, weight: number): Kilogram =>
  emissions(load.power as number as KilowattHour, weight as LbsPerMwh);

/** Weights of one job, lb/MWh h. */
export interface Bounds {
  readonly immediate: number;
  readonly latest: number;
  /** The cheapest under the load's own rules, with every rate known beforehand. */
  readonly hindsight: number;
  readonly hindsightStarts: number;
  /** The cheapest slots with no rule at all. */
  readonly free: number;
}

const scale = SLOT / 3_600_000;

export function boundsOf(load: LoadConfig, job: Job, record: Record): Bounds {
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
  const free = sorted.slice(0, whole).reduce((sum, w) => sum + w, 0) + (need - whole) * (sorted[whole] ?? 0);
  return {
    immediate: weightOf(record, job.from, job.from + job.need),
    latest: weightOf(record, job.by - job.need, job.by),
    hindsight: (plan?.cost ?? Number.NaN) * scale,
    hindsightStarts: plan?.starts ?? 0,
    free: free * scale,
  };
}

/** What ran within a job. */
export interface Ran {
  /** Milliseconds. */
  readonly time: number;
  readonly weight: number;
  /** Of it not by the plan: deadline guard, window, fail-safe. */
  readonly unplannedTime: number;
  readonly unplannedWeight: number;
}

/** `stretches` are ascending; `cursor` remembers where the last job's ended. */
export function ranIn(job: Job, stretches: readonly Stretch[], record: Record, cursor: { at: number }): Ran {
  let [time, weight, unplannedTime, unplannedWeight] = [0, 0, 0, 0];
  while ((stretches[cursor.at]?.to ?? Number.POSITIVE_INFINITY) <= job.from) cursor.at++;
  for (let i = cursor.at; i < stretches.length; i++) {
    const stretch = stretches[i];
    if (stretch === undefined || stretch.from >= job.by) break;
    const from = Math.max(stretch.from, job.from);
    const to = Math.min(stretch.to, job.by);
    const cost = weightOf(record, from, to);
    time += to - from;
    weight += cost;
    if (stretch.planned) continue;
    unplannedTime += to - from;
    unplannedWeight += cost;
  }
  return { time, weight, unplannedTime, unplannedWeight };
}
