/** When a load without a goal will run if the rates come as forecast: its thresholds, minimum times and maximum time off, applied to the index ahead. */

import type { Decision, DecisionReason } from '../control/control-types.ts';
import { findMaxOffEnd, getEffectiveMinOff, getEffectiveMinOn } from '../control/rules/step-context.ts';
import type { ControlState } from '../control/state/control-state.ts';
import { isRunning } from '../domain/levels.ts';
import type { LoadConfig } from '../domain/load-types.ts';
import { getThresholds } from '../domain/thresholds.ts';
import { addDuration, type Duration, hours, type Instant, minutes } from '../domain/units.ts';
import type { ExpectedRun } from '../mqtt/watcher-payloads.ts';
import { rankAhead, type TieRule } from '../signal/percentile-index.ts';
import type { Horizon } from '../signal/signal-view.ts';

/** Shorter ones come and go with each forecast, and so do those after the next few. */
const LEAST_EXPECTED = minutes(30);
const MOST_EXPECTED = 4;

const INDEX_REASONS: ReadonlySet<DecisionReason> = new Set(['clean', 'between', 'dirty', 'flat', 'max-off']);

/** Whether its thresholds decide about it, and from when on they may change its level. */
function findFreeFrom({ why, wantedWhy, until, at }: Decision): Instant | undefined {
  if (!INDEX_REASONS.has(wantedWhy ?? why)) return undefined;
  // A start that waits for power, or for a newer index, comes at a time that nobody knows.
  if (wantedWhy !== undefined && until === undefined) return undefined;
  return until ?? at;
}

/** Each forecast moves times far ahead by some minutes; those who watch need not get a document for it. */
const NEAR = hours(1);
const SMALL_MOVE = minutes(15);

function isNearlySame(before: readonly ExpectedRun[], after: readonly ExpectedRun[], now: Instant): boolean {
  const isSameTime = (a: Instant | undefined, b: Instant | undefined) =>
    a === b || (a !== undefined && b !== undefined && Math.min(a, b) > now + NEAR && Math.abs(a - b) < SMALL_MOVE);
  return (
    before.length === after.length &&
    after.every(({ from, to }, i) => isSameTime(before[i]?.from, from) && isSameTime(before[i]?.to, to))
  );
}

const hasSameValues = (a: Horizon, b: Horizon) =>
  a === b ||
  (a.period === b.period &&
    a.values.length === b.values.length &&
    a.values.every((value, i) => Object.is(value, b.values[i])));

/** Of one agent: ranks the same values once, though each view has a horizon of its own, and keeps what it found of a load until that differs notably. */
export function createExpectedRuns(ties: TieRule) {
  const found = new Map<string, readonly ExpectedRun[]>();
  let ranked: { readonly horizon: Horizon; readonly ranks: readonly number[] } | undefined;
  return (load: LoadConfig, control: ControlState, horizon: Horizon | undefined): readonly ExpectedRun[] => {
    const state = control.loads.find(({ name }) => name === load.name);
    const moment = control.lastMoment;
    if (state?.decision === undefined || moment === undefined || load.goal !== undefined || state.job !== undefined)
      return [];
    const freeFrom = findFreeFrom(state.decision);
    if (freeFrom === undefined || horizon === undefined || horizon.basis === 'own-profile') return [];
    if (ranked === undefined || !hasSameValues(ranked.horizon, horizon))
      ranked = { horizon, ranks: rankAhead(horizon.values, horizon.period, ties) };
    const forcedAt = findMaxOffEnd(load, state);
    const before = found.get(load.name);
    const runs = listRuns(load, {
      ...{ horizon, ranks: ranked.ranks, freeFrom, thresholds: getThresholds(load, state.thresholds) },
      isRunning: isRunning(state.decision.level),
      forcedAt: forcedAt === undefined ? undefined : ((moment.wall + (forcedAt - moment.uptime)) as Instant),
    });
    if (before !== undefined && isNearlySame(before, runs, moment.wall)) return before;
    found.set(load.name, runs);
    return runs;
  };
}

interface RunConditions {
  readonly horizon: Horizon;
  readonly ranks: readonly number[];
  readonly thresholds: ReturnType<typeof getThresholds>;
  readonly freeFrom: Instant;
  readonly isRunning: boolean;
  /** When its maximum time off is over. */
  readonly forcedAt: Instant | undefined;
}

/** The present period is decided already. */
function listRuns(load: LoadConfig, conditions: RunConditions): readonly ExpectedRun[] {
  const { horizon, ranks, thresholds } = conditions;
  const runs: ExpectedRun[] = [];
  let { freeFrom, forcedAt = Number.POSITIVE_INFINITY } = conditions;
  let run: Pick<ExpectedRun, 'from'> | undefined = conditions.isRunning ? {} : undefined;
  for (const [i, rank] of ranks.entries()) {
    if (runs.length === MOST_EXPECTED) return runs;
    const slot = addDuration(horizon.from, (i * horizon.period) as Duration);
    const at = Math.max(slot, freeFrom) as Instant;
    if (i === 0 || at >= slot + horizon.period) continue;
    if (run === undefined && (rank <= thresholds.onBelow || at >= forcedAt)) {
      run = { from: at };
      freeFrom = addDuration(at, getEffectiveMinOn(load));
    } else if (run !== undefined && rank >= thresholds.offAbove && rank > thresholds.onBelow) {
      if (run.from === undefined || at - run.from >= LEAST_EXPECTED) runs.push({ ...run, to: at });
      run = undefined;
      freeFrom = addDuration(at, getEffectiveMinOff(load));
      forcedAt = load.maxOff === undefined ? Number.POSITIVE_INFINITY : addDuration(at, load.maxOff);
    }
  }
  return run === undefined ? runs : [...runs, run];
}
