/** Decides whether a newer plan is worth the starts it adds to the present one. */

import type { LoadConfig } from '../../domain/load-types.ts';
import { type Instant, RATE_UNITS } from '../../domain/units.ts';
import type { RefusedChange } from '../control-types.ts';
import type { LoadPlan } from '../state/control-state.ts';
import { computeBill } from './job-pricing.ts';
import { computeJobEmissions, computeSmoothedCost, type JobRequest, listStarts } from './schedule-job.ts';
import type { JobPlan, PlannedRun } from './slot-plan.ts';

/** The present plan of a load, and the one that newer values lead to. */
export interface PlanChange {
  readonly load: LoadConfig;
  readonly plan: LoadPlan;
  readonly made: JobPlan;
  readonly request: JobRequest;
}

const isRunAt = (runs: readonly PlannedRun[], now: Instant) => runs.some(({ from, to }) => from <= now && now < to);

/** What is still to come of the runs. */
export const listRunsAhead = (runs: readonly PlannedRun[], now: Instant): PlannedRun[] =>
  runs.filter(({ to }) => to > now).map(({ from, to }) => ({ from: Math.max(from, now) as Instant, to }));

const countAddedStarts = ({ plan, made, request }: PlanChange): number =>
  Math.max(
    0,
    listStarts(made.runs, request).length - listStarts(listRunsAhead(plan.runs, request.now), request).length,
  );

/**
 * Changes of plans made together are worth it or not together: they must gain what their starts cost, and a peak or dip of one slot
 * gains nothing. A change that switches nothing now, or adds no start, is always worth it.
 */
export function isWorthItsStarts(changes: readonly PlanChange[]): boolean {
  const switches = changes.some(
    ({ plan, made, request: { now } }) => isRunAt(plan.runs, now) !== isRunAt(made.runs, now),
  );
  if (!switches || changes.every((change) => countAddedStarts(change) === 0)) return true;
  const gain = changes.reduce((sum, { load, plan, made, request }) => {
    const before = computeSmoothedCost(request, listRunsAhead(plan.runs, request.now));
    return sum + load.powerKw * (before - computeSmoothedCost(request, made.runs));
  }, 0);
  return gain > 0;
}

/** What a change that was refused would have added and saved, by the values as they are. */
export function describeRefusal(change: PlanChange): RefusedChange {
  const { load, plan, made, request } = change;
  const { horizon, now, pricing } = request;
  const runs = listRunsAhead(plan.runs, now);
  const emissionsOf = (some: readonly PlannedRun[]) => computeJobEmissions(horizon, some, load.powerKw);
  return {
    at: now,
    starts: countAddedStarts(change),
    ...(horizon.units === RATE_UNITS ? { kg: emissionsOf(runs) - emissionsOf(made.runs) } : {}),
    ...(pricing === undefined
      ? {}
      : {
          cost:
            load.powerKw * (computeBill(runs, horizon, pricing.spans) - computeBill(made.runs, horizon, pricing.spans)),
        }),
  };
}
