/** Divides the site's power when it does not suffice for all loads. */

import { getPowerPortion, listLowerCurrents } from '../../domain/currents.ts';
import { getIdleLevel, isRunning } from '../../domain/levels.ts';
import type { LoadConfig, LoadCurrent } from '../../domain/load-types.ts';
import type { Instant, Kilowatt } from '../../domain/units.ts';
import type { LoadState } from '../state/control-state.ts';
import type { Permitted } from './interlocks.ts';
import { computeRemainingNeed, hasNoPauseLeft } from './jobs.ts';
import { findMinimumTimeEnd, getPresentCurrent, getPresentLevel, type StepContext } from './step-context.ts';

interface PowerClaim {
  readonly index: number;
  readonly load: LoadConfig;
  readonly state: LoadState;
  readonly permitted: Permitted;
  /** Draws now, or may: a pause counts once it is confirmed. */
  readonly draws: boolean;
}

const POWER_TOLERANCE = 1e-9;
/** From this priority on loads of one priority share: before it a deadline or a person would wait for a load that can. */
const FIRST_SHARED_PRIORITY = 7;

/**
 * Power goes to the loads that cannot be stopped, then by priority, then by deadline, then to those that run already. A charger is
 * lowered where that lets another load of its priority run, or where the rest is all there is for it. A load that must make room
 * stops or is lowered first; the one it makes room for starts when that is confirmed;
 * a charger that reports no current counts as lowered after ten seconds.
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
    return [{ index, load, state, permitted: one, draws: mayDraw(state) }];
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
  const account = openAccount(budget, claims, keepRunning);
  const result = [...permitted];
  for (const group of groupClaims(requesting)) {
    const admitted = group.filter((claim) => keepRunning.includes(claim) || account.admit(claim));
    // Who runs already is admitted first, and not raised first: else each start would change the order.
    for (const claim of [...group].sort((a, b) => compareByDeadline(a, b, states))) {
      const power = admitted.includes(claim) ? account.raise(claim, keepRunning.includes(claim)) : undefined;
      result[claim.index] = power === undefined ? refuse(claim) : lower(claim.permitted, power.current);
    }
  }
  return result;
}

const refuse = ({ load, permitted: { request } }: PowerClaim): Permitted => ({
  request,
  level: getIdleLevel(load),
  interlock: 'power-budget',
});

const lower = (permitted: Permitted, current: LoadCurrent | undefined): Permitted =>
  current === undefined ? permitted : { ...permitted, current };

/** Each claim by itself, and those of one shared priority together; in their order. */
function groupClaims(claims: readonly PowerClaim[]): readonly (readonly PowerClaim[])[] {
  const groups: PowerClaim[][] = [];
  for (const claim of claims) {
    const last = groups.at(-1);
    const { priority } = claim.permitted.request;
    if (last?.[0]?.permitted.request.priority === priority && priority >= FIRST_SHARED_PRIORITY) last.push(claim);
    else groups.push([claim]);
  }
  return groups;
}

/** What is granted of the budget, and what is drawn until loads that stop or are lowered have confirmed that. */
function openAccount(budget: Kilowatt, claims: readonly PowerClaim[], keepRunning: readonly PowerClaim[]) {
  const limit = budget + POWER_TOLERANCE;
  let granted = keepRunning.reduce((sum, claim) => sum + computeLeastPower(claim), 0);
  let drawn = claims.reduce((sum, claim) => sum + computeDrawnPower(claim), 0);

  return {
    /** Reserves the least power of a load; false when there is not so much. */
    admit(claim: PowerClaim): boolean {
      const fits = granted + computeLeastPower(claim) <= limit;
      if (fits) granted += computeLeastPower(claim);
      return fits;
    },
    /** The highest current that is left; undefined while too much is drawn for the load to start. */
    raise(claim: PowerClaim, isKept: boolean): { readonly current: LoadCurrent | undefined } | undefined {
      const own = computeDrawnPower(claim);
      const room = limit - granted + computeLeastPower(claim);
      const fitting = listChoices(claim).filter(({ power }) => power <= room);
      const best = fitting[0] ?? listChoices(claim).at(-1);
      if (best === undefined) return undefined;
      granted += best.power - computeLeastPower(claim);
      const isFree = ({ power }: PowerChoice) =>
        power <= computeSentPower(claim) || drawn - own + Math.max(own, power) <= limit;
      const free = [best, ...fitting].find(isFree) ?? (isKept ? listChoices(claim).at(-1) : undefined);
      if (free !== undefined) drawn += Math.max(0, free.power - own);
      return free;
    },
  };
}

interface PowerChoice {
  /** Undefined: its own. */
  readonly current: LoadCurrent | undefined;
  readonly power: number;
}

const computePowerAt = ({ load }: PowerClaim, current: LoadCurrent | undefined) =>
  load.powerKw * getPowerPortion(current);

/** Descending. */
const listChoices = (claim: PowerClaim): readonly PowerChoice[] =>
  [undefined, ...listLowerCurrents(claim.load).toReversed()].map((current) => ({
    current,
    power: computePowerAt(claim, current),
  }));

const computeLeastPower = (claim: PowerClaim) => computePowerAt(claim, listLowerCurrents(claim.load)[0]);

/** What it was told last, which is no news to the budget; a load that takes all or nothing may go on with what it may draw. */
function computeSentPower(claim: PowerClaim): number {
  if (listLowerCurrents(claim.load).length === 0) return computeDrawnPower(claim);
  return isRunning(getPresentLevel(claim.state)) ? computePowerAt(claim, getPresentCurrent(claim.state)) : 0;
}

/** By the highest of the currents that it may have. */
function computeDrawnPower(claim: PowerClaim): number {
  const { state, draws } = claim;
  if (!draws) return 0;
  const { level, current, pending } = state;
  return Math.max(
    claim.load.powerKw * (pending?.mayDrawPortion ?? 0),
    isRunning(level) ? computePowerAt(claim, current) : 0,
    isRunning(pending?.level) ? computePowerAt(claim, pending?.current) : 0,
  );
}

const mayDraw = ({ level, pending }: LoadState) =>
  isRunning(level) || isRunning(pending?.level) || (pending?.mayDrawPortion ?? 0) > 0;

/** Kept running by its least running time, whether it still wants to or not. */
const mustKeepRunning = ({ now }: StepContext, load: LoadConfig, state: LoadState | undefined): boolean =>
  state !== undefined && isRunning(getPresentLevel(state)) && now.uptime < (findMinimumTimeEnd(load, state) ?? 0);

/**
 * Until when a run without a pause left keeps its power: until whoever must run by its deadline could no longer be done in time
 * after it. Undefined for a load that can pause.
 */
export function runTurnEnd({ site }: StepContext, states: readonly LoadState[], index: number): Instant | undefined {
  const [load, state] = [site.loads[index], states[index]];
  if (site.budget === undefined || load === undefined || state?.job === undefined || !hasNoPauseLeft(load, state))
    return undefined;
  const own = computeRemainingNeed(state.job);
  const others = states.flatMap(({ job }, i) =>
    i === index || job?.forcedByDeadline !== true || site.loads[i]?.observeOnly
      ? []
      : [job.by - computeRemainingNeed(job) - own],
  );
  return Math.min(...others, Infinity) as Instant;
}

const sortClaims = (claims: readonly PowerClaim[], states: readonly LoadState[]) =>
  [...claims].sort((a, b) => compareClaims(a, b, states));

/** Negative when `a` comes first. */
function compareClaims(a: PowerClaim, b: PowerClaim, states: readonly LoadState[]): number {
  return (
    a.permitted.request.priority - b.permitted.request.priority ||
    compareDeadlines(a, b, states) ||
    Number(b.draws) - Number(a.draws) ||
    a.index - b.index
  );
}

const compareByDeadline = (a: PowerClaim, b: PowerClaim, states: readonly LoadState[]) =>
  compareDeadlines(a, b, states) || a.index - b.index;

function compareDeadlines(a: PowerClaim, b: PowerClaim, states: readonly LoadState[]): number {
  const deadline = ({ index }: PowerClaim) => states[index]?.job?.by ?? Infinity;
  return compareNumbers(deadline(a), deadline(b));
}

const compareNumbers = (a: number, b: number) => (a === b ? 0 : a - b);
