/** The limits that protect the equipment: minimum on and off times, start limits, block limits, minimum state times, and the start spread. */

import { hashFraction } from '../../domain/hash-fraction.ts';
import { getIdleLevel, isRunning, isSgReady } from '../../domain/levels.ts';
import type { Level, LoadConfig, LoadCurrent } from '../../domain/load-types.ts';
import type { Instant, Uptime } from '../../domain/units.ts';
import type { DecisionReason } from '../control-types.ts';
import type { LoadState } from '../state/control-state.ts';
import { computeLatestStart, hasNoPauseLeft, isDone } from './jobs.ts';
import type { LevelRequest } from './priority-rules.ts';
import { findBlockAllowedFrom, findStartAllowedFrom } from './start-budget.ts';
import {
  findLevelSince,
  findRunningSince,
  getEffectiveMinOff,
  getEffectiveMinOn,
  getPresentLevel,
  mayRest,
  mayRun,
  type StepContext,
  toWallTime,
} from './step-context.ts';

/** The level a load may have now. */
export interface Permitted {
  readonly request: LevelRequest;
  readonly level: Level;
  /** To which the power budget lowers it; absent: its own. */
  readonly current?: LoadCurrent;
  /** What holds the request back, if anything does. */
  readonly interlock?: DecisionReason;
  readonly until?: Instant;
}

interface InterlockDelay {
  readonly interlock: DecisionReason;
  /** May be never. */
  readonly until: Uptime;
}

/** A safety trip passes every interlock; any other request is changed or delayed by each in turn. */
export function applyInterlocks(
  context: StepContext,
  load: LoadConfig,
  state: LoadState,
  request: LevelRequest,
): Permitted {
  if (request.priority === 1) return { request, level: request.level };
  const fallback = chooseFallbackLevel(context, load, state);
  let level = request.level;
  let delay: InterlockDelay | undefined;
  const limit = level === 'block' ? checkBlockLimit(context, load, state) : undefined;
  if (limit !== undefined) {
    delay = limit;
    level = 'normal';
  }
  const wait =
    checkMinimumTimes(context, load, state, { ...request, level }) ?? checkHoldTime(context, load, state, level);
  if (wait !== undefined) {
    delay = wait;
    level = fallback;
  }
  if (delay === undefined) return { request, level };
  if (delay.until === Infinity) return { request, level, interlock: delay.interlock };
  return { request, level, interlock: delay.interlock, until: toWallTime(context, delay.until) };
}

/** The level while a request waits: the present one, except that a block is let go when its time is over. */
function chooseFallbackLevel(context: StepContext, load: LoadConfig, state: LoadState): Level {
  const present = (mayRest(state) ? state.failedLevel : getPresentLevel(state)) ?? getIdleLevel(load);
  if (present !== 'block') return present;
  const release = (findLevelSince(state) + load.maxBlock) as Uptime;
  return context.now.uptime < release ? present : 'normal';
}

/** Remembers since when the shared signal requests a start: the start spread counts from there. */
export function withStartRequest({ now }: StepContext, state: LoadState, { level, priority }: LevelRequest): LoadState {
  const isRequested = isRunning(level) && (priority === 7 || priority === 8) && !isRunning(getPresentLevel(state));
  if (isRequested === (state.startRequestedAt !== undefined)) return state;
  return { ...state, startRequestedAt: isRequested ? now.uptime : undefined };
}

/** A block ends after `maxBlock`, and none is begun when the day's are used up. */
function checkBlockLimit(context: StepContext, load: LoadConfig, state: LoadState): InterlockDelay | undefined {
  const { uptime } = context.now;
  const allowed = findBlockAllowedFrom(load, state);
  if (getPresentLevel(state) === 'block') {
    const over = uptime >= findLevelSince(state) + load.maxBlock;
    return over
      ? { interlock: 'block-limit', until: Math.max(allowed, uptime + load.minStateTime) as Uptime }
      : undefined;
  }
  return allowed > uptime ? { interlock: 'block-limit', until: allowed } : undefined;
}

function checkMinimumTimes(
  context: StepContext,
  load: LoadConfig,
  state: LoadState,
  request: LevelRequest,
): InterlockDelay | undefined {
  const run = isRunning(request.level);
  const { uptime } = context.now;
  if (run && mayRest(state)) return checkPause(load, state, { uptime, since: state.failedAt ?? uptime });
  if (run === isRunning(getPresentLevel(state))) return undefined;
  // The start that failed goes on: nothing has to be waited for once more.
  if (run && mayRun(state)) return undefined;
  const since = findRunningSince(state);
  if (!run) {
    const until = (since + getEffectiveMinOn(load)) as Uptime;
    if (until > uptime) return { interlock: 'min-on', until };
    return mustFinishRun(load, state, request) ? { interlock: 'last-run', until: Infinity as Uptime } : undefined;
  }
  const pause = checkPause(load, state, { uptime, since, reserved: countReservedStarts(load, state, request) });
  if (pause !== undefined) return pause;
  const spread = startSpreadEnd(context, load, state);
  if (spread > uptime) return { interlock: 'spread', until: spread };
  // Last, so that the waits above continue while the next index is under way.
  const isTooOld = request.startsUntil !== undefined && context.now.wall >= request.startsUntil;
  return isTooOld ? { interlock: 'ageing', until: Infinity as Uptime } : undefined;
}

interface Pause {
  readonly uptime: Uptime;
  readonly since: Uptime;
  /** Of the day's starts. */
  readonly reserved?: number;
}

function checkPause(
  load: LoadConfig,
  state: LoadState,
  { uptime, since, reserved }: Pause,
): InterlockDelay | undefined {
  const pauseEnds = (since + getEffectiveMinOff(load)) as Uptime;
  if (pauseEnds > uptime) return { interlock: 'min-off', until: pauseEnds };
  const allowed = findStartAllowedFrom(load, state, reserved);
  return allowed > uptime ? { interlock: 'start-budget', until: allowed } : undefined;
}

/** A job that could not continue later continues now, with or without a signal: its interruptions are starts, too. */
const mustFinishRun = (load: LoadConfig, state: LoadState, { priority, why }: LevelRequest) =>
  priority > 6 && why !== 'output-fault' && hasNoPauseLeft(load, state);

/** What the index or a window starts leaves one start of the day for the deadline. */
const countReservedStarts = (load: LoadConfig, { job }: LoadState, { priority }: LevelRequest) =>
  job !== undefined && !isDone(job) && (priority === 8 || priority === 9) && load.maxStartsPerDay > 1 ? 1 : 0;

/** Within `startSpread`, and never so late that the deadline would force the start first. */
function startSpreadEnd(context: StepContext, load: LoadConfig, state: LoadState): Uptime {
  const { startRequestedAt, job } = state;
  if (startRequestedAt === undefined) return context.now.uptime;
  const requestedAt = toWallTime(context, startRequestedAt);
  const slack = job === undefined ? Infinity : Math.max(0, computeLatestStart(context, load, state, job) - requestedAt);
  const share = hashFraction(context.site.device, load.name, job?.by ?? '');
  return (startRequestedAt + Math.floor(share * Math.min(load.startSpread, slack))) as Uptime;
}

/** An SG-Ready state lasts for its minimum state time before any other; only the end of a block does not wait. */
function checkHoldTime(
  context: StepContext,
  load: LoadConfig,
  state: LoadState,
  level: Level,
): InterlockDelay | undefined {
  const present = getPresentLevel(state);
  if (!isSgReady(load) || present === undefined || present === level) return undefined;
  const until = (findLevelSince(state) + load.minStateTime) as Uptime;
  return until > context.now.uptime ? { interlock: 'hold', until } : undefined;
}
