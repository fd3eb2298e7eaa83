/** Plans of several jobs that never draw more than one budget together; knows neither loads nor what time it is. */

import type { Instant, Kilowatt } from '../units.ts';
import { type JobPlan, type JobRequest, planJob, type Run } from './schedule.ts';

export interface Share {
  readonly job: Omit<JobRequest, 'isTaken'>;
  readonly power: Kilowatt;
}

export interface Allotment {
  /** In the order asked for; undefined where a job finds no room. */
  readonly plans: readonly (JobPlan | undefined)[];
  /** Value times kilowatt hours of the plans found. */
  readonly cost: number;
  /** What they would cost if each had the budget to itself: no allotment is cheaper. */
  readonly lowerBound: number;
}

/** Rounds of planning each job anew around the others; the cost only ever falls. */
const MOST_ROUNDS = 4;

interface Found {
  readonly plans: (JobPlan | undefined)[];
  readonly missing: number;
  readonly cost: number;
}

const slack = ({ job }: Share) => job.by - Math.max(job.now, job.from) - job.remaining;

/** The job with the least slack plans first, the next around it, then each anew around the rest; both orders of two are tried. */
export function allot(shares: readonly Share[], budget: Kilowatt): Allotment {
  const alone = shares.map(({ job }) => planJob(job));
  const lowerBound = costOf(shares, alone);
  const fits = (plans: readonly (JobPlan | undefined)[]) => peak(shares, plans) <= budget + 1e-9;
  if (fits(alone)) return { plans: alone, cost: lowerBound, lowerBound };

  const bySlack = shares.map((_, i) => i).sort((a, b) => slackAt(shares, a) - slackAt(shares, b) || a - b);
  let best: Found | undefined;
  for (const order of ordersToTry(bySlack)) {
    const found = improved(shares, budget, inOrder(shares, budget, order));
    if (
      best === undefined ||
      found.missing < best.missing ||
      (found.missing === best.missing && found.cost < best.cost)
    )
      best = found;
  }
  const plans = best?.plans ?? alone;
  return { plans, cost: best?.cost ?? 0, lowerBound };
}

const slackAt = (shares: readonly Share[], i: number) => {
  const share = shares[i];
  return share === undefined ? 0 : slack(share);
};

/** The order by slack, and each order that takes one job to the front: a loose job may hold the hours a tight one needs less. */
const ordersToTry = (bySlack: readonly number[]) =>
  bySlack.slice(0, 4).map((first) => [first, ...bySlack.filter((i) => i !== first)]);

function inOrder(shares: readonly Share[], budget: Kilowatt, order: readonly number[]): Found {
  const plans: (JobPlan | undefined)[] = shares.map(() => undefined);
  for (const i of order) plans[i] = around(shares, plans, budget, i);
  return found(shares, plans);
}

function improved(shares: readonly Share[], budget: Kilowatt, start: Found): Found {
  let best = start;
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const before = best;
    for (let i = 0; i < shares.length; i++) {
      const plans = [...best.plans];
      plans[i] = undefined;
      plans[i] = around(shares, plans, budget, i);
      const next = found(shares, plans);
      if (next.missing < best.missing || (next.missing === best.missing && next.cost < best.cost - 1e-9)) best = next;
    }
    if (best === before) return best;
  }
  return best;
}

function found(shares: readonly Share[], plans: (JobPlan | undefined)[]): Found {
  return { plans, missing: plans.filter((plan) => plan === undefined).length, cost: costOf(shares, plans) };
}

const costOf = (shares: readonly Share[], plans: readonly (JobPlan | undefined)[]) =>
  shares.reduce((sum, { power }, i) => sum + (plans[i]?.cost ?? 0) * power, 0);

/** The plan of one job in what the others leave of each slot; a slot used in part counts as used. */
function around(shares: readonly Share[], plans: readonly (JobPlan | undefined)[], budget: Kilowatt, i: number) {
  const share = shares[i];
  if (share === undefined) return undefined;
  const { period } = share.job.outlook;
  const others = plans.flatMap((plan, j) => (j === i ? [] : drawn(shares[j], plan)));
  const isTaken = (slot: Instant) => {
    const power = peakWithin(others, slot, slot + period);
    return power + share.power > budget + 1e-9;
  };
  return planJob({ ...share.job, isTaken });
}

export interface Drawn extends Run {
  readonly power: number;
}

const drawn = (share: Share | undefined, plan: JobPlan | undefined): Drawn[] =>
  share === undefined || plan === undefined ? [] : plan.runs.map((run) => ({ ...run, power: share.power }));

/** The highest power drawn at once between two times. */
export function peakWithin(runs: readonly Drawn[], from: number, to: number): number {
  const within = runs.filter((run) => run.from < to && run.to > from);
  let highest = 0;
  for (const { from: start } of within) {
    const at = Math.max(start, from);
    const power = within.reduce((sum, run) => sum + (run.from <= at && run.to > at ? run.power : 0), 0);
    if (power > highest) highest = power;
  }
  return highest;
}

function peak(shares: readonly Share[], plans: readonly (JobPlan | undefined)[]): number {
  return peakWithin(
    plans.flatMap((plan, i) => drawn(shares[i], plan)),
    -Infinity,
    Infinity,
  );
}
