/** What telling a load and its answer make of its state: levels, starts, retries. Never which level is told. */

import { isRunning } from '../../domain/levels.ts';
import type { Level, LoadConfig } from '../../domain/load-types.ts';
import { hours, type Uptime } from '../../domain/units.ts';
import type { LoadCommand } from '../control-types.ts';
import type { Permitted } from '../rules/interlocks.ts';
import { type MutableLoadState, presentLevel, type StepContext, wakeAtUptime } from '../rules/step-context.ts';

/** Read-backs in a row that differ before the output counts as faulty, and how long it then does. */
const FAULT_AFTER_DISAGREEMENTS = 3;
const FAULT_DURATION = hours(1 / 6);
const FIRST_SWITCH_RETRY = 5_000;
const MAX_SWITCH_RETRY = 300_000;

/** The command, when the load neither has the level nor is about to. A safety trip does not wait for a retry. */
export function issueCommand(
  context: StepContext,
  load: LoadConfig,
  draft: MutableLoadState,
  { level, request: wish }: Permitted,
): LoadCommand | undefined {
  if (presentLevel(draft) === level) return undefined;
  const { uptime } = context.now;
  if (load.observeOnly) {
    confirmLevel(draft, level, uptime);
    return undefined;
  }
  if (draft.retryAt !== undefined && wish.priority !== 1) {
    wakeAtUptime(context, draft.retryAt);
    return undefined;
  }
  replacePending(draft, uptime);
  const { pending } = draft;
  const mayDraw = pending !== undefined && (pending.mayDraw || isRunning(pending.level));
  draft.pending = { level, at: uptime, mayDraw };
  return { load: load.name, level };
}

/** A command given before the one under way was confirmed: the load may have switched and counts as if it had. */
function replacePending(draft: MutableLoadState, at: Uptime) {
  const { pending, level } = draft;
  if (pending === undefined || isRunning(pending.level) === isRunning(level)) return;
  draft.runningSince = at;
  countStart(draft, isRunning(level) ? at : pending.at);
}

export function countStart(draft: MutableLoadState, at: Uptime) {
  draft.starts = [...draft.starts, at];
  if (draft.job !== undefined) draft.job = { ...draft.job, starts: draft.job.starts + 1 };
}

/** A level that was found, not caused, is no start; any other change counts from now. */
export function confirmLevel(draft: MutableLoadState, level: Level, at: Uptime) {
  const before = draft.level;
  if (draft.pending?.level === level) draft.pending = undefined;
  if (draft.pending === undefined) {
    draft.retryAt = undefined;
    draft.faultUntil = undefined;
  }
  if (before === level) return;
  draft.level = level;
  draft.levelSince = at;
  if (level === 'block') draft.blocks = [...draft.blocks, at];
  if (before === undefined || isRunning(before) === isRunning(level)) return;
  draft.runningSince = at;
  if (isRunning(level)) countStart(draft, at);
}

/** The command is forgotten and given again after a pause; a load that keeps disagreeing is left at its fail-safe level. */
export function recordFailure(draft: MutableLoadState, disagreements: number, at: Uptime) {
  draft.pending = undefined;
  const pause = Math.min(MAX_SWITCH_RETRY, FIRST_SWITCH_RETRY * 2 ** Math.max(0, Math.min(10, disagreements - 1)));
  draft.retryAt = (at + pause) as Uptime;
  if (disagreements >= FAULT_AFTER_DISAGREEMENTS) draft.faultUntil = (at + FAULT_DURATION) as Uptime;
}
