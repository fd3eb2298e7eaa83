/** Divides the site's power when it does not suffice for all loads. */

import { idleLevel, isRunning } from '../../domain/levels.ts';
import type { LoadConfig } from '../../domain/load-types.ts';
import type { Instant } from '../../domain/units.ts';
import type { LoadState } from '../state/control-state.ts';
import type { Permitted } from './interlocks.ts';
import { hasNoPauseLeft, remainingNeed } from './jobs.ts';
import { minimumTimeEnd, presentLevel, type StepContext } from './step-context.ts';

interface PowerClaim {
  readonly index: number;
  readonly load: LoadConfig;
  readonly permitted: Permitted;
  /** Draws now, or may: a pause counts once it is confirmed. */
  readonly draws: boolean;
}

const POWER_TOLERANCE = 1e-9;

/**
 * Power goes to the loads that cannot be stopped, then by priority, then by deadline, then to those that run already. A load that
 * must make room stops first; the one it makes room for starts when that is confirmed.
 */
export function applyPowerBudget(
  context: StepContext,
  states: readonly LoadState[],
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
    claims.filter((claim) => isRunning(claim.permitted.level)),
    states,
  );
  const keepRunning = requesting.filter(
    ({ index, load }) =>
      mustKeepRunning(context, load, states[index]) ||
      context.now.wall <= (runTurnEnd(context, states, index) ?? -Infinity),
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

const mayDraw = ({ level, pending }: LoadState) =>
  isRunning(level) || isRunning(pending?.level) || pending?.mayDraw === true;

/** Kept running by its least running time, whether it still wants to or not. */
const mustKeepRunning = ({ now }: StepContext, load: LoadConfig, state: LoadState | undefined): boolean =>
  state !== undefined && isRunning(presentLevel(state)) && now.uptime < (minimumTimeEnd(load, state) ?? 0);

/**
 * Until when a run without a pause left keeps its power: until whoever must run by its deadline could no longer be done in time
 * after it. Undefined for a load that can pause.
 */
export function runTurnEnd({ site }: StepContext, states: readonly LoadState[], index: number): Instant | undefined {
  const [load, state] = [site.loads[index], states[index]];
  if (site.budget === undefined || load === undefined || state?.job === undefined || !hasNoPauseLeft(load, state))
    return undefined;
  const own = remainingNeed(state.job);
  const others = states.flatMap(({ job }, i) =>
    i === index || job?.forcedByDeadline !== true || site.loads[i]?.observeOnly
      ? []
      : [job.by - remainingNeed(job) - own],
  );
  return Math.min(...others, Infinity) as Instant;
}

const sumPower = (claims: readonly PowerClaim[]) => claims.reduce((sum, { load }) => sum + load.powerKw, 0);

const sortClaims = (claims: readonly PowerClaim[], states: readonly LoadState[]) =>
  [...claims].sort((a, b) => compareClaims(a, b, states));

/** Negative when `a` comes first. */
function compareClaims(a: PowerClaim, b: PowerClaim, states: readonly LoadState[]): number {
  const deadline = ({ index }: PowerClaim) => states[index]?.job?.by ?? Infinity;
  return (
    a.permitted.request.priority - b.permitted.request.priority ||
    compareNumbers(deadline(a), deadline(b)) ||
    Number(b.draws) - Number(a.draws) ||
    a.index - b.index
  );
}

const compareNumbers = (a: number, b: number) => (a === b ? 0 : a - b);
