/** What every load is told next, and why: the one function of the control core. Pure and total; it switches nothing itself. */

import type { Uptime } from '../units.ts';
import type { Moment } from '../world.ts';
import { withinBudget } from './budget.ts';
import { type Context, contextOf, type Draft } from './context.ts';
import type { Command, Decision, Event, Site, Step, Why } from './control.ts';
import { decided, sameDecision } from './decision.ts';
import { find, resume, take } from './events.ts';
import { guarded, type Settled } from './guards.ts';
import { arm, latch } from './jobs.ts';
import { wishOf } from './ladder.ts';
import { plan } from './planning.ts';
import type { LoadState, State } from './state.ts';
import { tell } from './switching.ts';
import { endsOf } from './turns.ts';

/** A wall clock that strays further than this from the monotonic one has been set. */
const JUMP = 30_000;

/** One event at one moment: the new state, the commands it causes, the decisions that changed, and when to come back. */
export function step(site: Site, state: State, event: Event, now: Moment): Step<State> {
  const drafts = state.loads.map((load): Draft => ({ ...load }));
  const context = arrive(site, state, event, now);
  for (const draft of drafts) resume(state, draft, now);
  for (const draft of drafts) if ('load' in event && event.load === draft.name) take(site, draft, event, now);
  if (event.kind === 'found')
    for (const draft of drafts) find(site, state, draft, { found: event.levels[draft.name], now });

  for (const [i, load] of site.loads.entries()) {
    const draft = drafts[i];
    if (draft !== undefined) arm(context, load, draft);
  }
  latchAll(context, drafts);
  plan(context, drafts);

  const settled = settle(context, drafts);
  const commands = tellAll(context, drafts, settled);
  const decisions = record(context, drafts, settled);
  // A switch may change what there is to say: a load that was stopped for another now waits for its own pause.
  if (commands.length > 0) {
    latchAll(context, drafts);
    decisions.push(...record(context, drafts, settle(context, drafts)));
  }
  return {
    state: { ...remembered(state, context, now), loads: drafts },
    commands,
    decisions,
    // A clock tells whole milliseconds: a fraction would be reached before its time.
    wakeAt: Math.max(now.uptime + 1, Math.ceil(context.earliest)) as Uptime,
  };
}

function latchAll(context: Context, drafts: readonly Draft[]) {
  context.ends = endsOf(context, drafts);
  for (const [i, load] of context.site.loads.entries()) {
    const draft = drafts[i];
    if (draft !== undefined) latch(context, load, draft);
  }
}

/** What each load is to be told, in the order of the configuration. */
function settle(context: Context, drafts: readonly Draft[]): readonly Settled[] {
  const settled: Settled[] = [];
  for (const [i, load] of context.site.loads.entries()) {
    const draft = drafts[i];
    if (draft !== undefined) settled.push(guarded(context, load, draft, wishOf(context, load, draft)));
  }
  return withinBudget(context, drafts, settled);
}

function tellAll(context: Context, drafts: readonly Draft[], settled: readonly Settled[]): Command[] {
  const commands: Command[] = [];
  for (const [i, load] of context.site.loads.entries()) {
    const [draft, one] = [drafts[i], settled[i]];
    const command = draft === undefined || one === undefined ? undefined : tell(context, load, draft, one);
    if (command !== undefined) commands.push(command);
  }
  return commands;
}

/** Reasons that want no level of their own: what was there before them still is. */
const KNOWS_NOTHING: ReadonlySet<Why> = new Set(['boot', 'untrusted-clock']);

/** Keeps each load's decision and returns those that say something new. */
function record(context: Context, drafts: readonly Draft[], settled: readonly Settled[]): Decision[] {
  const decisions: Decision[] = [];
  for (const [i, load] of context.site.loads.entries()) {
    const [draft, one] = [drafts[i], settled[i]];
    if (draft === undefined || one === undefined) continue;
    const decision = decided(context, load, draft, one);
    if (!sameDecision(draft.decision, decision)) decisions.push(decision);
    draft.decision = decision;
    if (!KNOWS_NOTHING.has(decision.wish ?? decision.why)) draft.leftOver = false;
  }
  return decisions;
}

function arrive(site: Site, state: State, event: Event, now: Moment): Context {
  const first = state.fresh !== 'no' || state.last === undefined;
  const untrustedSince = now.trusted ? now.uptime : ((first ? undefined : state.untrustedSince) ?? now.uptime);
  return contextOf({
    site,
    event: event.kind,
    now,
    view: event.kind === 'signal' ? event.view : state.view,
    jumped: !first && hasJumped(state.last, now),
    first,
    doubt: {
      startedAt: first ? now.uptime : state.startedAt,
      heard: event.kind === 'signal' || (!first && state.heard),
      vouched: now.trusted || (!first && state.vouched),
      since: untrustedSince,
    },
  });
}

function hasJumped(last: Moment | undefined, now: Moment): boolean {
  if (last === undefined || !now.trusted) return false;
  if (!last.trusted) return true;
  return Math.abs(now.wall - last.wall - (now.uptime - last.uptime)) > JUMP;
}

/** What the next step must know of this one. */
function remembered(state: State, context: Context, now: Moment): Omit<State, 'loads'> {
  const { startedAt, heard, vouched, since } = context.doubt;
  return {
    version: state.version,
    last: now,
    fresh: 'no',
    startedAt,
    heard,
    vouched,
    untrustedSince: now.trusted ? undefined : since,
    view: context.view,
  };
}

export { initialState, loadState, saveState } from './state.ts';
export type { LoadState, State };
