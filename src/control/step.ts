/** The one function of the control core, pure and total: an event and a moment give commands, decisions and the time of the next step. */

import type { LoadConfig } from '../domain/load-types.ts';
import type { ClockReading } from '../domain/ports.ts';
import type { ControlEvent, Decision, DecisionReason, Site, StepResult } from './control-types.ts';
import { buildDecision, isSameDecision } from './decision.ts';
import { computeLatestFinishes } from './planning/latest-finish.ts';
import { replan } from './planning/replan.ts';
import { applyInterlocks, type Permitted, withStartRequest } from './rules/interlocks.ts';
import { armJob, forceByDeadline } from './rules/jobs.ts';
import { applyPowerBudget } from './rules/power-budget.ts';
import { evaluateRules } from './rules/priority-rules.ts';
import type { StepContext } from './rules/step-context.ts';
import { findWakeUp } from './rules/wake-up.ts';
import { advanceLoad, applyEvent, applyFound } from './state/apply-event.ts';
import type { ControlState, LoadState, Restart } from './state/control-state.ts';
import { applyLevel, needsCommand } from './state/switching.ts';

/** A wall clock that strays further than this from the monotonic one has been set. */
const CLOCK_JUMP_TOLERANCE = 30_000;

/** One load while a step decides about it. */
interface LoadOutcome {
  readonly load: LoadConfig;
  readonly state: LoadState;
  readonly permitted: Permitted;
}

/** One event at one moment: the new state, the commands it causes, the decisions that changed, and when to come back. */
export function step(
  site: Site,
  state: ControlState,
  event: ControlEvent,
  now: ClockReading,
): StepResult<ControlState> {
  const context = buildStepContext(site, state, event, now);
  const armed = mapLoads(site, state.loads, (load, before) =>
    armJob(context, load, receiveEvent(load, state, advanceLoad(load, state, before, now), { event, now })),
  );
  const forced = forceJobs(context, armed);
  const outcomes = decide(forced.context, replan(forced.context, forced.states));
  const commands = outcomes
    .filter(({ load, state: one, permitted }) => needsCommand(load, one, permitted))
    .map(({ load, permitted: { level, current } }) => ({
      ...{ load: load.name, level },
      ...(current === undefined ? {} : { current }),
    }));
  const switched = outcomes.map((one) => ({ ...one, state: applyLevel(one.load, one.state, one.permitted, now) }));
  const first = recordDecisions(forced.context, switched);
  if (commands.length === 0)
    return buildResult(state, forced.context, { commands, decisions: first.decisions, outcomes: first.outcomes });
  // A switch may change the reasons: a load that was stopped for another now waits for its own pause.
  const again = forceJobs(
    context,
    first.outcomes.map((one) => one.state),
  );
  const second = recordDecisions(again.context, decide(again.context, again.states));
  const decisions = [...first.decisions, ...second.decisions];
  return buildResult(state, again.context, { commands, decisions, outcomes: second.outcomes });
}

/** In the order of the configuration. */
function mapLoads<Result>(
  { loads }: Site,
  states: readonly LoadState[],
  run: (load: LoadConfig, state: LoadState) => Result,
): Result[] {
  const results: Result[] = [];
  for (const [i, load] of loads.entries()) {
    const state = states[i];
    if (state !== undefined) results.push(run(load, state));
  }
  return results;
}

function receiveEvent(
  load: LoadConfig,
  control: ControlState,
  state: LoadState,
  { event, now }: { readonly event: ControlEvent; readonly now: ClockReading },
): LoadState {
  if ('load' in event) return event.load === load.name ? applyEvent(load, state, event, now) : state;
  const { name } = load;
  const found = event.kind === 'found' && Object.hasOwn(event.levels, name) ? event.levels[name] : undefined;
  if (event.kind !== 'found' || found === undefined) return state;
  return applyFound(load, control, state, { found, amps: event.amps?.[name], now });
}

function forceJobs(context: StepContext, states: readonly LoadState[]) {
  const shared: StepContext = { ...context, latestFinish: computeLatestFinishes(context, states) };
  const forced = mapLoads(context.site, states, (load, state) => forceByDeadline(shared, load, state));
  return { context: shared, states: forced };
}

/** The level each load may have now. */
function decide(context: StepContext, states: readonly LoadState[]): LoadOutcome[] {
  const outcomes = mapLoads(context.site, states, (load, before): LoadOutcome => {
    const request = evaluateRules(context, load, before);
    const state = withStartRequest(context, before, request);
    return { load, state, permitted: applyInterlocks(context, load, state, request) };
  });
  if (context.site.budget === undefined) return outcomes;
  const granted = applyPowerBudget(
    context,
    outcomes.map(({ state }) => state),
    outcomes.map(({ permitted }) => permitted),
  );
  return outcomes.map((outcome, i) => ({ ...outcome, permitted: granted[i] ?? outcome.permitted }));
}

/** Reasons that want no level of their own: what was there before them still is. */
const REASONS_WITHOUT_REQUEST: ReadonlySet<DecisionReason> = new Set(['boot', 'untrusted-clock']);

/** Stores each load's decision and lists those that differ for people. */
function recordDecisions(context: StepContext, outcomes: readonly LoadOutcome[]) {
  const decisions: Decision[] = [];
  const recorded = outcomes.map((outcome): LoadOutcome => {
    const { load, state, permitted } = outcome;
    const decision = buildDecision(context, load, state, permitted);
    if (!isSameDecision(state.decision, decision)) decisions.push(decision);
    const keepsOverride = REASONS_WITHOUT_REQUEST.has(decision.wantedWhy ?? decision.why);
    return { ...outcome, state: { ...state, decision, staleOverride: state.staleOverride && keepsOverride } };
  });
  return { decisions, outcomes: recorded };
}

function buildStepContext(site: Site, state: ControlState, event: ControlEvent, now: ClockReading): StepContext {
  const isFirstStep = state.restart !== 'no' || state.lastMoment === undefined;
  const before = isFirstStep ? undefined : state;
  return {
    site,
    eventKind: event.kind,
    now,
    view: event.kind === 'signal' ? event.view : state.view,
    clockJumped: before !== undefined && hasJumped(before.lastMoment, now),
    isFirstStep,
    startup: {
      startedAt: before?.startedAt ?? now.uptime,
      signalReceived: event.kind === 'signal' || before?.signalReceived === true,
      clockTrusted: now.trusted || before?.clockTrusted === true,
      clockUntrustedSince: (now.trusted ? undefined : before?.clockUntrustedSince) ?? now.uptime,
    },
    latestFinish: new Map(),
  };
}

function hasJumped(last: ClockReading | undefined, now: ClockReading): boolean {
  if (last === undefined || !now.trusted) return false;
  if (!last.trusted) return true;
  return Math.abs(now.wall - last.wall - (now.uptime - last.uptime)) > CLOCK_JUMP_TOLERANCE;
}

interface StepOutcome extends Pick<StepResult<ControlState>, 'commands' | 'decisions'> {
  readonly outcomes: readonly LoadOutcome[];
}

function buildResult(
  { version }: ControlState,
  context: StepContext,
  { commands, decisions, outcomes }: StepOutcome,
): StepResult<ControlState> {
  const { now, view } = context;
  const { startedAt, signalReceived, clockTrusted, clockUntrustedSince } = context.startup;
  const loads = outcomes.map(({ state }) => state);
  const state: ControlState = {
    version,
    lastMoment: now,
    restart: 'no',
    startedAt,
    signalReceived,
    clockTrusted,
    clockUntrustedSince: now.trusted ? undefined : clockUntrustedSince,
    view,
    loads,
  };
  const permitted = outcomes.map((one) => one.permitted);
  return { state, commands, decisions, wakeAt: findWakeUp(context, loads, permitted) };
}

export { createInitialState, fillControlState } from './state/control-state.ts';
export type { ControlState, LoadState, Restart };
