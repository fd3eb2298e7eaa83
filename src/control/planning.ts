/** When the plans of the loads are made anew, and from what; the planner makes them. */

import type { LoadConfig } from '../config/config.ts';
import type { Outlook } from '../signal/view.ts';
import type { Duration, Instant } from '../units.ts';
import { allot } from './allot.ts';
import {
  type Context,
  type Draft,
  minOffOf,
  minOnOf,
  outlookNow,
  presentLevel,
  runningSince,
  uptimeOf,
  wakeAtWall,
} from './context.ts';
import { isDone, remaining } from './jobs.ts';
import { isRunning } from './levels.ts';
import { type JobPlan, type JobRequest, planJob, type Run } from './schedule.ts';
import { pauseForHourlyStarts, startAllowedFrom, startsToPlan } from './starts.ts';
import type { Job, Plan } from './state.ts';

/** What a start costs in a plan, in slots at the mean value: enough that seconds left over never cause one. */
export const START_COST = 0.05;

interface Pending {
  readonly load: LoadConfig;
  readonly state: Draft;
  readonly job: Job;
}

/** Makes plans where a job has none for the present outlook, or has come off it. Under a power budget all are made together. */
export function plan(context: Context, states: readonly Draft[]) {
  if (!context.now.trusted) return;
  const outlook = outlookNow(context);
  if (outlook === undefined) return;
  const pending: Pending[] = [];
  let due = false;
  for (const [i, load] of context.site.loads.entries()) {
    const state = states[i];
    if (state?.job === undefined || isDone(state.job)) continue;
    pending.push({ load, state, job: state.job });
    keepWhileBeginning(context, outlook, state);
    if (!state.job.latched) due ||= isDue(context, outlook, state, state.job);
  }
  const { budget } = context.site;
  if (due)
    if (budget === undefined) planEach(context, outlook, pending);
    else planTogether(context, outlook, pending, budget);
  for (const { state } of pending) wakeAtEdges(context, state.plan);
}

/** A start that waits out its spread is begun: each newer forecast would move it by a slot and put it off for ever. The one after it plans anew. */
function keepWhileBeginning({ now, jumped }: Context, outlook: Outlook, state: Draft) {
  const { plan, edgeAt } = state;
  if (plan === undefined || edgeAt === undefined || jumped || !planNow(plan, now.wall).run) return;
  if (plan.profile === (outlook.basis === 'own-profile')) state.plan = { ...plan, generatedAt: outlook.generatedAt };
}

function isDue(context: Context, outlook: Outlook, { plan, level }: Draft, job: Job): boolean {
  if (plan === undefined || plan.by !== job.by || context.jumped) return true;
  if (plan.profile !== (outlook.basis === 'own-profile')) return true;
  if (plan.generatedAt !== outlook.generatedAt) return true;
  const last = plan.runs.at(-1);
  if (last !== undefined && context.now.wall >= last.to) return true;
  if (context.event === 'tick') return false;
  return Math.abs(job.done - expected(plan, context.now.wall)) > outlook.period && !(isRunning(level) && job.latched);
}

/** The progress the plan foresaw for `now`. */
function expected({ doneThen, madeAt, runs }: Plan, now: Instant): number {
  let done: number = doneThen;
  for (const { from, to } of runs) done += Math.max(0, Math.min(to, now) - Math.max(from, madeAt));
  return done;
}

function planEach(context: Context, outlook: Outlook, pending: readonly Pending[]) {
  for (const { load, state, job } of pending) {
    if (job.latched || !isDue(context, outlook, state, job)) continue;
    const made = planJob(requestOf(context, outlook, load, state, job));
    state.plan = planFor(context, outlook, job, { made, gap: 0 });
  }
}

function planTogether(
  context: Context,
  outlook: Outlook,
  pending: readonly Pending[],
  budget: NonNullable<Context['site']['budget']>,
) {
  const shares = pending.map(({ load, state, job }) => {
    const request = requestOf(context, outlook, load, state, job);
    // A latched job takes its power from now on, whatever it costs.
    return { job: job.latched ? { ...request, by: latchedEnd(context, job) } : request, power: load.power };
  });
  const { plans, cost, lowerBound } = allot(shares, budget);
  const gap = lowerBound > 0 ? Math.max(0, cost / lowerBound - 1) : 0;
  for (const [i, { state, job }] of pending.entries())
    state.plan = planFor(context, outlook, job, { made: plans[i], gap });
}

const latchedEnd = ({ now }: Context, job: Job) => Math.min(job.by, now.wall + remaining(job)) as Instant;

interface Made {
  readonly made: JobPlan | undefined;
  readonly gap: number;
}

function planFor({ now }: Context, outlook: Outlook, job: Job, { made, gap }: Made): Plan {
  return {
    generatedAt: outlook.generatedAt,
    profile: outlook.basis === 'own-profile',
    by: job.by,
    madeAt: now.wall,
    doneThen: job.done,
    runs: made?.runs ?? [],
    cost: made?.cost ?? 0,
    gap,
  };
}

/** The job as the planner needs it, from the present level and the guards as they stand. */
export function requestOf(context: Context, outlook: Outlook, load: LoadConfig, state: Draft, job: Job): JobRequest {
  const { wall, uptime } = context.now;
  const running = isRunning(presentLevel(state));
  const minOn = minOnOf(load);
  const minOff = Math.max(minOffOf(load), pauseForHourlyStarts(load, minOn)) as Duration;
  const held = uptime - runningSince(state);
  const wait = running ? 0 : Math.max(0, startAllowedFrom(load, state) - uptime, minOffOf(load) - held);
  const starts = startsToPlan(load, state, uptime, running && !isRunning(state.level));
  return {
    outlook,
    now: wall,
    from: job.from,
    by: job.by,
    remaining: remaining(job),
    minOn,
    minOff,
    startCost: START_COST * meanOf(outlook),
    maxStarts: starts.sure,
    more: { most: starts.most, fit: (planned) => starts.fit(planned.map((at) => uptimeOf(context, at))) },
    running,
    age: (running ? held : minOff - wait) as Duration,
  };
}

function meanOf({ values }: Outlook): number {
  let sum = 0;
  let count = 0;
  for (const value of values)
    if (!Number.isNaN(value)) {
      sum += Math.abs(value);
      count++;
    }
  return count === 0 ? 0 : sum / count;
}

function wakeAtEdges(context: Context, plan: Plan | undefined) {
  if (plan === undefined) return;
  const next = edgeAfter(plan.runs, context.now.wall);
  if (next !== undefined) wakeAtWall(context, next);
}

const edgeAfter = (runs: readonly Run[], now: Instant): Instant | undefined => {
  for (const { from, to } of runs) {
    if (from > now) return from;
    if (to > now) return to;
  }
  return undefined;
};

/** Whether a plan runs now, and when that changes next. */
export function planNow(
  { runs }: Plan,
  now: Instant,
): { readonly run: boolean; readonly changesAt: Instant | undefined } {
  return { run: runs.some(({ from, to }) => from <= now && now < to), changesAt: edgeAfter(runs, now) };
}
