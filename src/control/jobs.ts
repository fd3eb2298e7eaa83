/** Which job a load has, how far it is, and when it can wait no longer; never when it best runs. */

import type { Goal, LoadConfig } from '../config/config.ts';
import { type Duration, days, hours, type Instant } from '../units.ts';
import type { Moment } from '../world.ts';
import { lastAt, lastDeadline, nextDeadline } from './calendar.ts';
import {
  type Context,
  DEFAULT_SLOT,
  type Draft,
  minOffOf,
  presentLevel,
  runningSince,
  wakeAtUptime,
  wakeAtWall,
} from './context.ts';
import { isRunning } from './levels.ts';
import { startAllowedFrom } from './starts.ts';
import type { Job, LoadState } from './state.ts';

/** The deadline guard leaves this much room for a load that runs slower than it should. */
export const MARGIN = 1.05;
/** No goal lies further ahead: a week, and a day for the zone. */
const FURTHEST = days(8);

const needOf = (load: LoadConfig, { need }: Goal) =>
  (need.kind === 'time' ? need.time : (hours(1) * need.energy) / load.power) as Duration;

export const remaining = ({ need, done }: Job) => Math.max(0, need - done) as Duration;

export const isDone = (job: Job) => job.done >= job.need;

/** Ends a job at its deadline, takes up what was asked for, and arms what the week's goals say. */
export function arm(context: Context, load: LoadConfig, state: Draft) {
  if (!context.now.trusted) return;
  const { wall } = context.now;
  if (state.job !== undefined && wall >= state.job.by) {
    state.past = state.job;
    drop(state);
  }
  if (state.asked !== undefined) armAsAsked(context, load, state, state.asked);
  if (state.job?.source !== 'command') armBySchedule(context, load, state);
  if (state.job !== undefined) wakeAtWall(context, state.job.by);
}

export function drop(state: Draft) {
  state.job = undefined;
  state.plan = undefined;
}

function armAsAsked(context: Context, load: LoadConfig, state: Draft, asked: NonNullable<LoadState['asked']>) {
  const { wall } = context.now;
  state.asked = undefined;
  const need = asked.need ?? (load.goal && needOf(load, load.goal));
  const by = asked.by ?? (load.goal && nextDeadline(context.site.timezone, load.goal.by, wall));
  if (need === undefined || by === undefined || !(need > 0) || !(by > wall) || by > wall + FURTHEST) return;
  state.plan = undefined;
  state.job = { by, from: wall, need, done: 0 as Duration, starts: 0, latched: false, source: 'command' };
}

function armBySchedule(context: Context, load: LoadConfig, state: Draft) {
  const { goal } = load;
  if (goal?.armedBy !== 'schedule') return drop(state);
  if (state.job !== undefined && !context.jumped && !context.first) return;
  const { timezone } = context.site;
  const by = nextDeadline(timezone, goal.by, context.now.wall);
  if (by === undefined) return drop(state);
  const need = needOf(load, goal);
  if (state.job?.by === by) {
    if (state.job.need !== need) state.job = { ...state.job, need, latched: false };
    return;
  }
  const from =
    goal.from === undefined
      ? (lastDeadline(timezone, goal.by, by) ?? context.now.wall)
      : lastAt(timezone, goal.from, by);
  // A clock that steps back over a deadline finds the job it had there, with what was delivered.
  const before = state.past?.by === by ? state.past : undefined;
  state.plan = undefined;
  state.job = {
    by,
    from,
    need,
    done: before?.done ?? (0 as Duration),
    starts: before?.starts ?? 0,
    latched: false,
    source: 'schedule',
  };
}

/** How long a start must wait for the guards; for a load that runs, how long it would have to after a stop. */
function startWait(context: Context, load: LoadConfig, state: LoadState): number {
  const { uptime } = context.now;
  const running = isRunning(presentLevel(state));
  const pauseEnds = (running ? uptime : runningSince(state)) + minOffOf(load);
  return Math.max(0, pauseEnds - uptime, startAllowedFrom(load, state) - uptime);
}

/** The last moment at which a start still delivers the job, with room to spare. */
export function latestStart(context: Context, load: LoadConfig, state: LoadState, job: Job): Instant {
  const slot = context.view?.outlook?.period ?? DEFAULT_SLOT;
  const end = context.ends.get(load.name) ?? job.by;
  return (end - remaining(job) * MARGIN - startWait(context, load, state) - slot) as Instant;
}

/** It runs, its job is not done, and after a stop it would need one start too many. */
export function hasNoPauseLeft({ maxInterruptions = Number.POSITIVE_INFINITY }: LoadConfig, state: LoadState): boolean {
  const { job } = state;
  return job !== undefined && !isDone(job) && job.starts > maxInterruptions && isRunning(presentLevel(state));
}

/** Latches a job that can wait no longer; from then on it runs until done. Asks to be woken when that may happen. */
export function latch(context: Context, load: LoadConfig, state: Draft) {
  const { job } = state;
  if (job === undefined) return;
  if (isDone(job)) {
    if (job.latched) state.job = { ...job, latched: false };
    return;
  }
  const running = runs(state);
  if (running) wakeAtUptime(context, (context.now.uptime + Math.ceil(remaining(job))) as typeof context.now.uptime);
  if (job.latched || !context.now.trusted) return;
  const { wall } = context.now;
  const latest = latestStart(context, load, state, job);
  if (wall >= job.from && wall >= latest) state.job = { ...job, latched: true };
  else wakeAtWall(context, Math.max(job.from, running ? 0 : fixedLatest(context, load, state, job)) as Instant);
}

/** The latest start as it will look when it comes: a guard's wait shrinks as time passes, a stop's does not. */
function fixedLatest(context: Context, load: LoadConfig, state: LoadState, job: Job): number {
  const wait = isRunning(presentLevel(state)) ? 0 : startWait(context, load, state);
  return latestStart(context, load, state, job) + wait;
}

/** What will be missing at the deadline, even if the load runs from now on. Asks to be woken when that begins. */
export function shortfall(context: Context, load: LoadConfig, state: LoadState, job: Job): Duration {
  if (!context.now.trusted) return 0 as Duration;
  const running = isRunning(presentLevel(state));
  const { wall } = context.now;
  const start = Math.max(job.from, running ? wall : wall + startWait(context, load, state));
  if (!runs(state)) wakeAtWall(context, (job.by - remaining(job) + 1) as Instant);
  return Math.max(0, remaining(job) - Math.max(0, job.by - start)) as Duration;
}

/** Confirmed running, and not told to stop. */
const runs = (state: LoadState) => isRunning(state.level) && isRunning(presentLevel(state));

/** Counts the running time since the last step, none of it before the job begins; what a stop takes to be carried out is not counted. */
export function progress(state: Draft, passed: Duration, { wall, trusted }: Moment) {
  const { job } = state;
  if (job === undefined || !runs(state)) return;
  const within = trusted ? Math.min(passed, wall - job.from) : passed;
  if (within > 0) state.job = { ...job, done: (job.done + within) as Duration };
}
