/** Which loads may draw when the site's power does not suffice for all; never how much one of them draws. */

import { idleLevel, isRunning, isSgReady } from '../../domain/levels.ts';
import type { LoadConfig } from '../../domain/load-types.ts';
import type { Instant, Uptime } from '../../domain/units.ts';
import type { Permitted } from './interlocks.ts';
import { hasNoPauseLeft, remainingNeed } from './jobs.ts';
import type { MutableLoadState, StepContext } from './step-context.ts';
import { effectiveMinOn, levelSince, presentLevel, runningSince, wakeAtUptime, wakeAtWall } from './step-context.ts';

interface PowerClaim {
  readonly index: number;
  readonly load: LoadConfig;
  readonly permitted: Permitted;
  /** Draws now, or may: a pause counts once it is confirmed. */
  readonly draws: boolean;
}

const POWER_TOLERANCE = 1e-9;

/**
 * Power goes to the loads that cannot be stopped, then by rung, then by deadline, then to those that run already. A load that
 * must make room stops first; the one it makes room for starts when that is confirmed.
 */
export function applyPowerBudget(
  context: StepContext,
  states: readonly MutableLoadState[],
  permitted: readonly Permitted[],
): readonly Permitted[] {
  const { budget, loads } = context.site;
  if (budget === undefined) return permitted;
  const claims = loads.flatMap((load, index): PowerClaim[] => {
    const one = permitted[index];
    const state = states[index];
    if (one === undefined || state === undefined || load.observeOnly) return [];
    return [{ index, load, permitted: one, draws: mayDraw(state) }];
  });
  const requesting = sortClaims(
    claims.filter(({ permitted: settled }) => isRunning(settled.level)),
    states,
  );
  const keepRunning = requesting.filter(
    ({ index, load }) => mustKeepRunning(context, states[index], load) || mayFinishRun(context, states, index),
  );
  let granted = sumPower(keepRunning);
  let drawn = sumPower(claims.filter(({ draws }) => draws));
  const result = [...permitted];
  for (const claim of requesting) {
    if (keepRunning.includes(claim)) continue;
    const { index, load, draws } = claim;
    const fits = granted + load.powerKw <= budget + POWER_TOLERANCE;
    if (fits) granted += load.powerKw;
    const free = draws || drawn + load.powerKw <= budget + POWER_TOLERANCE;
    if (fits && !draws && free) drawn += load.powerKw;
    if (!fits || !free)
      result[index] = { request: claim.permitted.request, level: idleLevel(load), interlock: 'power-budget' };
  }
  return result;
}

const mayDraw = ({ level, pending }: MutableLoadState) =>
  isRunning(level) || isRunning(pending?.level) || pending?.mayDraw === true;

/** Kept running by its least running time, whether it still wants to or not. */
function mustKeepRunning(context: StepContext, state: MutableLoadState | undefined, load: LoadConfig): boolean {
  if (state === undefined || !isRunning(presentLevel(state))) return false;
  const holdEnd = isSgReady(load) ? levelSince(state) + load.minStateTime : 0;
  const end = Math.max(runningSince(state) + effectiveMinOn(load), holdEnd) as Uptime;
  wakeAtUptime(context, end);
  return context.now.uptime < end;
}

/** A run without a pause left ends before its turn is over, when whoever can wait no longer is done in time after it all the same. */
function mayFinishRun(context: StepContext, states: readonly MutableLoadState[], index: number): boolean {
  const [load, state] = [context.site.loads[index], states[index]];
  if (load === undefined || state?.job === undefined || !hasNoPauseLeft(load, state)) return false;
  const own = remainingNeed(state.job);
  return states.every(({ job }, other) => {
    if (other === index || job?.forcedByDeadline !== true || context.site.loads[other]?.observeOnly) return true;
    const latest = (job.by - remainingNeed(job) - own) as Instant;
    wakeAtWall(context, (latest + 1) as Instant);
    return context.now.wall <= latest;
  });
}

const sumPower = (claims: readonly PowerClaim[]) => claims.reduce((sum, { load }) => sum + load.powerKw, 0);

const sortClaims = (claims: readonly PowerClaim[], states: readonly MutableLoadState[]) =>
  [...claims].sort((a, b) => compareClaims(a, b, states));

/** Negative when `a` comes first. */
function compareClaims(a: PowerClaim, b: PowerClaim, states: readonly MutableLoadState[]): number {
  const deadline = ({ index }: PowerClaim) => states[index]?.job?.by ?? Infinity;
  return (
    a.permitted.request.priority - b.permitted.request.priority ||
    compareNumbers(deadline(a), deadline(b)) ||
    Number(b.draws) - Number(a.draws) ||
    a.index - b.index
  );
}

const compareNumbers = (a: number, b: number) => (a === b ? 0 : a - b);
