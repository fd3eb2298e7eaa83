/** Decides when to plan the loads anew, and does it. */

import { isRunning } from '../../domain/levels.ts';
import type { LoadConfig } from '../../domain/load-types.ts';
import { type Duration, type Instant, type Kilowatt, RATE_UNITS } from '../../domain/units.ts';
import type { Horizon } from '../../signal/signal-view.ts';
import { computeRemainingNeed, isDone, isSuspended } from '../rules/jobs.ts';
import { computeStartAllowance, findStartAllowedFrom, pauseForHourlyStarts } from '../rules/start-budget.ts';
import {
  findRunningSince,
  getEffectiveMinOff,
  getEffectiveMinOn,
  getPresentLevel,
  getValidHorizon,
  getValidPrices,
  type StepContext,
  toUptime,
} from '../rules/step-context.ts';
import type { Job, LoadPlan, LoadState } from '../state/control-state.ts';
import { computeBill, computeMeanMagnitude, getPriceGoal, type JobBill, priceJob } from './job-pricing.ts';
import { describeRefusal, isWorthItsStarts, listRunsAhead, type PlanChange } from './keep-plan.ts';
import { computeJobEmissions, type JobRequest, planJob } from './schedule-job.ts';
import { planSite } from './site-planner.ts';
import type { JobPlan, PlannedRun } from './slot-plan.ts';

/** What a start costs in a plan, in slots at the mean value: enough that seconds left over never cause one. */
const START_COST = 0.05;

interface PendingJob {
  readonly load: LoadConfig;
  readonly state: LoadState;
  readonly job: Job;
}

/** The states with plans where a job has none for the present horizon, or has come off it. Under a power budget all are made together. */
export function replan(context: StepContext, states: readonly LoadState[]): readonly LoadState[] {
  const horizon = getValidHorizon(context);
  if (!context.now.trusted || horizon === undefined) return states;
  const kept = states.map((state) => keepPlanDuringStartSpread(context, horizon, state));
  const pending = context.site.loads.flatMap((load, i): PendingJob[] => {
    const state = kept[i];
    return state?.job === undefined || isDone(state.job) || isSuspended(state) ? [] : [{ load, state, job: state.job }];
  });
  const due = pending.filter(({ state, job }) => !job.forcedByDeadline && isReplanDue(context, horizon, state, job));
  if (due.length === 0) return kept;
  const { budget } = context.site;
  const plans =
    budget === undefined ? planSeparately(context, horizon, due) : planTogether(context, horizon, pending, budget);
  return kept.map((state) => {
    const made = plans.get(state.name);
    return made === undefined ? state : { ...state, plan: made.plan, job: state.job && { ...state.job, ...made.bill } };
  });
}

/** A start that waits out its spread keeps its plan: each newer forecast would move it by a slot and put it off for ever. The one after it plans anew. */
function keepPlanDuringStartSpread({ now, clockJumped }: StepContext, horizon: Horizon, state: LoadState): LoadState {
  const { plan, job, startRequestedAt } = state;
  if (job === undefined || isDone(job) || plan === undefined || startRequestedAt === undefined) return state;
  if (clockJumped || !readPlanAt(plan, now.wall).run || plan.fromProfile !== (horizon.basis === 'own-profile'))
    return state;
  return { ...state, plan: { ...plan, generatedAt: horizon.generatedAt } };
}

function isReplanDue(context: StepContext, horizon: Horizon, state: LoadState, job: Job): boolean {
  const { plan } = state;
  if (plan?.generatedAt !== horizon.generatedAt || plan.pricedUntil !== findPricesEnd(context)) return true;
  return !isPlanUsable(context, horizon, state, job);
}

/** Whether the plan is for this job, from values of this kind, not over, and followed so far. */
function isPlanUsable(context: StepContext, horizon: Horizon, { plan, level }: LoadState, job: Job): boolean {
  if (plan === undefined || plan.by !== job.by || context.clockJumped) return false;
  if (plan.fromProfile !== (horizon.basis === 'own-profile')) return false;
  const last = plan.runs.at(-1);
  if (last !== undefined && context.now.wall >= last.to) return false;
  if (context.eventKind === 'tick') return true;
  return (
    Math.abs(job.done - computeExpectedProgress(plan, context.now.wall)) <= horizon.period ||
    (isRunning(level) && job.forcedByDeadline)
  );
}

/** The progress the plan foresaw for `now`. */
const computeExpectedProgress = ({ doneWhenMade, madeAt, runs }: LoadPlan, now: Instant): number =>
  runs.reduce<number>(
    (done, { from, to }) => done + Math.max(0, Math.min(to, now) - Math.max(from, madeAt)),
    doneWhenMade,
  );

const findPricesEnd = (context: StepContext): Instant | undefined => getValidPrices(context)?.spans.at(-1)?.to;

/** A plan, and what is to be kept of the bill where prices are known. */
interface PlanUpdate {
  readonly plan: LoadPlan;
  readonly bill: { readonly bill?: JobBill };
}

type PlansByLoad = ReadonlyMap<string, PlanUpdate>;

const planSeparately = (context: StepContext, horizon: Horizon, due: readonly PendingJob[]): PlansByLoad =>
  new Map(
    due.flatMap((one) => {
      const priced = buildPricedRequest(context, horizon, one);
      return updatePlans(context, horizon, [{ ...priced, one, made: planJob(priced.request) }], 0);
    }),
  );

interface PlannedJob {
  readonly one: PendingJob;
  readonly request: JobRequest;
  readonly bill: PlanUpdate['bill'];
  readonly made: JobPlan | undefined;
}

/** Plans made together, or the present ones where those are not worth the starts they add. */
function updatePlans(context: StepContext, horizon: Horizon, jobs: readonly PlannedJob[], gap: number) {
  const changes = jobs.map((job) => findChange(context, horizon, job));
  const known = changes.filter((change) => change !== undefined);
  const isKept = known.length === jobs.length && !isWorthItsStarts(known);
  return jobs.map(({ one, made, bill }, i): readonly [string, PlanUpdate] => {
    const change = changes[i];
    if (!isKept || change === undefined)
      return [one.load.name, { plan: buildLoadPlan(context, horizon, one, { made, gap }), bill }];
    const { runs, madeAt, doneWhenMade, cost, optimalityGap } = change.plan;
    const rest = { ...change.made, runs: listRunsAhead(runs, context.now.wall) };
    const plan = buildLoadPlan(context, horizon, one, { made: rest, gap });
    return [
      one.load.name,
      { plan: { ...plan, runs, madeAt, doneWhenMade, cost, optimalityGap, refused: describeRefusal(change) }, bill },
    ];
  });
}

/** Undefined where a load has no plan to keep, or none in its place. */
function findChange(
  context: StepContext,
  horizon: Horizon,
  { one, made, request }: PlannedJob,
): PlanChange | undefined {
  const { load, state, job } = one;
  const { plan } = state;
  if (plan === undefined || plan.runs.length === 0 || made === undefined || job.forcedByDeadline) return undefined;
  return isPlanUsable(context, horizon, state, job) ? { load, plan, made, request } : undefined;
}

/** The request with the prices as the load's objective has them: carbon alone while none are known. */
function buildPricedRequest(context: StepContext, horizon: Horizon, { load, state, job }: PendingJob) {
  const request = buildJobRequest(context, horizon, load, state, job);
  const prices = getValidPrices(context);
  if (prices === undefined) return { request, bill: {} };
  const { spans } = prices;
  const planAt = (pricing: JobRequest['pricing']) => planJob(withPricing(request, pricing));
  const { pricing, bill } = priceJob(getPriceGoal(load, horizon), job.bill ?? { spent: 0 }, {
    ...{ horizon, spans, planAt, from: context.now.wall, to: job.by },
    saved: state.savedBill ?? 0,
    isKnown: state.plan?.pricedUntil === spans.at(-1)?.to,
  });
  return { request: withPricing(request, pricing), bill: { bill } };
}

/** What a start costs grows with what the slots cost. */
function withPricing(request: JobRequest, pricing: JobRequest['pricing']): JobRequest {
  if (pricing === undefined || pricing.worth === 0) return request;
  const price = computeMeanMagnitude(pricing.spans.map((span) => span.price));
  return { ...request, pricing, startCost: request.startCost + START_COST * pricing.worth * price };
}

function planTogether(
  context: StepContext,
  horizon: Horizon,
  pending: readonly PendingJob[],
  budget: Kilowatt,
): PlansByLoad {
  const priced = pending.map((one) => ({ one, ...buildPricedRequest(context, horizon, one) }));
  const shares = priced.map(({ one: { load, job }, request }) => {
    // A forced job uses its power from now on, at any cost.
    return {
      job: job.forcedByDeadline ? { ...request, by: computeForcedEnd(context, job) } : request,
      power: load.powerKw,
    };
  });
  const { plans, cost, lowerBound } = planSite(shares, budget);
  const gap = lowerBound > 0 ? Math.max(0, cost / lowerBound - 1) : 0;
  return new Map(
    updatePlans(
      context,
      horizon,
      priced.map((job, i) => ({ ...job, made: plans[i] })),
      gap,
    ),
  );
}

const computeForcedEnd = ({ now }: StepContext, job: Job) =>
  Math.min(job.by, now.wall + computeRemainingNeed(job)) as Instant;

interface MadePlan {
  readonly made: JobPlan | undefined;
  readonly gap: number;
}

function buildLoadPlan(
  context: StepContext,
  horizon: Horizon,
  { load, job }: PendingJob,
  { made, gap }: MadePlan,
): LoadPlan {
  const runs = made?.runs ?? [];
  const prices = getValidPrices(context);
  const pricedUntil = findPricesEnd(context);
  return {
    generatedAt: horizon.generatedAt,
    fromProfile: horizon.basis === 'own-profile',
    by: job.by,
    madeAt: context.now.wall,
    doneWhenMade: job.done,
    runs,
    cost: made?.cost ?? 0,
    ...(prices === undefined
      ? {}
      : {
          expected: {
            ...(horizon.units === RATE_UNITS ? { kg: computeJobEmissions(horizon, runs, load.powerKw) } : {}),
            cost: load.powerKw * computeBill(runs, horizon, prices.spans),
            currency: prices.currency,
          },
        }),
    ...(pricedUntil === undefined ? {} : { pricedUntil }),
    optimalityGap: gap,
  };
}

/** The job as the planner needs it, from the present level and the interlocks. */
function buildJobRequest(
  context: StepContext,
  horizon: Horizon,
  load: LoadConfig,
  state: LoadState,
  job: Job,
): JobRequest {
  const { wall, uptime } = context.now;
  const running = isRunning(getPresentLevel(state));
  const minOn = getEffectiveMinOn(load);
  const minOff = Math.max(getEffectiveMinOff(load), pauseForHourlyStarts(load, minOn)) as Duration;
  const modeAge = uptime - findRunningSince(state);
  const wait = running
    ? 0
    : Math.max(0, findStartAllowedFrom(load, state) - uptime, getEffectiveMinOff(load) - modeAge);
  const starts = computeStartAllowance(load, state, uptime, running && !isRunning(state.level));
  return {
    horizon,
    now: wall,
    from: job.from,
    by: job.by,
    remaining: computeRemainingNeed(job),
    ...(load.goal?.keepLast === undefined ? {} : { keepLast: load.goal.keepLast }),
    minOn,
    minOff,
    startCost: START_COST * computeMeanMagnitude(horizon.values),
    maxStarts: starts.guaranteed,
    extraStarts: {
      maximum: starts.maximum,
      fits: (planned) => starts.fits(planned.map((at) => toUptime(context, at))),
    },
    running,
    age: (running ? modeAge : minOff - wait) as Duration,
  };
}

/** When the plan's runs begin or end next. */
export const findNextPlanChange = (runs: readonly PlannedRun[], now: Instant): Instant | undefined => {
  for (const { from, to } of runs) {
    if (from > now) return from;
    if (to > now) return to;
  }
  return undefined;
};

/** Whether a plan runs now, and when that changes next. */
export function readPlanAt(
  { runs }: LoadPlan,
  now: Instant,
): { readonly run: boolean; readonly changesAt: Instant | undefined } {
  return { run: runs.some(({ from, to }) => from <= now && now < to), changesAt: findNextPlanChange(runs, now) };
}
