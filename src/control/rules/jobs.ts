/** Which job a load has, how far it is, and when it can wait no longer; never when it best runs. */

import { isRunning } from '../../domain/levels.ts';
import type { Goal, LoadConfig } from '../../domain/load-types.ts';
import { findNextDeadline, findPreviousDeadline, findPreviousOccurrence } from '../../domain/local-time.ts';
import type { ClockReading } from '../../domain/ports.ts';
import { type Duration, days, hours, type Instant } from '../../domain/units.ts';
import type { Job, LoadState } from '../state/control-state.ts';
import { startAllowedFrom } from './start-budget.ts';
import {
  DEFAULT_SLOT,
  effectiveMinOff,
  type MutableLoadState,
  presentLevel,
  runningSince,
  type StepContext,
  wakeAtUptime,
  wakeAtWall,
} from './step-context.ts';

/** The deadline guard leaves this much room for a load that runs slower than it should. */
export const DEADLINE_MARGIN = 1.05;
/** No goal lies further ahead: a week, and a day for the zone. */
const MAX_JOB_LEAD = days(8);

const computeNeed = (load: LoadConfig, { need }: Goal) =>
  (need.kind === 'time' ? need.time : (hours(1) * need.energy) / load.powerKw) as Duration;

export const remainingNeed = ({ need, done }: Job) => Math.max(0, need - done) as Duration;

export const isDone = (job: Job) => job.done >= job.need;

/** Ends a job at its deadline, takes up what was asked for, and arms what the week's goals say. */
export function armJob(context: StepContext, load: LoadConfig, state: MutableLoadState) {
  if (!context.now.trusted) return;
  const { wall } = context.now;
  if (state.job !== undefined && wall >= state.job.by) {
    state.previousJob = state.job;
    dropJob(state);
  }
  if (state.pendingArm !== undefined) armByCommand(context, load, state, state.pendingArm);
  if (state.job?.source !== 'command') armBySchedule(context, load, state);
  if (state.job !== undefined) wakeAtWall(context, state.job.by);
}

export function dropJob(state: MutableLoadState) {
  state.job = undefined;
  state.plan = undefined;
}

function armByCommand(
  context: StepContext,
  load: LoadConfig,
  state: MutableLoadState,
  pendingArm: NonNullable<LoadState['pendingArm']>,
) {
  const { wall } = context.now;
  state.pendingArm = undefined;
  const need = pendingArm.need ?? (load.goal && computeNeed(load, load.goal));
  const by = pendingArm.by ?? (load.goal && findNextDeadline(context.site.timezone, load.goal.by, wall));
  if (need === undefined || by === undefined || !(need > 0) || !(by > wall) || by > wall + MAX_JOB_LEAD) return;
  state.plan = undefined;
  state.job = { by, from: wall, need, done: 0 as Duration, starts: 0, forcedByDeadline: false, source: 'command' };
}

function armBySchedule(context: StepContext, load: LoadConfig, state: MutableLoadState) {
  const { goal } = load;
  if (goal?.armedBy !== 'schedule') return dropJob(state);
  if (state.job !== undefined && !context.clockJumped && !context.isFirstStep) return;
  const { timezone } = context.site;
  const by = findNextDeadline(timezone, goal.by, context.now.wall);
  if (by === undefined) return dropJob(state);
  const need = computeNeed(load, goal);
  if (state.job?.by === by) {
    if (state.job.need !== need) state.job = { ...state.job, need, forcedByDeadline: false };
    return;
  }
  const from =
    goal.from === undefined
      ? (findPreviousDeadline(timezone, goal.by, by) ?? context.now.wall)
      : findPreviousOccurrence(timezone, goal.from, by);
  // A clock that steps back over a deadline finds the job it had there, with what was delivered.
  const previous = state.previousJob?.by === by ? state.previousJob : undefined;
  state.plan = undefined;
  state.job = {
    by,
    from,
    need,
    done: previous?.done ?? (0 as Duration),
    starts: previous?.starts ?? 0,
    forcedByDeadline: false,
    source: 'schedule',
  };
}

/** How long a start must wait for the guards; for a load that runs, how long it would have to after a stop. */
function computeStartWait(context: StepContext, load: LoadConfig, state: LoadState): number {
  const { uptime } = context.now;
  const running = isRunning(presentLevel(state));
  const pauseEnds = (running ? uptime : runningSince(state)) + effectiveMinOff(load);
  return Math.max(0, pauseEnds - uptime, startAllowedFrom(load, state) - uptime);
}

/** The last moment at which a start still delivers the job, with room to spare. */
export function latestStart(context: StepContext, load: LoadConfig, state: LoadState, job: Job): Instant {
  const slot = context.view?.horizon?.period ?? DEFAULT_SLOT;
  const end = context.latestFinish.get(load.name) ?? job.by;
  return (end - remainingNeed(job) * DEADLINE_MARGIN - computeStartWait(context, load, state) - slot) as Instant;
}

/** It runs, its job is not done, and after a stop it would need one start too many. */
export function hasNoPauseLeft({ maxInterruptions = Number.POSITIVE_INFINITY }: LoadConfig, state: LoadState): boolean {
  const { job } = state;
  return job !== undefined && !isDone(job) && job.starts > maxInterruptions && isRunning(presentLevel(state));
}

/** Latches a job that can wait no longer; from then on it runs until done. Asks to be woken when that may happen. */
export function forceByDeadline(context: StepContext, load: LoadConfig, state: MutableLoadState) {
  const { job } = state;
  if (job === undefined) return;
  if (isDone(job)) {
    if (job.forcedByDeadline) state.job = { ...job, forcedByDeadline: false };
    return;
  }
  const running = isConfirmedRunning(state);
  if (running) wakeAtUptime(context, (context.now.uptime + Math.ceil(remainingNeed(job))) as typeof context.now.uptime);
  if (job.forcedByDeadline || !context.now.trusted) return;
  const { wall } = context.now;
  const latest = latestStart(context, load, state, job);
  if (wall >= job.from && wall >= latest) state.job = { ...job, forcedByDeadline: true };
  else
    wakeAtWall(context, Math.max(job.from, running ? 0 : latestStartWhenReached(context, load, state, job)) as Instant);
}

/** The latest start as it will look when it comes: a guard's wait shrinks as time passes, a stop's does not. */
function latestStartWhenReached(context: StepContext, load: LoadConfig, state: LoadState, job: Job): number {
  const wait = isRunning(presentLevel(state)) ? 0 : computeStartWait(context, load, state);
  return latestStart(context, load, state, job) + wait;
}

/** What will be missing at the deadline, even if the load runs from now on. Asks to be woken when that begins. */
export function computeShortfall(context: StepContext, load: LoadConfig, state: LoadState, job: Job): Duration {
  if (!context.now.trusted) return 0 as Duration;
  const running = isRunning(presentLevel(state));
  const { wall } = context.now;
  const start = Math.max(job.from, running ? wall : wall + computeStartWait(context, load, state));
  if (!isConfirmedRunning(state)) wakeAtWall(context, (job.by - remainingNeed(job) + 1) as Instant);
  return Math.max(0, remainingNeed(job) - Math.max(0, job.by - start)) as Duration;
}

/** Confirmed running, and not told to stop. */
const isConfirmedRunning = (state: LoadState) => isRunning(state.level) && isRunning(presentLevel(state));

/** Counts the running time since the last step, none of it before the job begins; what a stop takes to be carried out is not counted. */
export function countProgress(state: MutableLoadState, passed: Duration, { wall, trusted }: ClockReading) {
  const { job } = state;
  if (job === undefined || !isConfirmedRunning(state)) return;
  const within = trusted ? Math.min(passed, wall - job.from) : passed;
  if (within > 0) state.job = { ...job, done: (job.done + within) as Duration };
}
