/** Plans several jobs that share one power budget. */

import type { Instant, Kilowatt } from '../../domain/units.ts';
import { type JobRequest, planJob } from './schedule-job.ts';
import type { JobPlan, PlannedRun } from './slot-plan.ts';

export interface JobShare {
  readonly job: Omit<JobRequest, 'isSlotOccupied'>;
  readonly power: Kilowatt;
}

interface SitePlan {
  /** In the order of the request; undefined for a job without room. */
  readonly plans: readonly (JobPlan | undefined)[];
  /** Value times kilowatt hours of the plans found. */
  readonly cost: number;
  /** What they would cost if each had the budget to itself: no allotment is cheaper. */
  readonly lowerBound: number;
}

interface CandidatePlans {
  readonly plans: (JobPlan | undefined)[];
  readonly missing: number;
  readonly cost: number;
}

const computeJobSlack = ({ job }: JobShare) => job.by - Math.max(job.now, job.from) - job.remaining;

/** The job with the least slack plans first, the next around it, and so on; each of the first four is tried as the first, so both orders of two are. */
export function planSite(shares: readonly JobShare[], budget: Kilowatt): SitePlan {
  const alone = shares.map(({ job }) => planJob(job));
  const lowerBound = computeTotalCost(shares, alone);
  const fits = (plans: readonly (JobPlan | undefined)[]) => computePeakPower(shares, plans) <= budget + 1e-9;
  if (fits(alone)) return { plans: alone, cost: lowerBound, lowerBound };

  const bySlack = shares
    .map((_, i) => i)
    .sort((a, b) => computeJobSlackAt(shares, a) - computeJobSlackAt(shares, b) || a - b);
  let best: CandidatePlans | undefined;
  for (const order of listOrders(bySlack)) {
    const candidate = planInOrder(shares, budget, order);
    if (
      best === undefined ||
      candidate.missing < best.missing ||
      (candidate.missing === best.missing && candidate.cost < best.cost)
    )
      best = candidate;
  }
  const plans = best?.plans ?? alone;
  return { plans, cost: best?.cost ?? 0, lowerBound };
}

const computeJobSlackAt = (shares: readonly JobShare[], i: number) => {
  const share = shares[i];
  return share === undefined ? 0 : computeJobSlack(share);
};

/** The order by slack, and each order with one job moved to the front: a loose job may occupy the hours that a tight one needs. */
const listOrders = (bySlack: readonly number[]) =>
  bySlack.slice(0, 4).map((first) => [first, ...bySlack.filter((i) => i !== first)]);

function planInOrder(shares: readonly JobShare[], budget: Kilowatt, order: readonly number[]): CandidatePlans {
  const plans: (JobPlan | undefined)[] = shares.map(() => undefined);
  for (const i of order) plans[i] = planAround(shares, plans, budget, i);
  return { plans, missing: plans.filter((plan) => plan === undefined).length, cost: computeTotalCost(shares, plans) };
}

const computeTotalCost = (shares: readonly JobShare[], plans: readonly (JobPlan | undefined)[]) =>
  shares.reduce((sum, { power }, i) => sum + (plans[i]?.cost ?? 0) * power, 0);

/** The plan of one job in what the others leave of each slot; a slot used in part counts as used. */
function planAround(shares: readonly JobShare[], plans: readonly (JobPlan | undefined)[], budget: Kilowatt, i: number) {
  const share = shares[i];
  if (share === undefined) return undefined;
  const { period } = share.job.horizon;
  const others = plans.flatMap((plan, j) => (j === i ? [] : toPoweredRuns(shares[j], plan)));
  const isSlotOccupied = (slot: Instant) => {
    const power = computePeakPowerWithin(others, slot, slot + period);
    return power + share.power > budget + 1e-9;
  };
  return planJob({ ...share.job, isSlotOccupied });
}

export interface PoweredRun extends PlannedRun {
  readonly power: number;
}

const toPoweredRuns = (share: JobShare | undefined, plan: JobPlan | undefined): PoweredRun[] =>
  share === undefined || plan === undefined ? [] : plan.runs.map((run) => ({ ...run, power: share.power }));

/** The highest power drawn at once between two times. */
export function computePeakPowerWithin(runs: readonly PoweredRun[], from: number, to: number): number {
  const within = runs.filter((run) => run.from < to && run.to > from);
  let highest = 0;
  for (const { from: start } of within) {
    const at = Math.max(start, from);
    const power = within.reduce((sum, run) => sum + (run.from <= at && run.to > at ? run.power : 0), 0);
    if (power > highest) highest = power;
  }
  return highest;
}

function computePeakPower(shares: readonly JobShare[], plans: readonly (JobPlan | undefined)[]): number {
  return computePeakPowerWithin(
    plans.flatMap((plan, i) => toPoweredRuns(shares[i], plan)),
    -Infinity,
    Infinity,
  );
}
