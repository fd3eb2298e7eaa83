/** Applies a command to a load, and its answer, to the load's state: levels, starts, retries. */

import { getPowerPortion } from '../../domain/currents.ts';
import { isRunning } from '../../domain/levels.ts';
import type { Level, LoadConfig } from '../../domain/load-types.ts';
import type { ClockReading } from '../../domain/ports.ts';
import { hours, type Uptime } from '../../domain/units.ts';
import type { Permitted } from '../rules/interlocks.ts';
import { getEffectiveMinOff, getPresentCurrent, getPresentLevel } from '../rules/step-context.ts';
import type { LoadState } from './control-state.ts';

/** Read-backs in a row that differ before the output counts as faulty, and how long it then does. */
const FAULT_AFTER_DISAGREEMENTS = 3;
const FAULT_DURATION = hours(1 / 6);
const FIRST_SWITCH_RETRY = 5_000;
const MAX_SWITCH_RETRY = 300_000;

/** Whether to send a command: the load neither has the level nor is about to, or a failed command may still reach its device. A safety trip does not wait for a retry. */
export const needsCommand = (load: LoadConfig, state: LoadState, permitted: Permitted): boolean =>
  !hasLevel(state, permitted) && !load.observeOnly && (state.retryAt === undefined || permitted.request.priority === 1);

const hasLevel = (state: LoadState, { level, current }: Permitted) =>
  getPresentLevel(state) === level &&
  (state.pending !== undefined || (state.failedLevel ?? level) === level) &&
  (!isRunning(level) || getPresentCurrent(state)?.amps === current?.amps);

/** The state after a command that was due; a load with `observeOnly` follows at once. */
export function applyLevel(load: LoadConfig, state: LoadState, permitted: Permitted, now: ClockReading): LoadState {
  const { level } = permitted;
  if (load.observeOnly) return getPresentLevel(state) === level ? state : confirmLevel(state, level, now);
  if (!needsCommand(load, state, permitted)) return state;
  const { pending } = state;
  const sentPortion = isRunning(pending?.level) ? getPowerPortion(pending?.current) : 0;
  const mayDrawPortion = Math.max(pending?.mayDrawPortion ?? 0, sentPortion);
  return {
    ...replacePending(state, now.uptime),
    pending: { level, at: now.uptime, mayDrawPortion, current: permitted.current },
  };
}

/** A command given before the last one was confirmed: the load may have switched and counts as if it had. */
function replacePending(state: LoadState, at: Uptime): LoadState {
  const { pending, level } = state;
  if (pending === undefined || isRunning(pending.level) === isRunning(level)) return state;
  return countStart({ ...state, runningSince: at }, isRunning(level) ? at : pending.at);
}

export const countStart = (state: LoadState, at: Uptime): LoadState => ({
  ...state,
  starts: [...state.starts, at],
  job: state.job && { ...state.job, starts: state.job.starts + 1 },
});

/** Whether a command that failed may have stopped or started a load that is now confirmed as it was before: nobody reported that, and it counts as a start. That it does not run may also be reported without a command. */
const mayHaveSwitched = ({ level: before, pending, failedLevel }: LoadState, level: Level): boolean =>
  (pending?.level === level || (pending === undefined && !isRunning(level))) &&
  failedLevel !== undefined &&
  isRunning(failedLevel) !== isRunning(level) &&
  isRunning(before) === isRunning(level);

/** An unknown load that takes a commanded level, be it late, may have switched just then. */
const isCommanded = ({ pending, failedLevel }: LoadState, level: Level) =>
  pending?.level === level || failedLevel === level;

/** A level that was found, not caused, is no start; any other change counts from now. */
export function confirmLevel(state: LoadState, level: Level, { uptime }: ClockReading): LoadState {
  const { level: before, blocks } = state;
  const pending = state.pending?.level === level ? undefined : state.pending;
  const settled = pending === undefined ? { retryAt: undefined, faultUntil: undefined } : {};
  const isSwitchCounted = mayHaveSwitched(state, level);
  const failedLevel = isSwitchCounted || state.pending?.level === level ? undefined : state.failedLevel;
  const current = !isRunning(level) ? undefined : pending === state.pending ? state.current : state.pending?.current;
  const offSince = isRunning(level) ? undefined : state.offSince;
  const answered: LoadState = { ...state, offSince, current, pending, failedLevel, ...settled };
  const confirmed = isSwitchCounted ? countStart({ ...answered, runningSince: uptime }, uptime) : answered;
  if (before === level) return confirmed;
  const changed: LoadState = {
    ...confirmed,
    level,
    levelSince: uptime,
    blocks: level === 'block' ? [...blocks, uptime] : blocks,
  };
  const hasSwitched = before === undefined ? isCommanded(state, level) : isRunning(before) !== isRunning(level);
  if (!hasSwitched) return changed;
  const switched = { ...changed, runningSince: uptime };
  return isRunning(level) ? countStart(switched, uptime) : switched;
}

/** A load that rests and is out of reach may be started by its release: a last will that the broker sends, for one. */
const findReleaseLevel = ({ failSafe, onStop }: LoadConfig, { level }: LoadState): Level | undefined =>
  onStop !== 'hold' && isRunning(failSafe) && !isRunning(level) ? failSafe : undefined;

/** The command is dropped and given again after a pause; a load that keeps disagreeing is left at its fail-safe level. */
export function recordFailure(
  load: LoadConfig,
  state: LoadState,
  disagreements: number,
  { uptime }: ClockReading,
): LoadState {
  const pause = Math.min(MAX_SWITCH_RETRY, FIRST_SWITCH_RETRY * 2 ** Math.max(0, Math.min(10, disagreements - 1)));
  const isFaulty = disagreements >= FAULT_AFTER_DISAGREEMENTS;
  // The first command of a start is no step of the core: the fail-safe program may have switched a load whose output cannot be read.
  const failed = state.pending?.level ?? (isFaulty ? findReleaseLevel(load, state) : load.failSafe);
  const isOther = failed !== undefined && failed !== state.level;
  // It is back at a running fail-safe level after its pause.
  const restLength = isOther && !isRunning(failed) ? getEffectiveMinOff(load) : 0;
  return {
    ...state,
    pending: undefined,
    failedLevel: isOther ? failed : state.failedLevel,
    failedAt: isOther && state.faultUntil === undefined ? uptime : state.failedAt,
    retryAt: (uptime + pause) as Uptime,
    faultUntil: isFaulty ? ((uptime + restLength + FAULT_DURATION) as Uptime) : state.faultUntil,
  };
}
