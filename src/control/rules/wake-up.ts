/** Finds the next moment at which a step can give another result without an event: the one list of such moments. */

import { hours, type Instant, type Uptime } from '../../domain/units.ts';
import { findNextPlanChange } from '../planning/replan.ts';
import type { LoadState } from '../state/control-state.ts';
import type { Permitted } from './interlocks.ts';
import { listJobMoments } from './jobs.ts';
import { runTurnEnd } from './power-budget.ts';
import {
  findLevelSince,
  findMaxOffEnd,
  findMinimumTimeEnd,
  getPresentLevel,
  STARTUP_GRACE,
  type StepContext,
  toUptime,
} from './step-context.ts';

/** Without any event, a step at least this often notices a clock that was set. */
const MAX_SLEEP = hours(1);

/** A whole millisecond, later than now: a clock would reach a fraction before its time. */
export function findWakeUp(
  context: StepContext,
  states: readonly LoadState[],
  permitted: readonly Permitted[],
): Uptime {
  const { now, view, startup, site } = context;
  let earliest = now.uptime + MAX_SLEEP;
  const add = (...moments: readonly (Uptime | undefined)[]) => {
    for (const at of moments) if (at !== undefined && at > now.uptime && at < earliest) earliest = at;
  };
  const addWall = (...moments: readonly (Instant | undefined)[]) =>
    add(...moments.map((at) => (at === undefined ? undefined : toUptime(context, at))));

  addWall(view?.index?.startsUntil, view?.index?.validUntil, view?.horizon?.validUntil);
  add((startup.startedAt + STARTUP_GRACE) as Uptime);
  if (!now.trusted) add((startup.clockUntrustedSince + STARTUP_GRACE) as Uptime);
  for (const { request, until } of permitted) addWall(until, request.until, request.next?.at);
  for (const [i, load] of site.loads.entries()) {
    const state = states[i];
    if (state === undefined) continue;
    const { local, remote, retryAt, faultUntil, plan } = state;
    add(local?.until, remote?.until, retryAt, faultUntil, findMinimumTimeEnd(load, state), findMaxOffEnd(load, state));
    if (getPresentLevel(state) === 'block') add((findLevelSince(state) + load.maxBlock) as Uptime);
    addWall(...listJobMoments(context, load, state), plan && findNextPlanChange(plan.runs, now.wall));
    const turnEnd = runTurnEnd(context, states, i);
    if (turnEnd !== undefined) addWall((turnEnd + 1) as Instant);
  }
  return Math.max(now.uptime + 1, Math.ceil(earliest)) as Uptime;
}
