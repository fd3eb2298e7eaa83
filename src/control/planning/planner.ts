/** Finds the exact cheapest way to run N slots before a deadline, under minimum times and a start limit. */

import { findBound, type RelaxedPlan } from './cost-bound.ts';
import { type DpTable, fillTable, type PlanEnd, tracePlan } from './dp-table.ts';
import { buildPrefixSums, computeRunCost, type PrefixSums, SLOT_TOLERANCE } from './prefix-sums.ts';
import { buildSlotCosts, type ProblemShape } from './slot-costs.ts';
import type { SlotPlan, SlotPlanRequest } from './slot-plan.ts';

function buildProblemShape({ weights, need, minOn, minOff, maxStarts, running, age }: SlotPlanRequest): ProblemShape {
  const whole = Math.max(1, Math.ceil(need - SLOT_TOLERANCE));
  const on = Math.max(1, Math.ceil(minOn - SLOT_TOLERANCE));
  return {
    slots: weights.length,
    need: whole,
    part: Math.min(1, need - (whole - 1)),
    minOn: on,
    hold: Math.min(1, Math.max(0, minOn - (on - 1))),
    minOff: Math.max(1, Math.ceil(minOff - SLOT_TOLERANCE)),
    // Every start brings at least `minOn` slots of progress.
    maxStarts: Math.max(0, Math.min(maxStarts, Math.ceil(whole / on))),
    isCounted: true,
    wait: Math.max(0, Math.ceil((running ? minOn : minOff) - age - SLOT_TOLERANCE)),
  };
}

/** The cheapest plan; ties go to fewer starts, then to the earlier finish. Undefined when the need cannot be met. */
export function planSlots(request: SlotPlanRequest): SlotPlan | undefined {
  if (request.need <= SLOT_TOLERANCE) return { runs: [], cost: 0, starts: 0 };
  const shape = buildProblemShape(request);
  const sums = buildPrefixSums(request.weights);
  if (request.running && shape.wait >= shape.need) return planForcedFinish(request, shape, sums);
  if (shape.maxStarts <= 1) return solveTable(request, shape, sums);
  const free = solveUncounted(request, shape, sums);
  if (free === undefined || free.starts <= shape.maxStarts) return free;
  return solveTable(request, shape, sums, { ...free, progress: shape.need });
}

/** A table of what may cost no more than the bound and a gap has few cells. The gap grows until the table holds a plan, in the end to all plans. */
function solveTable(
  request: SlotPlanRequest,
  shape: ProblemShape,
  sums: PrefixSums,
  free?: RelaxedPlan,
): SlotPlan | undefined {
  const { slots, wait } = shape;
  if (wait > slots) return undefined;
  const present = request.running
    ? { isRunning: true, cost: sums.cost[wait] as number, progress: wait }
    : { isRunning: false, cost: 0, progress: 0 };
  const problem = { shape, costs: buildSlotCosts(request, shape, sums), present };
  const bound = findBound(problem, free);
  if (bound === undefined) return undefined;
  const paid = shape.need * Math.abs(bound.progress) + shape.maxStarts * (bound.start + request.startCost);
  const slack = 1e3 * sums.rounding + 1e-10 * paid;
  const step = sums.change / 2;
  for (const gap of [bound.isReached ? 0 : step, 4 * step, 16 * step, 64 * step, Infinity]) {
    const limit = bound.least + gap + slack;
    const end = findCheapestEnd(fillTable(problem, bound, limit + slack), shape, sums.rounding);
    if (end !== undefined && end.cost <= limit) return tracePlan(request, shape, end);
  }
  return undefined;
}

/**
 * The cheapest plan with any number of starts: a fraction of the work, and where it keeps to the limit none within it is cheaper.
 * A start costs a little more than rounding more, so that ties go to fewer.
 */
function solveUncounted(request: SlotPlanRequest, shape: ProblemShape, sums: PrefixSums): SlotPlan | undefined {
  const tie = 4 * sums.rounding;
  const plan = solveTable({ ...request, startCost: request.startCost + tie }, { ...shape, isCounted: false }, sums);
  return plan && { ...plan, cost: recomputeCost(request, plan, sums) };
}

/** What the runs cost, summed anew. */
function recomputeCost(
  { weights, need, startCost }: SlotPlanRequest,
  { runs, starts }: SlotPlan,
  sums: PrefixSums,
): number {
  let left = need;
  let cost = starts * startCost;
  for (const { from, to } of runs) {
    cost += computeRunCost(weights, sums, { from, need: Math.min(left, to - from), to: to - from });
    left -= to - from;
  }
  return cost;
}

/** The minimum time of the present run meets the need by itself. */
function planForcedFinish(request: SlotPlanRequest, shape: ProblemShape, sums: PrefixSums): SlotPlan | undefined {
  const { need, part, slots } = shape;
  if (need - 1 + part > slots - 1 + request.lastSlot + SLOT_TOLERANCE) return undefined;
  const to = Math.max(request.need, request.minOn - request.age);
  return {
    runs: [{ from: 0, to }],
    cost: computeRunCost(request.weights, sums, { from: 0, need: request.need, to }),
    starts: 0,
  };
}

function findCheapestEnd(
  { cost, arrivedBy: how, width }: DpTable,
  { slots }: ProblemShape,
  rounding: number,
): PlanEnd | undefined {
  let least = Infinity;
  for (const value of cost) if (value < least) least = value;
  if (least === Infinity) return undefined;
  for (let k = 0; k < width; k++)
    for (let t = 1; t <= slots; t++) {
      const value = cost[t * width + k] as number;
      if (value <= least + rounding) return { at: t, starts: k, cost: value, arrivedBy: how[t * width + k] as number };
    }
  return undefined;
}
