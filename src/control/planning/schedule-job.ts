/** The entry of planning: schedules a job in wall time from the values ahead. */

import {
  computeEmissions,
  computeEnergy,
  type Duration,
  days,
  hours,
  type Instant,
  type Kilogram,
  type Kilowatt,
  type LbsPerMwh,
} from '../../domain/units.ts';
import type { Horizon } from '../../signal/signal-view.ts';
import { type JobPricing, listSlotPrices } from './job-pricing.ts';
import { planSlots } from './planner.ts';
import type { JobPlan, PlannedRun, SlotPlan, SlotPlanRequest } from './slot-plan.ts';

export interface JobRequest {
  readonly horizon: Horizon;
  /** Absent: the horizon alone decides. */
  readonly pricing?: JobPricing;
  readonly now: Instant;
  /** Not before. */
  readonly from: Instant;
  readonly by: Instant;
  readonly remaining: Duration;
  /** Part of it that runs right before `by`. */
  readonly keepLast?: Duration;
  readonly minOn: Duration;
  readonly minOff: Duration;
  /** In the horizon's value times slots. */
  readonly startCost: number;
  readonly maxStarts: number;
  /** More starts than that, up to `maximum`, when they come at moments that fit. */
  readonly extraStarts?: { readonly maximum: number; readonly fits: (starts: readonly Instant[]) => boolean };
  readonly running: boolean;
  /** Since the present mode began. */
  readonly age: Duration;
  /** Slots that other jobs occupy, by their start. */
  readonly isSlotOccupied?: (slot: Instant) => boolean;
}

/** Values by slot for any instant of a horizon. */
interface HorizonGrid {
  readonly period: number;
  /** What a slot counts as: its value, and what running in it gives away. */
  readonly value: (slot: number) => number;
}

/**
 * Past its last point a horizon repeats the day before, or its mean where it is shorter than a day, and before its first point
 * it holds the first; a missing point holds the one before it, two in a row are unknown and not run in.
 */
function buildGrid({ values, period, uncertainty }: Horizon, uncertaintyWeight: number): HorizonGrid {
  const day = Math.max(1, Math.round(days(1) / period));
  const last = values.length;
  const mean = last < day ? computeMeanOfKnown(values) : Number.NaN;
  const known = (slot: number) => {
    const value = values[slot];
    return value === undefined || !Number.isNaN(value) ? value : values[slot - 1];
  };
  const valueAtSlot = (slot: number): number => {
    if (slot < 0) return known(0) ?? Number.NaN;
    if (slot < last) return known(slot) ?? Number.NaN;
    const back = slot - day * Math.ceil((slot - last + 1) / day);
    return back < 0 ? mean : (known(back) ?? Number.NaN);
  };
  if (uncertainty === undefined || uncertainty.length === 0) return { period, value: valueAtSlot };
  const chances = uncertainty.map((off) => uncertaintyWeight * resolveUncertainty(off, uncertainty[0] ?? 0));
  const most = Math.max(...chances);
  const chanceOf = (slot: number) => chances[Math.min(Math.max(0, slot), chances.length - 1)] ?? 0;
  return { period, value: (slot) => valueAtSlot(slot) + most - chanceOf(slot) };
}

/** How much of what is uncertain of a slot will be known when it comes: all but what an old forecast does not know of the present either. */
function resolveUncertainty(off: number, present: number): number {
  const resolved = off * off - present * present;
  return Math.sign(resolved) * Math.sqrt(Math.abs(resolved));
}

/** The grid with what each slot costs by the tariff. */
function addPriceWeights({ period, value }: HorizonGrid, { horizon, pricing, by }: JobRequest): HorizonGrid {
  if (pricing === undefined || pricing.worth === 0) return { period, value };
  const prices = listSlotPrices(pricing.spans, horizon, Math.max(1, Math.ceil((by - horizon.from) / period)));
  return { period, value: (slot) => value(slot) + pricing.worth * (prices[Math.max(0, slot)] ?? 0) };
}

/** Of the spread, for the log-odds of the share of time a job can leave out: between the 0.07 and 0.14 that served best on 4 recorded months. */
const UNCERTAINTY_WEIGHT = 0.1;

/**
 * What is planned anew each slot runs where it turns out cleaner than foretold, and not where dirtier. To a job with time to spare an
 * uncertain slot is so better than its mean, to one that needs most of what is left it is worse.
 */
function computeUncertaintyWeight({ now, from, by, remaining }: JobRequest): number {
  const left = by - Math.max(now, from);
  const share = Math.min(0.98, Math.max(0.02, remaining / left));
  return UNCERTAINTY_WEIGHT * Math.log((1 - share) / share);
}

function computeMeanOfKnown(values: readonly number[]): number {
  const known = values.filter((value) => !Number.isNaN(value));
  return known.reduce((sum, value) => sum + value, 0) / known.length;
}

/** The cheapest runs, or undefined when the job cannot be met from here under its rules. Plans that need starts which do not fit are tried again with fewer. */
function planBest(job: JobRequest): JobPlan | undefined {
  const { maxStarts, extraStarts } = job;
  let most = extraStarts?.maximum ?? maxStarts;
  while (extraStarts !== undefined && most > maxStarts) {
    const plan = planOnGrid({ ...job, maxStarts: most });
    if (plan === undefined || plan.starts <= maxStarts || extraStarts.fits(listStarts(plan.runs, job))) return plan;
    most = plan.starts - 1;
  }
  return planOnGrid(job);
}

/** The cheapest runs with `keepLast` of them right before the deadline; where they do not fit, the cheapest without it. */
export function planJob(job: JobRequest): JobPlan | undefined {
  const { keepLast = 0, remaining, by, now, from, minOff, maxStarts, extraStarts } = job;
  const kept = Math.min(keepLast, remaining);
  const start = (by - kept) as Instant;
  if (kept <= 0 || start <= Math.max(now, from)) return planBest(job);
  const early = planBest({
    ...job,
    by: (start - minOff) as Instant,
    remaining: (remaining - kept) as Duration,
    maxStarts: maxStarts - 1,
    ...(extraStarts === undefined ? {} : { extraStarts: { ...extraStarts, maximum: extraStarts.maximum - 1 } }),
  });
  if (early === undefined || maxStarts < 1) return planBest(job);
  const last = { from: start, to: by };
  return {
    runs: [...early.runs, last],
    cost: early.cost + sumRunCost(job, last),
    starts: early.starts + 1,
  };
}

/** What a run costs that begins with a start, as in the cost of a plan. */
function sumRunCost(job: JobRequest, { from, to }: PlannedRun): number {
  const { horizon, startCost } = job;
  const { period, value } = addPriceWeights(buildGrid(horizon, computeUncertaintyWeight(job)), job);
  let sum = startCost;
  for (let slot = Math.floor((from - horizon.from) / period); horizon.from + slot * period < to; slot++) {
    const start = horizon.from + slot * period;
    sum += ((value(slot) || 0) * (Math.min(to, start + period) - Math.max(from, start))) / period;
  }
  return (sum * period) / hours(1);
}

/** What the rest of a job costs in these runs, the last as long as the need asks, with each slot at the median of it and its neighbours. */
export function computeSmoothedCost(job: JobRequest, runs: readonly PlannedRun[]): number {
  const { period, value } = addPriceWeights(buildGrid(job.horizon, computeUncertaintyWeight(job)), job);
  const { from: origin } = job.horizon;
  const present = Math.floor((job.now - origin) / period);
  let left: number = job.remaining;
  let cost = listStarts(runs, job).length * job.startCost;
  for (const [i, { from, to }] of runs.entries()) {
    const end = i === runs.length - 1 ? from + left : Math.min(to, from + left);
    left -= end - from;
    for (let slot = Math.floor((from - origin) / period); origin + slot * period < end; slot++) {
      const start = origin + slot * period;
      // The present slot has no neighbour before it, but two after it.
      const first = Math.max(slot - 1, present);
      const three = [value(first), value(first + 1), value(first + 2)];
      const weight = three.some(Number.isNaN) ? value(slot) : three.toSorted((a, b) => a - b)[1];
      cost += ((weight || 0) * (Math.min(end, start + period) - Math.max(from, start))) / period;
    }
  }
  return cost;
}

export const listStarts = (runs: readonly PlannedRun[], { running, now }: JobRequest): Instant[] =>
  runs.map(({ from }) => from).filter((from) => !(running && from <= now));

/** The cheapest of the ways to spend the rest of the present slot, each followed by the best plan from the next boundary on. */
function planOnGrid(job: JobRequest): JobPlan | undefined {
  if (job.remaining <= 0) return { runs: [], cost: 0, starts: 0 };
  const { horizon, now, by } = job;
  const grid = addPriceWeights(buildGrid(horizon, computeUncertaintyWeight(job)), job);
  const { period } = grid;
  const current = Math.floor((now - horizon.from) / period);
  const spent = now - (horizon.from + current * period);
  const first = spent > 0 ? current + 1 : current;
  const slots = buildSlotRequest(job, grid, first);
  const openings =
    spent === 0
      ? [{ slots, cost: 0, starts: 0, head: 0 }]
      : [
          openIdle(job, slots, period - spent),
          openRunning(job, slots, { grid, slot: current, length: Math.min(period - spent, by - now) }),
        ];
  const best = openings.map((opening) => opening && completePlan(opening)).reduce(pickCheaper);
  if (best === undefined) return undefined;
  const boundary = horizon.from + first * period;
  const later = best.plan.runs.map(({ from, to }) => ({
    from: (boundary + Math.round(from * period)) as Instant,
    to: (boundary + Math.round(to * period)) as Instant,
  }));
  return {
    runs: best.head === 0 ? later : joinRuns({ from: now, to: (now + best.head) as Instant }, later),
    cost: (best.cost * period) / hours(1),
    starts: best.starts,
  };
}

/** One way to spend the rest of the present slot, its cost, and the remaining job. */
interface Opening {
  readonly slots: SlotPlanRequest;
  readonly cost: number;
  readonly starts: number;
  /** How long it runs from now, before the plan goes on. */
  readonly head: number;
}

interface OpenedPlan extends Opening {
  readonly plan: SlotPlan;
}

function completePlan(opening: Opening): OpenedPlan | undefined {
  const plan = planSlots(opening.slots);
  return plan && { ...opening, plan, cost: opening.cost + plan.cost, starts: opening.starts + plan.starts };
}

/** The job from the next boundary on, as if the rest of the present slot did not matter. */
function buildSlotRequest(job: JobRequest, { period, value }: HorizonGrid, first: number): SlotPlanRequest {
  const { horizon, from, by, remaining, minOn, minOff, startCost, maxStarts, running, age, isSlotOccupied } = job;
  const boundary = horizon.from + first * period;
  const count = Math.max(0, Math.ceil((by - boundary) / period));
  const weights = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    const at = (boundary + i * period) as Instant;
    weights[i] = at < from || isSlotOccupied?.(at) === true ? Number.NaN : value(first + i);
  }
  return {
    weights,
    need: remaining / period,
    minOn: minOn / period,
    minOff: minOff / period,
    startCost,
    maxStarts,
    running,
    age: age / period,
    lastSlot: count === 0 ? 1 : (by - boundary) / period - (count - 1),
  };
}

/** Idle for the rest of the present slot, where the minimum time allows it. */
function openIdle(job: JobRequest, slots: SlotPlanRequest, length: number): Opening | undefined {
  if (job.running && job.age < job.minOn) return undefined;
  const age = (job.running ? length : job.age + length) / job.horizon.period;
  return { slots: { ...slots, running: false, age }, cost: 0, starts: 0, head: 0 };
}

interface RestOfSlot {
  readonly grid: HorizonGrid;
  readonly slot: number;
  readonly length: number;
}

/** Running for the rest of the present slot, where the minimum time, the starts, the window and the slots that a start is bound to allow it. */
function openRunning(job: JobRequest, slots: SlotPlanRequest, { grid, slot, length }: RestOfSlot): Opening | undefined {
  const { now, from, remaining, running, age, minOn, minOff, maxStarts, horizon, isSlotOccupied } = job;
  const { period } = grid;
  const weight = grid.value(slot);
  const forced = running && age < minOn;
  const isOccupied = isSlotOccupied?.((horizon.from + slot * period) as Instant) === true;
  if (!forced && (now < from || Number.isNaN(weight) || isOccupied)) return undefined;
  if (!running && (age < minOff || maxStarts < 1)) return undefined;

  const starts = running ? 0 : 1;
  const ran = running ? age : 0;
  // Its minimum time may go on beyond this slot.
  const beyond = slots.weights.slice(0, Math.ceil(Math.max(0, minOn - ran - length) / period));
  if (!forced && beyond.some(Number.isNaN)) return undefined;
  const cost =
    (running ? 0 : job.startCost) + ((weight || 0) * Math.min(length, Math.max(remaining, minOn - ran))) / period;
  if (remaining > length) {
    const rest = { need: (remaining - length) / period, maxStarts: maxStarts - starts };
    return { slots: { ...slots, ...rest, running: true, age: (ran + length) / period }, cost, starts, head: length };
  }
  const head = Math.max(remaining, minOn - ran);
  const extra = beyond.reduce((sum, w) => sum + (w || 0), 0);
  return { slots: { ...slots, need: 0 }, cost: cost + extra, starts, head };
}

/** Ties go to fewer starts, then to the one that runs now, which finishes no later. */
function pickCheaper(idle: OpenedPlan | undefined, run: OpenedPlan | undefined): OpenedPlan | undefined {
  if (idle === undefined || run === undefined) return idle ?? run;
  const rounding = 1e-10 * (Math.abs(idle.cost) + Math.abs(run.cost));
  if (Math.abs(idle.cost - run.cost) > rounding) return idle.cost < run.cost ? idle : run;
  return idle.starts < run.starts ? idle : run;
}

function joinRuns(head: PlannedRun, later: readonly PlannedRun[]): PlannedRun[] {
  const [next, ...rest] = later;
  if (next !== undefined && next.from <= head.to) return [{ from: head.from, to: next.to }, ...rest];
  return [head, ...later];
}

/** The CO2 of `power` over these runs at the horizon's rates, whose unit the caller has made sure is lb/MWh. */
export function computeJobEmissions(
  { from, period, values }: Horizon,
  runs: readonly PlannedRun[],
  power: Kilowatt,
): Kilogram {
  let sum = 0;
  for (const run of runs)
    for (let slot = Math.max(0, Math.floor((run.from - from) / period)); from + slot * period < run.to; slot++) {
      const rate = values[slot];
      if (rate === undefined) break;
      const start = from + slot * period;
      const length = (Math.min(run.to, start + period) - Math.max(run.from, start)) as Duration;
      if (!Number.isNaN(rate)) sum += computeEmissions(computeEnergy(power, length), rate as LbsPerMwh);
    }
  return sum as Kilogram;
}
