/** How long the planner takes for random jobs of one size. */

import { planSlots } from '../../../src/control/planning/planner.ts';
import type { SlotPlanRequest } from '../../../src/control/planning/slot-plan.ts';
import { createSeededFractions } from '../../../test/control/planner-instances.ts';

/** A rate that wanders through the day as recorded ones do: levels, steps, zeros and caps. */
export function drawRates(random: () => number, slots: number): Float64Array {
  let rate = 550;
  return Float64Array.from({ length: slots }, (_, t) => {
    rate += (random() - 0.5) * 90 + (550 + 150 * Math.sin((t / 288) * 2 * Math.PI) - rate) * 0.05;
    return Math.round(Math.min(1463, Math.max(0, rate)));
  });
}

interface PlanSize {
  readonly slots: number;
  readonly need: number;
  readonly maxStarts: number;
}

/** The sizes of plans whose time is bounded, with the bound of 95 % of them in milliseconds of processor time. */
export const PLAN_SIZES: readonly (PlanSize & { readonly bar: number })[] = [
  { slots: 288, need: 48, maxStarts: 4, bar: 1 },
  { slots: 864, need: 288, maxStarts: 12, bar: 15 },
];

/** Whatever else the machine does only ever adds to the time of a plan, so each plan is made this often and its least time counts. */
const ROUNDS = 5;

/** Milliseconds of processor time: half of the plans take less than the first, 95 % less than the second. */
export function measurePlans({ slots, need, maxStarts }: PlanSize, repeats: number): readonly [number, number] {
  const random = createSeededFractions(3);
  const requests = Array.from({ length: repeats }, (): SlotPlanRequest => {
    const lengths = { need, minOn: 3, minOff: 3, startCost: 25, maxStarts };
    return { weights: drawRates(random, slots), ...lengths, running: false, age: 99, lastSlot: 1 };
  });
  const times = new Float64Array(repeats).fill(Infinity);
  for (let round = 0; round < ROUNDS; round++)
    for (const [i, request] of requests.entries()) {
      const begun = process.cpuUsage();
      planSlots(request);
      const { user, system } = process.cpuUsage(begun);
      times[i] = Math.min(times[i] as number, (user + system) / 1_000);
    }
  times.sort();
  return [times[Math.floor(repeats / 2)] ?? 0, times[Math.floor(repeats * 0.95)] ?? 0];
}
