/** Which loads may draw when the site's power does not suffice for all; never how much one of them draws. */

import type { LoadConfig } from '../config/config.ts';
import type { Context, Draft } from './context.ts';
import { levelSince, minOnOf, presentLevel, runningSince } from './context.ts';
import type { Settled } from './guards.ts';
import { idleLevel, isRunning, isSgReady } from './levels.ts';

interface Claim {
  readonly index: number;
  readonly load: LoadConfig;
  readonly settled: Settled;
  /** Draws now, or may already: told to run, or not yet confirmed idle. */
  readonly draws: boolean;
}

const ROUNDING = 1e-9;

/**
 * Power goes to the loads that cannot be stopped, then by rung, then by deadline, then to those that run already. A load that
 * must make room stops first; the one it makes room for starts when that is confirmed.
 */
export function withinBudget(
  context: Context,
  states: readonly Draft[],
  settled: readonly Settled[],
): readonly Settled[] {
  const { budget, loads } = context.site;
  if (budget === undefined) return settled;
  const claims = loads.flatMap((load, index): Claim[] => {
    const one = settled[index];
    const state = states[index];
    if (one === undefined || state === undefined || load.shadow) return [];
    return [{ index, load, settled: one, draws: isRunning(presentLevel(state)) || isRunning(state.level) }];
  });
  const wanting = claims.filter(({ settled }) => isRunning(settled.level));
  const bound = wanting.filter(({ index, load }) => isBound(context, states[index], load));
  let granted = powerOf(bound);
  let drawn = powerOf(claims.filter(({ draws }) => draws));
  const result = [...settled];

  for (const claim of inOrder(
    wanting.filter((claim) => !bound.includes(claim)),
    states,
  )) {
    const { index, load, draws } = claim;
    const fits = granted + load.power <= budget + ROUNDING;
    if (fits) granted += load.power;
    if (fits && (draws || drawn + load.power <= budget + ROUNDING)) {
      if (!draws) drawn += load.power;
      continue;
    }
    result[index] = { wish: claim.settled.wish, level: idleLevel(load), guard: 'power-budget' };
  }
  return result;
}

/** Kept running by its least running time, whether it still wants to or not. */
function isBound(context: Context, state: Draft | undefined, load: LoadConfig): boolean {
  if (state === undefined || !isRunning(presentLevel(state))) return false;
  const { uptime } = context.now;
  return uptime < runningSince(state) + minOnOf(load) || (isSgReady(load) && uptime < levelSince(state) + load.hold);
}

const powerOf = (claims: readonly Claim[]) => claims.reduce((sum, { load }) => sum + load.power, 0);

function inOrder(claims: readonly Claim[], states: readonly Draft[]): Claim[] {
  const deadline = ({ index }: Claim) => states[index]?.job?.by ?? Infinity;
  return [...claims].sort(
    (a, b) =>
      a.settled.wish.priority - b.settled.wish.priority ||
      compare(deadline(a), deadline(b)) ||
      Number(b.draws) - Number(a.draws) ||
      a.index - b.index,
  );
}

const compare = (a: number, b: number) => (a === b ? 0 : a - b);
