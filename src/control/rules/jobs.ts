/** The job of a load, its progress, and when it must run to meet its deadline. */

import { getPowerPortion } from '../../domain/currents.ts';
import { isRunning } from '../../domain/levels.ts';
import type { Goal, LoadConfig } from '../../domain/load-types.ts';
import { findNextDeadline, findPreviousDeadline, findPreviousOccurrence } from '../../domain/local-time.ts';
import type { ClockReading } from '../../domain/ports.ts';
import { type PriceSpan, sumPrice } from '../../domain/tariff.ts';
import { type Duration, days, hours, type Instant } from '../../domain/units.ts';
import { settleBill } from '../planning/job-pricing.ts';
import type { Job, LoadState } from '../state/control-state.ts';
import { findStartAllowedFrom } from './start-budget.ts';
import {
  DEFAULT_SLOT,
  findRunningSince,
  getEffectiveMinOff,
  getPresentLevel,
  type StepContext,
} from './step-context.ts';

/** Room for a load that runs slower than it should. */
export const DEADLINE_MARGIN = 1.05;
/** No goal lies further ahead: a week, and a day for the zone. */
const MAX_JOB_LEAD = days(8);

const computeNeed = (load: LoadConfig, { need }: Goal) =>
  (need.kind === 'time' ? need.time : (hours(1) * need.energy) / load.powerKw) as Duration;

export const computeRemainingNeed = ({ need, done }: Job) => Math.max(0, need - done) as Duration;

export const isDone = (job: Job) => job.done >= job.need;

/** Whether the job waits for its vehicle: none is there, or it takes no more. */
export const isSuspended = ({ vehicle }: LoadState) => vehicle === 'away' || vehicle === 'full';

/** Ends a job at its deadline, begins one that a command ordered, and arms the goals of the week. */
export function armJob(context: StepContext, load: LoadConfig, state: LoadState): LoadState {
  const { wall, trusted } = context.now;
  if (!trusted) return state;
  const isOver = state.job !== undefined && wall >= state.job.by;
  const current = isOver ? { ...dropJob(state), previousJob: state.job, savedBill: settleJobBill(load, state) } : state;
  const ordered = current.pendingArm === undefined ? current : armByCommand(context, load, current, current.pendingArm);
  return ordered.job?.source === 'command' ? ordered : armBySchedule(context, load, ordered);
}

/** A job that fell short says nothing of what it would have cost. */
const settleJobBill = (load: LoadConfig, { job, savedBill }: LoadState) =>
  job?.bill === undefined || !isDone(job) ? savedBill : settleBill(savedBill ?? 0, load, job.bill);

export const dropJob = (state: LoadState): LoadState =>
  state.job === undefined && state.plan === undefined ? state : { ...state, job: undefined, plan: undefined };

const beginJob = (state: LoadState, job: Omit<Job, 'forcedByDeadline'>): LoadState => ({
  ...state,
  // Full for the last job: whether it takes more by now shows when it may charge again.
  vehicle: state.vehicle === 'full' ? 'connected' : state.vehicle,
  job: { ...job, forcedByDeadline: false },
  plan: undefined,
});

function armByCommand(
  context: StepContext,
  load: LoadConfig,
  state: LoadState,
  order: NonNullable<LoadState['pendingArm']>,
): LoadState {
  const { wall } = context.now;
  const idle = { ...state, pendingArm: undefined };
  const need = order.need ?? (load.goal && computeNeed(load, load.goal));
  const by = order.by ?? (load.goal && findNextDeadline(context.site.timezone, load.goal.by, wall));
  if (need === undefined || by === undefined || !(need > 0) || !(by > wall) || by > wall + MAX_JOB_LEAD) return idle;
  return beginJob(idle, { by, from: wall, need, done: 0 as Duration, starts: 0, source: 'command' });
}

function armBySchedule(context: StepContext, load: LoadConfig, state: LoadState): LoadState {
  const { goal } = load;
  if (goal?.armedBy !== 'schedule') return dropJob(state);
  if (state.job !== undefined && !context.clockJumped && !context.isFirstStep) return state;
  const { timezone } = context.site;
  const by = findNextDeadline(timezone, goal.by, context.now.wall);
  if (by === undefined) return dropJob(state);
  const need = computeNeed(load, goal);
  if (state.job?.by === by)
    return state.job.need === need ? state : { ...state, job: { ...state.job, need, forcedByDeadline: false } };
  const from =
    goal.from === undefined
      ? (findPreviousDeadline(timezone, goal.by, by) ?? context.now.wall)
      : findPreviousOccurrence(timezone, goal.from, by);
  // A clock that steps back over a deadline finds the job it had there, with what was delivered.
  const previous = state.previousJob?.by === by ? state.previousJob : undefined;
  const done = previous?.done ?? (0 as Duration);
  return beginJob(state, { by, from, need, done, starts: previous?.starts ?? 0, source: 'schedule' });
}

/** How long a start must wait for the interlocks; for a load that runs, how long it would have to after a stop. */
export function computeStartWait(context: StepContext, load: LoadConfig, state: LoadState): number {
  const { uptime } = context.now;
  const running = isRunning(getPresentLevel(state));
  const pauseEnds = (running ? uptime : findRunningSince(state)) + getEffectiveMinOff(load);
  return Math.max(0, pauseEnds - uptime, findStartAllowedFrom(load, state) - uptime);
}

/** The last moment at which a start still delivers the job, with room to spare. */
export function computeLatestStart(context: StepContext, load: LoadConfig, state: LoadState, job: Job): Instant {
  const slot = context.view?.horizon?.period ?? DEFAULT_SLOT;
  const end = context.latestFinish.get(load.name) ?? job.by;
  return (end - computeRemainingNeed(job) * DEADLINE_MARGIN - computeStartWait(context, load, state) - slot) as Instant;
}

/** It runs, its job is not done, and after a stop it would need one start too many. */
export function hasNoPauseLeft({ maxInterruptions = Number.POSITIVE_INFINITY }: LoadConfig, state: LoadState): boolean {
  const { job } = state;
  if (job === undefined || isDone(job) || isSuspended(state)) return false;
  return job.starts > maxInterruptions && isRunning(getPresentLevel(state));
}

/** From its latest start on a job is forced: it then runs until it is done. */
export function forceByDeadline(context: StepContext, load: LoadConfig, state: LoadState): LoadState {
  const { job } = state;
  if (job === undefined) return state;
  if (isDone(job) || isSuspended(state))
    return job.forcedByDeadline ? { ...state, job: { ...job, forcedByDeadline: false } } : state;
  if (job.forcedByDeadline || !context.now.trusted) return state;
  const { wall } = context.now;
  const isDue = wall >= job.from && wall >= computeLatestStart(context, load, state, job);
  return isDue ? { ...state, job: { ...job, forcedByDeadline: true } } : state;
}

/** When a job ends, may begin, will be done, must be forced, or can no longer be delivered in full. */
export function listJobMoments(context: StepContext, load: LoadConfig, state: LoadState): readonly Instant[] {
  const { job } = state;
  const { wall, trusted } = context.now;
  if (job === undefined) return [];
  const moments: number[] = [job.by, job.from];
  const running = isConfirmedRunning(state);
  if (running && !isDone(job) && !isSuspended(state)) moments.push(wall + Math.ceil(computeRemainingNeed(job)));
  if (!running) moments.push(job.by - computeRemainingNeed(job) + 1);
  if (trusted && !job.forcedByDeadline && !isSuspended(state)) {
    // A pause or a start budget that delays a start shrinks as time passes, what a stop would cost does not.
    const wait = isRunning(getPresentLevel(state)) ? 0 : computeStartWait(context, load, state);
    moments.push(computeLatestStart(context, load, state, job) + wait);
  }
  return moments as Instant[];
}

/** Confirmed running, with no stop pending. */
const isConfirmedRunning = (state: LoadState) => isRunning(state.level) && isRunning(getPresentLevel(state));

/** Counts the running time, at a lower current in proportion, since the last step from the beginning of the job; the time until a stop is carried out does not count. */
export function countProgress(
  state: LoadState,
  passed: Duration,
  { wall, trusted }: ClockReading,
  prices: readonly PriceSpan[] = [],
): LoadState {
  const { job } = state;
  if (job === undefined || !isConfirmedRunning(state) || isSuspended(state)) return state;
  const within = trusted ? Math.min(passed, wall - job.from) : passed;
  if (!(within > 0)) return state;
  const portion = getPowerPortion(state.current);
  const spent = job.bill === undefined ? 0 : portion * sumPrice(prices, (wall - within) as Instant, wall);
  const bill = job.bill && { ...job.bill, spent: job.bill.spent + spent };
  return { ...state, job: { ...job, done: (job.done + portion * within) as Duration, ...(bill && { bill }) } };
}
