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
  const { need, maxStarts, isCounted, slots } = problem.shape;
  if (restOn.length <= slots) reserve(2 * (slots + 1));
  let fewer: RelaxedPlan = { cost: 0, progress: 0, starts: 0 };
  let more = runAlways(problem);
  if (more.progress < need) return undefined;
  let many = free;
  let few: RelaxedPlan | undefined;
  const firstCharge = Math.abs(more.cost / more.progress) / 16 || 1;
  let start = free === undefined ? 0 : firstCharge;
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
    if (least > best.least) best = { least, progress, start, isReached };
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
  relax(problem, best);
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

/** The cheapest way to end the job at these prices, and with it that of the rest from each boundary on. */
function relax({ shape, costs, present }: PlanProblem, prices: BoundPrices): RelaxedPlan {
  const { slots, wait } = shape;
  restOn[slots] = Infinity;
  restOff[slots] = Infinity;
  for (let t = slots - 1; t >= wait; t--) {
    relaxOn(shape, costs, prices, t);
    relaxOff(shape, costs, prices, t);
  }
  const rest = (present.isRunning ? restOn : restOff)[wait] as number;
  const steps = (present.isRunning ? stepsOn : stepsOff)[wait] as number;
  const progress = steps % ONE_START;
  const starts = (steps - progress) / ONE_START;
  return {
    cost: present.cost + rest + progress * prices.progress - starts * prices.start,
    progress: present.progress + progress,
    starts,
  };
}

/** A load that is on ends the job in the next slot, runs through it, or stops. */
function relaxOn(
  { slots, minOff }: ProblemShape,
  { slot, last }: SlotCosts,
  { progress: paid }: BoundPrices,
  t: number,
) {
  const runs = (restOn[t + 1] as number) + (slot[t] as number);
  const ends = last[t] as number;
  let least = (runs < ends ? runs : ends) - paid;
  let steps = runs < ends ? (stepsOn[t + 1] as number) + 1 : 1;
  const stops = t + minOff < slots ? (restOff[t + minOff] as number) : Infinity;
  if (stops < least) {
    least = stops;
    steps = stepsOff[t + minOff] as number;
  }
  restOn[t] = least;
  stepsOn[t] = steps;
}

/** A load that is off stays off, or starts a run that goes on or ends the job. */
function relaxOff(
  { slots, minOn }: ProblemShape,
  costs: SlotCosts,
  { progress: paid, start: charged }: BoundPrices,
  t: number,
) {
  const { run, finish, fewest, most } = costs;
  let least = restOff[t + 1] as number;
  let steps = stepsOff[t + 1] as number;
  if (t + minOn <= slots) {
    const starts = (restOn[t + minOn] as number) + (run[t] as number) + charged - minOn * paid;
    if (starts < least) {
      least = starts;
      steps = (stepsOn[t + minOn] as number) + ONE_START + minOn;
    }
    const first = t * (most - fewest + 1) - fewest;
    for (let added = fewest; added <= most; added++) {
      const ends = (finish[first + added] as number) + charged - added * paid;
      if (ends >= least) continue;
      least = ends;
      steps = ONE_START + added;
    }
  }
  restOff[t] = least;
  stepsOff[t] = steps;
}

function reserve(size: number) {
  restOn = new Float64Array(size);
  restOff = new Float64Array(size);
  stepsOn = new Int32Array(size);
  stepsOff = new Int32Array(size);
}
