/** Which loads may draw when the site's power does not suffice for all; never how much one of them draws. */

import type { LoadConfig } from '../config/config.ts';
import type { Instant, Uptime } from '../units.ts';
import type { Context, Draft } from './context.ts';
import { levelSince, minOnOf, presentLevel, runningSince, wakeAtUptime, wakeAtWall } from './context.ts';
import type { Settled } from './guards.ts';
import { hasNoPauseLeft, remaining } from './jobs.ts';
import { idleLevel, isRunning, isSgReady } from './levels.ts';

interface Claim {
  readonly index: number;
  readonly load: LoadConfig;
  readonly settled: Settled;
  /** Draws now, or may: a pause counts once it is confirmed. */
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
    return [{ index, load, settled: one, draws: mayDraw(state) }];
  });
  const wanting = inOrder(
    claims.filter(({ settled }) => isRunning(settled.level)),
    states,
  );
  const bound = wanting.filter(
    ({ index, load }) => isBound(context, states[index], load) || mayFinish(context, states, index),
  );
  let granted = powerOf(bound);
  let drawn = powerOf(claims.filter(({ draws }) => draws));
  const result = [...settled];
  for (const claim of wanting) {
    if (bound.includes(claim)) continue;
    const { index, load, draws } = claim;
    const fits = granted + load.power <= budget + ROUNDING;
    if (fits) granted += load.power;
    const free = draws || drawn + load.power <= budget + ROUNDING;
    if (fits && !draws && free) drawn += load.power;
    if (!fits || !free) result[index] = { wish: claim.settled.wish, level: idleLevel(load), guard: 'power-budget' };
  }
  return result;
}

const mayDraw = ({ level, pending }: Draft) =>
  isRunning(level) || isRunning(pending?.level) || pending?.mayDraw === true;

/** Kept running by its least running time, whether it still wants to or not. */
function isBound(context: Context, state: Draft | undefined, load: LoadConfig): boolean {
  if (state === undefined || !isRunning(presentLevel(state))) return false;
  const held = isSgReady(load) ? levelSince(state) + load.hold : 0;
  const end = Math.max(runningSince(state) + minOnOf(load), held) as Uptime;
  wakeAtUptime(context, end);
  return context.now.uptime < end;
}

/** A run without a pause left ends before its turn is over, when whoever can wait no longer is done in time after it all the same. */
function mayFinish(context: Context, states: readonly Draft[], index: number): boolean {
  const [load, state] = [context.site.loads[index], states[index]];
  if (load === undefined || state?.job === undefined || !hasNoPauseLeft(load, state)) return false;
  const own = remaining(state.job);
  return states.every(({ job }, other) => {
    if (other === index || job?.latched !== true || context.site.loads[other]?.shadow) return true;
    const latest = (job.by - remaining(job) - own) as Instant;
    wakeAtWall(context, (latest + 1) as Instant);
    return context.now.wall <= latest;
  });
}

const powerOf = (claims: readonly Claim[]) => claims.reduce((sum, { load }) => sum + load.power, 0);

const inOrder = (claims: readonly Claim[], states: readonly Draft[]) => [...claims].sort((a, b) => rank(a, b, states));

/** Negative when `a` comes first. */
function rank(a: Claim, b: Claim, states: readonly Draft[]): number {
  const deadline = ({ index }: Claim) => states[index]?.job?.by ?? Infinity;
  return (
    a.settled.wish.priority - b.settled.wish.priority ||
    compare(deadline(a), deadline(b)) ||
    Number(b.draws) - Number(a.draws) ||
    a.index - b.index
  );
}

const compare = (a: number, b: number) => (a === b ? 0 : a - b);
