/** A bound of what the rest of a plan costs: of a job that counts neither progress nor starts, but is paid for each slot and charged for each start. */

import type { ProblemShape, SlotCosts } from './slot-costs.ts';

/** One start, in a number that counts slots of progress below it. */
const ONE_START = 2 ** 16;
const MAX_TRIALS = 40;
const LINE_TOLERANCE = 1e-9;

/** Of the prices tried last, by the boundary the rest begins at: its least cost, and its starts and progress. Grown for a longer plan. */
let restOn = new Float64Array(0);
let restOff = new Float64Array(0);
let stepsOn = new Int32Array(0);
let stepsOff = new Int32Array(0);

export interface PlanProblem {
  readonly shape: ProblemShape;
  readonly costs: SlotCosts;
  /** Where a plan begins: once the present mode has served its minimum time. */
  readonly present: { readonly isRunning: boolean; readonly cost: number; readonly progress: number };
}

/** A way to end the job that may miss the need or exceed its starts, or a mean of two. */
export interface RelaxedPlan {
  readonly cost: number;
  readonly progress: number;
  readonly starts: number;
}

/** What a slot of progress is paid, and what a start is charged. */
interface BoundPrices {
  readonly progress: number;
  readonly start: number;
}

/** `on` and `off`: the least cost of the rest from each boundary, at the prices, of a load free to stop and of one free to start. Good until the next bound. */
export interface CostBound extends BoundPrices {
  readonly on: Float64Array;
  readonly off: Float64Array;
  /** No plan costs less. */
  readonly least: number;
  /** One costs just that. */
  readonly isReached: boolean;
}

/**
 * The prices at which the bound is highest. Each trial finds a plan; the next trial is where two plans, one below the need and one above it,
 * are worth the same, and where starts are counted so are two of too many and of few enough. Undefined where no plan ends the job.
 */
export function findBound(problem: PlanProblem, free?: RelaxedPlan): CostBound | undefined {
  const { need, maxStarts, isCounted, slots, minOn, minOff } = problem.shape;
  const size = slots + Math.max(minOn, minOff) + 1;
  if (restOn.length < size) reserve(2 * size);
  let fewer: RelaxedPlan = { cost: 0, progress: 0, starts: 0 };
  let more = runAlways(problem);
  if (more.progress < need) return undefined;
  let many = free;
  let few: RelaxedPlan | undefined;
  const firstCharge = Math.abs(more.cost / more.progress) / 16 || 1;
  let start = free === undefined ? 0 : firstCharge;
  let isLast = false;
  let best = { least: -Infinity, progress: 0, start: 0, isReached: false };
  for (let trial = 0; trial < MAX_TRIALS; trial++) {
    const progress = (charge(more, start) - charge(fewer, start)) / (more.progress - fewer.progress);
    const plan = relax(problem, { progress, start });
    const value = charge(plan, start) + (need - plan.progress) * progress;
    if (value === Infinity) return undefined;
    const meetsNeed = plan.progress === need;
    const least = value - (isCounted ? maxStarts * start : 0);
    const isReached =
      meetsNeed && (!isCounted || plan.starts === maxStarts || (start === 0 && plan.starts < maxStarts));
    isLast = least > best.least;
    if (isLast) best = { least, progress, start, isReached };
    const near = LINE_TOLERANCE * Math.abs(value);
    if (!meetsNeed && value < charge(fewer, start) + (need - fewer.progress) * progress - near) {
      if (plan.progress < need) fewer = plan;
      else more = plan;
      continue;
    }
    const mean = meetsNeed ? plan : mixToNeed(fewer, more, need);
    if (!isCounted || isReached || (few !== undefined && charge(mean, start) >= charge(few, start) - near)) break;
    if (mean.starts > maxStarts) many = mean;
    else few = mean;
    if (many === undefined) break;
    start = few === undefined ? start * 8 || firstCharge : (few.cost - many.cost) / (many.starts - few.starts);
  }
  if (!isLast) relax(problem, best);
  return { on: restOn, off: restOff, ...best };
}

const charge = ({ cost, starts }: RelaxedPlan, start: number) => cost + starts * start;

function mixToNeed(fewer: RelaxedPlan, more: RelaxedPlan, need: number): RelaxedPlan {
  const share = (need - fewer.progress) / (more.progress - fewer.progress);
  const between = (a: number, b: number) => a + (b - a) * share;
  return { cost: between(fewer.cost, more.cost), progress: need, starts: between(fewer.starts, more.starts) };
}

/** Each slot that is allowed, with one start: no plan makes more progress. */
function runAlways({ shape: { slots, wait }, costs: { slot }, present }: PlanProblem): RelaxedPlan {
  let { cost, progress } = present;
  for (let t = wait; t < slots; t++) {
    const weight = slot[t] as number;
    if (weight === Infinity) continue;
    cost += weight;
    progress += 1;
  }
  return { cost, progress, starts: 1 };
}

/**
 * The cheapest way to end the job at these prices, and with it that of the rest from each boundary on. A load that is on ends the job
 * in the next slot, runs through it, or stops; one that is off stays off, or starts a run that goes on or ends the job.
 */
function relax({ shape, costs, present }: PlanProblem, { progress: paid, start: charged }: BoundPrices): RelaxedPlan {
  const { slots, wait, minOn, minOff } = shape;
  const { slot, last, run, finish, fewest, most } = costs;
  const [on, off, toOn, toOff] = [restOn, restOff, stepsOn, stepsOff];
  const stretch = charged - minOn * paid;
  for (let t = slots; t < slots + Math.max(minOn, minOff, 1); t++) {
    on[t] = Infinity;
    off[t] = Infinity;
  }
  for (let t = slots - 1; t >= wait; t--) {
    const runs = (on[t + 1] as number) + (slot[t] as number);
    const ends = last[t] as number;
    let least = (runs < ends ? runs : ends) - paid;
    let steps = runs < ends ? (toOn[t + 1] as number) + 1 : 1;
    const stops = off[t + minOff] as number;
    if (stops < least) {
      least = stops;
      steps = toOff[t + minOff] as number;
    }
    on[t] = least;
    toOn[t] = steps;

    least = off[t + 1] as number;
    steps = toOff[t + 1] as number;
    const starts = (on[t + minOn] as number) + (run[t] as number) + stretch;
    if (starts < least) {
      least = starts;
      steps = (toOn[t + minOn] as number) + ONE_START + minOn;
    }
    const first = t * (most - fewest + 1) - fewest;
    for (let added = fewest; added <= most; added++) {
      const finishes = (finish[first + added] as number) + charged - added * paid;
      if (finishes >= least) continue;
      least = finishes;
      steps = ONE_START + added;
    }
    off[t] = least;
    toOff[t] = steps;
  }
  const rest = (present.isRunning ? on : off)[wait] as number;
  const steps = (present.isRunning ? toOn : toOff)[wait] as number;
  const progress = steps % ONE_START;
  const count = (steps - progress) / ONE_START;
  const cost = present.cost + rest + progress * paid - count * charged;
  return { cost, progress: present.progress + progress, starts: count };
}

function reserve(size: number) {
  restOn = new Float64Array(size);
  restOff = new Float64Array(size);
  stepsOn = new Int32Array(size);
  stepsOff = new Int32Array(size);
}
