/** Random instances of the planner, small enough to try every schedule of. */

import type { SlotPlanRequest } from '../../src/control/planning/slot-plan.ts';

/** A sequence of fractions of 1 that is the same for the same seed. */
export function createSeededFractions(seed: number) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) / 2 ** 24;
  };
}

/** Up to `most` slots with ties, gaps, negative values, part slots, any present mode and age. */
export function buildInstance(random: () => number, most: number): SlotPlanRequest {
  const int = (from: number, to: number) => from + Math.floor(random() * (to - from + 1));
  const part = () => (random() < 0.5 ? 0 : int(1, 3) / 4);
  const slots = int(1, most);
  const [ties, gaps, running] = [random() < 0.4, random() < 0.3, random() < 0.4];
  // Hours of negative rates: running more than needed must never look like a gain.
  const below = random() < 0.5 ? 10 : 70;
  const weight = () => {
    if (gaps && random() < 0.15) return Number.NaN;
    return ties ? int(-1, 3) : random() * 100 - below;
  };
  return {
    weights: Float64Array.from({ length: slots }, weight),
    need: int(0, Math.min(slots, 7)) + part() || 0.5,
    minOn: int(0, 4) + part(),
    minOff: int(0, 4) + part(),
    startCost: random() < 0.5 ? 0 : ties ? int(0, 2) : random() * 20,
    maxStarts: int(0, 4),
    running,
    age: random() < 0.4 ? 100 : int(0, 4) + part(),
    lastSlot: random() < 0.5 ? 1 : int(1, 4) / 4,
  };
}

/** A present run that must go on beyond the last slot, or over slots that are not allowed, cannot be tried as a pattern of slots. */
export function isBeyondPatterns({ weights, running, minOn, age, need, lastSlot }: SlotPlanRequest): boolean {
  if (!running) return false;
  const forced = Math.max(0, Math.ceil(minOn - age - 1e-9));
  const ends = forced >= Math.ceil(need - 1e-9) && minOn - age > weights.length - 1 + lastSlot;
  return ends || weights.slice(0, forced).some(Number.isNaN);
}
