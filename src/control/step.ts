/** What every load is told next, and why: the one function of the control core. Pure and total; it switches nothing itself. */

import type { ClockReading } from '../domain/ports.ts';
import type { Uptime } from '../domain/units.ts';
import type { ControlEvent, Decision, DecisionReason, LoadCommand, Site, StepResult } from './control-types.ts';
import { buildDecision, isSameDecision } from './decision.ts';
import { computeLatestFinishes } from './planning/latest-finish.ts';
import { replan } from './planning/replan.ts';
import { applyInterlocks, type Permitted } from './rules/interlocks.ts';
import { armJob, forceByDeadline } from './rules/jobs.ts';
import { applyPowerBudget } from './rules/power-budget.ts';
import { evaluateRules } from './rules/priority-rules.ts';
import { buildStepContext, type MutableLoadState, type StepContext } from './rules/step-context.ts';
import { advanceLoad, applyEvent, applyFound } from './state/apply-event.ts';
import type { ControlState, LoadState } from './state/control-state.ts';
import { issueCommand } from './state/switching.ts';

/** A wall clock that strays further than this from the monotonic one has been set. */
const CLOCK_JUMP_TOLERANCE = 30_000;

/** One event at one moment: the new state, the commands it causes, the decisions that changed, and when to come back. */
export function step(
  site: Site,
  state: ControlState,
  event: ControlEvent,
  now: ClockReading,
): StepResult<ControlState> {
  const drafts = state.loads.map((load): MutableLoadState => ({ ...load }));
  const context = deriveContext(site, state, event, now);
  for (const draft of drafts) advanceLoad(state, draft, now);
  for (const draft of drafts) if ('load' in event && event.load === draft.name) applyEvent(site, draft, event, now);
  if (event.kind === 'found')
    for (const draft of drafts) applyFound(site, state, draft, { found: event.levels[draft.name], now });

  for (const [i, load] of site.loads.entries()) {
    const draft = drafts[i];
    if (draft !== undefined) armJob(context, load, draft);
  }
  forceJobsByDeadline(context, drafts);
  replan(context, drafts);

  const permitted = permitLevels(context, drafts);
  const commands = issueCommands(context, drafts, permitted);
  const decisions = recordDecisions(context, drafts, permitted);
  // A switch may change what there is to say: a load that was stopped for another now waits for its own pause.
  if (commands.length > 0) {
    forceJobsByDeadline(context, drafts);
    decisions.push(...recordDecisions(context, drafts, permitLevels(context, drafts)));
  }
  return {
    state: { ...buildNextState(state, context, now), loads: drafts },
    commands,
    decisions,
    // A clock tells whole milliseconds: a fraction would be reached before its time.
    wakeAt: Math.max(now.uptime + 1, Math.ceil(context.earliestWakeUp)) as Uptime,
  };
}

function forceJobsByDeadline(context: StepContext, drafts: readonly MutableLoadState[]) {
  context.latestFinish = computeLatestFinishes(context, drafts);
  for (const [i, load] of context.site.loads.entries()) {
    const draft = drafts[i];
    if (draft !== undefined) forceByDeadline(context, load, draft);
  }
}

/** What each load is to be told, in the order of the configuration. */
function permitLevels(context: StepContext, drafts: readonly MutableLoadState[]): readonly Permitted[] {
  const permitted: Permitted[] = [];
  for (const [i, load] of context.site.loads.entries()) {
    const draft = drafts[i];
    if (draft !== undefined) permitted.push(applyInterlocks(context, load, draft, evaluateRules(context, load, draft)));
  }
  return applyPowerBudget(context, drafts, permitted);
}

function issueCommands(
  context: StepContext,
  drafts: readonly MutableLoadState[],
  permitted: readonly Permitted[],
): LoadCommand[] {
  const commands: LoadCommand[] = [];
  for (const [i, load] of context.site.loads.entries()) {
    const [draft, one] = [drafts[i], permitted[i]];
    const command = draft === undefined || one === undefined ? undefined : issueCommand(context, load, draft, one);
    if (command !== undefined) commands.push(command);
  }
  return commands;
}

/** Reasons that want no level of their own: what was there before them still is. */
const REASONS_WITHOUT_REQUEST: ReadonlySet<DecisionReason> = new Set(['boot', 'untrusted-clock']);

/** Keeps each load's decision and returns those that say something new. */
function recordDecisions(
  context: StepContext,
  drafts: readonly MutableLoadState[],
  permitted: readonly Permitted[],
): Decision[] {
  const decisions: Decision[] = [];
  for (const [i, load] of context.site.loads.entries()) {
    const [draft, one] = [drafts[i], permitted[i]];
    if (draft === undefined || one === undefined) continue;
    const decision = buildDecision(context, load, draft, one);
    if (!isSameDecision(draft.decision, decision)) decisions.push(decision);
    draft.decision = decision;
    if (!REASONS_WITHOUT_REQUEST.has(decision.wantedWhy ?? decision.why)) draft.staleOverride = false;
  }
  return decisions;
}

function deriveContext(site: Site, state: ControlState, event: ControlEvent, now: ClockReading): StepContext {
  const first = state.restart !== 'no' || state.lastMoment === undefined;
  const untrustedSince = now.trusted ? now.uptime : ((first ? undefined : state.clockUntrustedSince) ?? now.uptime);
  return buildStepContext({
    site,
    eventKind: event.kind,
    now,
    view: event.kind === 'signal' ? event.view : state.view,
    clockJumped: !first && hasJumped(state.lastMoment, now),
    isFirstStep: first,
    startup: {
      startedAt: first ? now.uptime : state.startedAt,
      signalReceived: event.kind === 'signal' || (!first && state.signalReceived),
      clockTrusted: now.trusted || (!first && state.clockTrusted),
      clockUntrustedSince: untrustedSince,
    },
  });
}

function hasJumped(last: ClockReading | undefined, now: ClockReading): boolean {
  if (last === undefined || !now.trusted) return false;
  if (!last.trusted) return true;
  return Math.abs(now.wall - last.wall - (now.uptime - last.uptime)) > CLOCK_JUMP_TOLERANCE;
}

/** What the next step must know of this one. */
function buildNextState(state: ControlState, context: StepContext, now: ClockReading): Omit<ControlState, 'loads'> {
  const { startedAt, signalReceived: heard, clockTrusted: vouched, clockUntrustedSince: since } = context.startup;
  return {
    version: state.version,
    lastMoment: now,
    restart: 'no',
    startedAt,
    signalReceived: heard,
    clockTrusted: vouched,
    clockUntrustedSince: now.trusted ? undefined : since,
    view: context.view,
  };
}

export { decodeControlState, encodeControlState, initialState } from './state/control-state.ts';
export type { ControlState, LoadState };
