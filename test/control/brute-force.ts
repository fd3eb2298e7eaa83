/** Every schedule of a small instance, tried: what the planner must find, said a second time and more simply. */

import type { SlotPlanRequest, SlotRun } from '../../src/control/planning/slot-plan.ts';

export interface TriedSchedule {
  readonly cost: number;
  readonly starts: number;
  readonly end: number;
}

const EPSILON = 1e-9;

/** The runs of a pattern of slots, bit t set when slot t is run. */
function listRuns(pattern: number, slots: number): SlotRun[] {
  const runs: SlotRun[] = [];
  for (let t = 0; t < slots; t++) {
    if ((pattern & (1 << t)) === 0) continue;
    const from = t;
    while (t < slots && (pattern & (1 << t)) !== 0) t++;
    runs.push({ from, to: t });
  }
  return runs;
}

/** The cost of one pattern, or undefined when a rule forbids it. */
function priceSchedule(request: SlotPlanRequest, pattern: number): TriedSchedule | undefined {
  const { weights, need, minOn, minOff, startCost, maxStarts, running, age, lastSlot } = request;
  const slots = weights.length;
  const runs = listRuns(pattern, slots);
  const goesOn = running && runs[0]?.from === 0;
  const [first, last] = [runs[0], runs.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  if (running && !goesOn && age < minOn - EPSILON) return undefined;

  const starts = runs.length - (goesOn ? 1 : 0);
  if (starts > maxStarts) return undefined;
  if (!running && first.from < minOff - age - EPSILON) return undefined;
  if (running && !goesOn && first.from < Math.ceil(minOff - EPSILON)) return undefined;
  for (const [i, run] of runs.entries()) {
    const next = runs[i + 1];
    if (next !== undefined && next.from - run.to < minOff - EPSILON) return undefined;
    const before = i === 0 && goesOn ? age : 0;
    if (next !== undefined && run.to - run.from + before < minOn - EPSILON) return undefined;
  }

  // The last run ends where the need is met, or where its minimum time does, whichever is later, within its last slot.
  const ran = runs.reduce((sum, run) => sum + run.to - run.from, 0);
  const missing = need - (ran - 1);
  if (missing > 1 + EPSILON) return undefined;
  const before = runs.length === 1 && goesOn ? age : 0;
  const least = minOn - before - (last.to - 1 - last.from);
  if (least > 1 + EPSILON) return undefined;
  const part = Math.min(1, Math.max(missing, least));
  if (part <= EPSILON) return undefined;
  const surplus = missing <= EPSILON && least > EPSILON;
  if (missing <= EPSILON && !surplus) return undefined;
  // A run that begins after the need is met serves nothing.
  if (ran - (last.to - last.from) >= need - EPSILON) return undefined;
  if (last.to === slots && part > lastSlot + EPSILON) return undefined;

  // What serves the need costs its weight; what a minimum time adds beyond it is never a gain.
  let cost = starts * startCost;
  let done = 0;
  for (const run of runs)
    for (let t = run.from; t < run.to; t++) {
      const weight = weights[t] ?? Number.NaN;
      if (Number.isNaN(weight)) return undefined;
      const share = t === last.to - 1 ? part : 1;
      const useful = Math.min(share, Math.max(0, need - done));
      cost += useful * weight + (share - useful) * Math.max(0, weight);
      done += share;
    }
  return { cost, starts, end: last.to };
}

/** The best of all patterns: cost, then fewer starts, then the earlier finish. */
export function findBestSchedule(request: SlotPlanRequest): TriedSchedule | undefined {
  let best: TriedSchedule | undefined;
  for (let pattern = 1; pattern < 2 ** request.weights.length; pattern++) {
    const one = priceSchedule(request, pattern);
    if (one === undefined) continue;
    if (best === undefined || isBetter(one, best)) best = one;
  }
  return best;
}

function isBetter(a: TriedSchedule, b: TriedSchedule): boolean {
  const rounding = 1e-10 * (1 + Math.abs(a.cost) + Math.abs(b.cost));
  if (Math.abs(a.cost - b.cost) > rounding) return a.cost < b.cost;
  return a.starts < b.starts || (a.starts === b.starts && a.end < b.end);
}

/**
 * By the slots they serve, what the cheapest schedules cost that may miss the need or exceed it, without any cost of a start: the last slot of
 * a last run of the least length may serve nothing.
 */
export function listCheapestByProgress({ weights, minOn, minOff }: SlotPlanRequest): ReadonlyMap<number, number> {
  const cheapest = new Map([[0, 0]]);
  for (let pattern = 1; pattern < 2 ** weights.length; pattern++) {
    const runs = listRuns(pattern, weights.length);
    const isAllowed = runs.every(
      ({ from, to }, i) => to - from >= minOn && (runs[i + 1]?.from ?? Number.POSITIVE_INFINITY) - to >= minOff,
    );
    if (!isAllowed) continue;
    const cost = weights.reduce((sum, weight, t) => sum + (pattern & (1 << t) ? weight : 0), 0);
    const progress = runs.reduce((sum, { from, to }) => sum + to - from, 0);
    const last = runs.at(-1);
    const isLeast = minOn > 1 && last !== undefined && last.to - last.from === minOn;
    for (const served of isLeast ? [progress, progress - 1] : [progress])
      cheapest.set(served, Math.min(cost, cheapest.get(served) ?? Number.POSITIVE_INFINITY));
  }
  return cheapest;
}
