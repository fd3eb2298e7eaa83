/** What each slot adds to a plan: by growing a run, by a run of the least length, or by a run that meets the need. */

import { computeRunCost, type PrefixSums, SLOT_TOLERANCE } from './prefix-sums.ts';
import type { SlotPlanRequest } from './slot-plan.ts';

/** The lengths of a request in whole slots, with the parts of the slots that end a run. */
export interface ProblemShape {
  readonly slots: number;
  /** Slots of progress, the last one worth `part`. */
  readonly need: number;
  readonly part: number;
  readonly minOn: number;
  /** The part of a run's `minOn`-th slot it must hold. */
  readonly hold: number;
  readonly minOff: number;
  readonly maxStarts: number;
  /** Whether each number of starts has costs of its own; otherwise any number may be used. */
  readonly isCounted: boolean;
  /** Slots for which the present mode must still last. */
  readonly wait: number;
}

/** Costs by the slot they begin with, infinite where the rules or the deadline forbid them. */
export interface SlotCosts {
  /** Of one slot more. */
  readonly slot: Float64Array;
  /** Of the slot that meets the need. */
  readonly last: Float64Array;
  /** Of a start and `minOn` slots. */
  readonly run: Float64Array;
  /** Of a start and the run of the least length that meets the need, by the progress it adds: from `fewest` to `most`, less counts as `fewest`. */
  readonly finish: Float64Array;
  readonly fewest: number;
  readonly most: number;
}

/** Grown for a longer plan: slot, last, run and finish. */
let buffers = Array.from({ length: 4 }, () => new Float64Array(0));

/** Good until the next plan. Where no weight is negative, slots that serve the need and slots that do not cost the same, and only the least length matters. */
export function buildSlotCosts(request: SlotPlanRequest, shape: ProblemShape, sums: PrefixSums): SlotCosts {
  const { weights, startCost, lastSlot } = request;
  const { slots, need, part, hold, minOn } = shape;
  const most = Math.min(need, minOn);
  const fewest = sums.hasNegative ? 1 : Math.max(1, most - 1);
  const width = most - fewest + 1;
  const [slot, last, run, finish] = reserveCosts((slots + 1) * width) as FourArrays;
  const room = 1 + SLOT_TOLERANCE;
  const lastRoom = lastSlot + SLOT_TOLERANCE;
  for (let t = 0; t < slots; t++) {
    const weight = weights[t] as number;
    slot[t] = Infinity;
    last[t] = Infinity;
    run[t] = Infinity;
    for (let i = 0; i < width; i++) finish[t * width + i] = Infinity;
    if (Number.isNaN(weight)) continue;
    slot[t] = weight;
    if (part <= (t === slots - 1 ? lastRoom : room)) last[t] = part * weight;
    const end = t + minOn;
    if (end > slots || (sums.allowed[end] as number) - (sums.allowed[t] as number) !== minOn) continue;
    const stretch = (sums.cost[end] as number) - (sums.cost[t] as number) + startCost;
    run[t] = stretch;
    for (let added = fewest; added <= most; added++) {
      const held = added === minOn ? Math.max(part, hold) : hold;
      if (held > (end === slots ? lastRoom : room)) continue;
      const length = { from: t, need: added - 1 + part, to: minOn - 1 + held };
      finish[t * width + added - fewest] = sums.hasNegative
        ? startCost + computeRunCost(weights, sums, length)
        : stretch - (1 - held) * (weights[end - 1] as number);
    }
  }
  return { slot, last, run, finish, fewest, most };
}

type FourArrays = [Float64Array, Float64Array, Float64Array, Float64Array];

function reserveCosts(size: number): readonly Float64Array[] {
  if ((buffers[0]?.length ?? 0) < size) buffers = buffers.map(() => new Float64Array(2 * size));
  return buffers;
}
