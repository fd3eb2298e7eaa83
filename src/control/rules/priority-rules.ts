/** The level that each load requests: rules in order of priority; the first match wins. */

import { getIdleLevel, getRunLevel, isRunning, toSupportedLevel } from '../../domain/levels.ts';
import type { Level, LoadConfig } from '../../domain/load-types.ts';
import { checkWindow } from '../../domain/local-time.ts';
import { getThresholds } from '../../domain/thresholds.ts';
import type { Instant, Percentile } from '../../domain/units.ts';
import type { Basis, CurrentIndex } from '../../signal/signal-view.ts';
import type { DecisionReason, RulePriority } from '../control-types.ts';
import { readPlanAt } from '../planning/replan.ts';
import type { ActiveOverride, LoadPlan, LoadState } from '../state/control-state.ts';
import { isDone } from './jobs.ts';
import {
  findDecisionBasis,
  findMaxOffEnd,
  getPresentLevel,
  getValidHorizon,
  getValidIndex,
  STARTUP_GRACE,
  type StepContext,
  toWallTime,
} from './step-context.ts';

export interface LevelRequest {
  readonly level: Level;
  readonly why: DecisionReason;
  readonly priority: RulePriority;
  readonly basis: Basis;
  readonly until?: Instant;
  readonly threshold?: Percentile;
  /** From here on the data behind it may keep a level but start nothing. */
  readonly startsUntil?: Instant;
  readonly next?: { readonly level: Level; readonly at: Instant };
}

export function evaluateRules(context: StepContext, load: LoadConfig, state: LoadState): LevelRequest {
  return (
    safetyRule(context, load, state) ??
    overrideRule(context, load, state.local, { why: 'override', priority: 4 }) ??
    overrideRule(context, load, state.remote, { why: 'remote-override', priority: 5 }) ??
    pauseRule(context, load, state) ??
    vehicleRule(context, load, state) ??
    deadlineRule(context, load, state) ??
    maxOffRule(context, load, state) ??
    untrustedClockRule(context, load, state) ??
    outputFaultRule(context, load, state) ??
    startupRule(context, load, state) ??
    planRule(context, load, state) ??
    thresholdRule(context, load, state) ??
    windowRule(context, load, state) ?? { level: load.failSafe, why: 'no-data', priority: 10, basis: 'fail-safe' }
  );
}

/** The safe level of a trip is the level that does not run the load, independent of its fail-safe level. */
function safetyRule(context: StepContext, load: LoadConfig, { tripped }: LoadState): LevelRequest | undefined {
  if (!tripped) return undefined;
  return { level: getIdleLevel(load), why: 'safety', priority: 1, basis: findDecisionBasis(context, load) };
}

type RuleIdentity = Pick<LevelRequest, 'why' | 'priority'>;

function overrideRule(
  context: StepContext,
  load: LoadConfig,
  override: ActiveOverride | undefined,
  rule: RuleIdentity,
): LevelRequest | undefined {
  if (override === undefined) return undefined;
  const until = toWallTime(context, override.until);
  return { level: toSupportedLevel(load, override.level), ...rule, basis: findDecisionBasis(context, load), until };
}

/** As if no agent were there; an override still counts. */
function pauseRule(context: StepContext, load: LoadConfig, { paused }: LoadState): LevelRequest | undefined {
  if (!paused) return undefined;
  return { level: load.failSafe, why: 'paused', priority: 5, basis: findDecisionBasis(context, load) };
}

/** Without a vehicle that takes energy a goal waits, and what is plugged in next does not charge at once. */
function vehicleRule(context: StepContext, load: LoadConfig, { vehicle }: LoadState): LevelRequest | undefined {
  if (load.goal === undefined || (vehicle !== 'away' && vehicle !== 'full')) return undefined;
  const why = vehicle === 'away' ? 'vehicle-away' : 'vehicle-full';
  return { level: getIdleLevel(load), why, priority: 7, basis: findDecisionBasis(context, load) };
}

function deadlineRule(context: StepContext, load: LoadConfig, { job }: LoadState): LevelRequest | undefined {
  if (job?.forcedByDeadline !== true) return undefined;
  return { level: getRunLevel(load), why: 'must-run', priority: 6, basis: findDecisionBasis(context, load) };
}

/** After its maximum time off a load starts; its minimum time on then keeps it running. */
function maxOffRule(context: StepContext, load: LoadConfig, state: LoadState): LevelRequest | undefined {
  const end = findMaxOffEnd(load, state);
  if (end === undefined || context.now.uptime < end) return undefined;
  return { level: getRunLevel(load), why: 'max-off', priority: 6, basis: findDecisionBasis(context, load) };
}

/** Without a clock no data can be placed in time: the initial level at first, then the fail-safe level. */
function untrustedClockRule(context: StepContext, load: LoadConfig, state: LoadState): LevelRequest | undefined {
  if (context.now.trusted) return undefined;
  const { clockUntrustedSince, clockTrusted } = context.startup;
  const waiting = !clockTrusted && context.now.uptime < clockUntrustedSince + STARTUP_GRACE;
  const level = waiting ? startupLevel(load, state) : load.failSafe;
  return { level, why: 'untrusted-clock', priority: 10, basis: 'fail-safe' };
}

/** A restart within the same boot keeps the level it finds, except one an override left; otherwise the initial level. */
const startupLevel = (load: LoadConfig, state: LoadState) =>
  state.staleOverride ? load.initialLevel : (getPresentLevel(state) ?? load.initialLevel);

function outputFaultRule(context: StepContext, load: LoadConfig, { faultUntil }: LoadState): LevelRequest | undefined {
  if (faultUntil === undefined || context.now.uptime >= faultUntil) return undefined;
  const until = toWallTime(context, faultUntil);
  return { level: load.failSafe, why: 'output-fault', priority: 10, basis: 'fail-safe', until };
}

/** After a start a missing signal means nothing until the first one has come or the grace time is over. */
function startupRule(context: StepContext, load: LoadConfig, state: LoadState): LevelRequest | undefined {
  const { signalReceived, startedAt } = context.startup;
  if (signalReceived || getValidHorizon(context) !== undefined || getValidIndex(context) !== undefined)
    return undefined;
  if (context.now.uptime >= startedAt + STARTUP_GRACE) return undefined;
  return { level: startupLevel(load, state), why: 'boot', priority: 10, basis: 'fail-safe' };
}

function planRule(context: StepContext, load: LoadConfig, state: LoadState): LevelRequest | undefined {
  const { job, plan } = state;
  const idle = getIdleLevel(load);
  if (job === undefined) {
    if (load.goal === undefined || load.goal.armedBy === 'schedule') return undefined;
    return { level: idle, why: 'not-armed', priority: 7, basis: findDecisionBasis(context, load) };
  }
  if (isDone(job))
    return (
      beyondGoalRule(context, load, state) ?? {
        level: idle,
        why: 'goal-done',
        priority: 7,
        basis: findDecisionBasis(context, load),
      }
    );
  const horizon = getValidHorizon(context);
  if (horizon === undefined || plan === undefined) return undefined;
  return applyForceOrBlock(context, load, state, requestFromPlan(context, load, plan, horizon.basis));
}

/** Beyond a goal that is met, with the hysteresis of the load's thresholds. */
function beyondGoalRule(context: StepContext, load: LoadConfig, state: LoadState): LevelRequest | undefined {
  const index = getValidIndex(context);
  const { alsoBelow } = load;
  if (alsoBelow === undefined || index === undefined || index.flat) return undefined;
  const request = { level: getRunLevel(load), priority: 8, basis: index.basis, threshold: alsoBelow } as const;
  if (index.value <= alsoBelow) return { ...request, why: 'clean', startsUntil: index.startsUntil };
  // Only what it began: a run that the plan has just ended is no reason to go on.
  const hasBegun = isRunning(getPresentLevel(state)) && state.decision?.priority === 8;
  const { onBelow, offAbove } = getThresholds(load, state.thresholds);
  const isBetween = index.value < alsoBelow + offAbove - onBelow;
  return hasBegun && isBetween ? { ...request, why: 'between' } : undefined;
}

function requestFromPlan(context: StepContext, load: LoadConfig, plan: LoadPlan, basis: Basis): LevelRequest {
  const { run, changesAt } = readPlanAt(plan, context.now.wall);
  const other = run ? getIdleLevel(load) : getRunLevel(load);
  return {
    level: run ? getRunLevel(load) : getIdleLevel(load),
    why: run ? 'planned' : 'plan-waits',
    priority: 7,
    basis,
    ...(changesAt === undefined ? {} : { next: { level: other, at: changesAt } }),
  };
}

function thresholdRule(context: StepContext, load: LoadConfig, state: LoadState): LevelRequest | undefined {
  const { job } = state;
  // Without a plan a job runs while the index is clean; the deadline rule ensures the rest.
  if (job === undefined && load.goal !== undefined) return undefined;
  if (job !== undefined && context.now.wall < job.from) return undefined;
  const index = getValidIndex(context);
  if (index === undefined) return undefined;
  const running = isRunning(getPresentLevel(state));
  const request = (run: boolean, why: DecisionReason, threshold?: Percentile): LevelRequest => ({
    level: run ? getRunLevel(load) : getIdleLevel(load),
    why,
    priority: 8,
    basis: index.basis,
    ...(threshold === undefined ? {} : { threshold }),
  });
  if (index.flat) return request(running, 'flat');
  const { onBelow, offAbove } = getThresholds(load, state.thresholds);
  if (index.value >= offAbove && index.value > onBelow)
    return applyForceOrBlock(context, load, state, request(false, 'dirty', offAbove));
  if (index.value > onBelow) return applyForceOrBlock(context, load, state, request(running, 'between', onBelow));
  const clean = { ...request(true, 'clean', onBelow), startsUntil: index.startsUntil };
  return applyForceOrBlock(context, load, state, clean);
}

/** SG-Ready: a running load is ordered to start below `forceBelow`, an idle one blocked above `blockAbove`. */
function applyForceOrBlock(
  context: StepContext,
  load: LoadConfig,
  state: LoadState,
  request: LevelRequest,
): LevelRequest {
  if (load.blockAbove === undefined && load.forceBelow === undefined) return request;
  const index = getValidIndex(context);
  if (index === undefined || index.flat) return request;
  const level = forceOrBlockLevel(load, index, request.level);
  const mayEnter = context.now.wall < index.startsUntil || getPresentLevel(state) === level;
  if (!mayEnter || level === request.level) return request;
  const limit = level === 'force' ? load.forceBelow : load.blockAbove;
  return { ...request, level, ...(limit === undefined ? {} : { threshold: limit }) };
}

function forceOrBlockLevel(load: LoadConfig, { value }: CurrentIndex, level: Level): Level {
  if (level === 'recommend' && load.forceBelow !== undefined && value <= load.forceBelow) return 'force';
  if (level === 'normal' && load.blockAbove !== undefined && value >= load.blockAbove) return 'block';
  return level;
}

function windowRule(context: StepContext, load: LoadConfig, { job }: LoadState): LevelRequest | undefined {
  if (load.window === undefined) return undefined;
  const { wall } = context.now;
  const { inside, changesAt } = checkWindow(context.site.timezone, load.window, wall);
  const early = job !== undefined && wall < job.from;
  const run = inside && !early;
  return {
    level: run ? getRunLevel(load) : getIdleLevel(load),
    why: run ? 'window' : 'outside-window',
    priority: 9,
    basis: 'default-window',
    next: { level: run ? getIdleLevel(load) : getRunLevel(load), at: changesAt },
  };
}
