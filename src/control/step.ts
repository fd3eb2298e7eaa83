/** What every load is told next, and why: the one function of the control core. Pure and total; it switches nothing itself. */

import type { Level, LoadConfig } from '../config/config.ts';
import type { Basis } from '../signal/view.ts';
import { type Duration, energy, hours, type Uptime } from '../units.ts';
import type { Moment } from '../world.ts';
import { withinBudget } from './budget.ts';
import {
  type Context,
  contextOf,
  type Draft,
  levelSince,
  minOffOf,
  minOnOf,
  presentLevel,
  runningSince,
  wakeAtUptime,
  wallOf,
} from './context.ts';
import type { Command, Decision, Event, Priority, Site, Step } from './control.ts';
import { guarded, type Settled } from './guards.ts';
import { arm, drop, latch, progress, shortfall } from './jobs.ts';
import { wishOf } from './ladder.ts';
import { isRunning, isSgReady, nearest } from './levels.ts';
import { plan } from './planning.ts';
import { ofTheDay } from './starts.ts';
import type { LoadState, State } from './state.ts';

/** A wall clock that strays further than this from the monotonic one has been set. */
const JUMP = 30_000;
const LONGEST_OVERRIDE = hours(24);
/** Read-backs in a row that differ before the output counts as faulty, and how long it then does. */
const DISAGREEMENTS = 3;
const FAULT_LASTS = hours(1 / 6);
const FIRST_RETRY = 5_000;
const LONGEST_RETRY = 300_000;

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
    wakeAt: Math.max(now.uptime + 1, context.earliest) as Uptime,
  };
}

function latchAll(context: Context, drafts: readonly Draft[]) {
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

/** Keeps each load's decision and returns those that say something new. */
function record(context: Context, drafts: readonly Draft[], settled: readonly Settled[]): Decision[] {
  const decisions: Decision[] = [];
  for (const [i, load] of context.site.loads.entries()) {
    const [draft, one] = [drafts[i], settled[i]];
    if (draft === undefined || one === undefined) continue;
    const decision = decided(context, load, draft, one);
    if (!sameDecision(draft.decision, decision)) decisions.push(decision);
    draft.decision = decision;
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

/** Brings a load from the last step to this one: a boot counts as a switch, running time is progress, old starts are forgotten. */
function resume(state: State, draft: Draft, now: Moment) {
  if (state.fresh === 'other-boot') rebase(state.last, draft, now);
  if (state.fresh === 'same-boot') presume(draft, now.uptime);
  if (state.fresh === 'no' && state.last !== undefined) progress(draft, (now.uptime - state.last.uptime) as Duration);
  draft.starts = ofTheDay(draft.starts, now.uptime);
  draft.blocks = ofTheDay(draft.blocks, now.uptime);
  const { uptime } = now;
  if (draft.local !== undefined && draft.local.until <= uptime) draft.local = undefined;
  if (draft.remote !== undefined && draft.remote.until <= uptime) draft.remote = undefined;
  if (draft.retryAt !== undefined && draft.retryAt <= uptime) draft.retryAt = undefined;
  if (draft.faultUntil !== undefined && draft.faultUntil <= uptime) draft.faultUntil = undefined;
}

/** Moves uptimes of another boot onto this one's clock. Only a wall clock vouched for at both ends excuses the time between. */
function rebase(last: Moment | undefined, draft: Draft, now: Moment) {
  draft.runSince = now.uptime;
  draft.levelSince = now.uptime;
  draft.edgeAt = undefined;
  if (last === undefined) return;
  const away = last.trusted && now.trusted ? Math.max(0, now.wall - last.wall) : 0;
  const move = (at: Uptime) => (at - last.uptime + now.uptime - away) as Uptime;
  draft.starts = draft.starts.map(move);
  if (draft.pending !== undefined && isRunning(draft.pending.level)) started(draft, move(draft.pending.at));
  draft.pending = undefined;
  draft.blocks = draft.blocks.map(move);
  if (draft.local !== undefined) draft.local = { ...draft.local, until: move(draft.local.until) };
  if (draft.remote !== undefined) draft.remote = { ...draft.remote, until: move(draft.remote.until) };
  draft.faultUntil = undefined;
}

/** A command that was under way when the process ended is taken as done, just now; the output's own word comes after. */
function presume(draft: Draft, at: Uptime) {
  const { pending } = draft;
  draft.pending = undefined;
  if (pending !== undefined) confirm(draft, pending.level, at);
}

type LoadEvent = Extract<Event, { readonly load: string }>;

function take(site: Site, draft: Draft, event: LoadEvent, now: Moment) {
  const load = site.loads.find(({ name }) => name === draft.name);
  if (load === undefined) return;
  switch (event.kind) {
    case 'confirmed':
      return confirm(draft, nearest(load, event.level), now.uptime);
    case 'failed':
      return fail(draft, event.disagreements, now.uptime);
    case 'override': {
      if (!(event.for > 0)) return;
      const until = (now.uptime + Math.min(event.for, LONGEST_OVERRIDE)) as Uptime;
      draft[event.source] = { level: event.level, until };
      return;
    }
    case 'arm':
      draft.asked = { need: event.need, by: event.by };
      return;
    case 'clear':
      draft.local = undefined;
      draft.remote = undefined;
      draft.asked = undefined;
      if (draft.job?.source === 'command') drop(draft);
      return;
    case 'safety':
      draft.tripped = event.tripped;
      return;
  }
}

/** A load that is found running as it was left has run on while nobody looked. */
function find(site: Site, state: State, draft: Draft, { found, now }: { found: Level | undefined; now: Moment }) {
  const load = site.loads.find(({ name }) => name === draft.name);
  if (load === undefined || found === undefined) return;
  const level = nearest(load, found);
  if (state.fresh === 'same-boot' && state.last !== undefined && isRunning(level))
    progress(draft, (now.uptime - state.last.uptime) as Duration);
  confirm(draft, level, now.uptime);
}

/** A level that was found, not caused, is no start; any other change counts from now. */
function confirm(draft: Draft, level: Level, at: Uptime) {
  const before = draft.level;
  if (draft.pending?.level === level) draft.pending = undefined;
  if (draft.pending === undefined) {
    draft.retryAt = undefined;
    draft.faultUntil = undefined;
  }
  if (before === level) return;
  draft.level = level;
  draft.levelSince = at;
  if (level === 'block') draft.blocks = [...draft.blocks, at];
  if (before === undefined || isRunning(before) === isRunning(level)) return;
  draft.runSince = at;
  if (isRunning(level)) started(draft, at);
}

/** The command is forgotten and given again after a pause; a load that keeps disagreeing is left at its fail-safe level. */
function fail(draft: Draft, disagreements: number, at: Uptime) {
  draft.pending = undefined;
  const pause = Math.min(LONGEST_RETRY, FIRST_RETRY * 2 ** Math.max(0, Math.min(10, disagreements - 1)));
  draft.retryAt = (at + pause) as Uptime;
  if (disagreements >= DISAGREEMENTS) draft.faultUntil = (at + FAULT_LASTS) as Uptime;
}

/** The command, when the load neither has the level nor is about to. A safety trip does not wait for a retry. */
function tell(context: Context, load: LoadConfig, draft: Draft, { level, wish }: Settled): Command | undefined {
  if (presentLevel(draft) === level) return undefined;
  const { uptime } = context.now;
  if (load.shadow) {
    confirm(draft, level, uptime);
    return undefined;
  }
  if (draft.retryAt !== undefined && wish.priority !== 1) {
    wakeAtUptime(context, draft.retryAt);
    return undefined;
  }
  supersede(draft, uptime);
  const { pending } = draft;
  const mayDraw = pending !== undefined && (pending.mayDraw || isRunning(pending.level));
  draft.pending = { level, at: uptime, mayDraw };
  return { load: load.name, level };
}

/** A command given before the one under way was confirmed: the load may have switched and counts as if it had. */
function supersede(draft: Draft, at: Uptime) {
  const { pending, level } = draft;
  if (pending === undefined || isRunning(pending.level) === isRunning(level)) return;
  draft.runSince = at;
  started(draft, isRunning(level) ? at : pending.at);
}

function started(draft: Draft, at: Uptime) {
  draft.starts = [...draft.starts, at];
  if (draft.job !== undefined) draft.job = { ...draft.job, starts: draft.job.starts + 1 };
}

function decided(context: Context, load: LoadConfig, draft: Draft, settled: Settled): Decision {
  const { wish, level, guard } = settled;
  const until = settled.until ?? wish.until ?? leastEnd(context, load, draft);
  const { index, rate } = signalOf(context);
  const { job } = draft;
  return {
    load: load.name,
    at: context.now.wall,
    level,
    wanted: wish.level,
    why: guard ?? wish.why,
    priority: guard === undefined ? wish.priority : rungOf(guard),
    basis: wish.basis,
    ...(guard === undefined ? {} : { wish: wish.why }),
    ...(index === undefined ? {} : { index }),
    ...(wish.limit === undefined ? {} : { limit: wish.limit }),
    ...(rate === undefined ? {} : { rate }),
    ...(until === undefined ? {} : { until }),
    ...(wish.next === undefined ? {} : { next: wish.next }),
    ...(job === undefined
      ? {}
      : {
          job: {
            by: job.by,
            from: job.from,
            need: job.need,
            done: job.done,
            shortfall: shortfall(context, load, draft, job),
          },
          energy: energy(load.power, job.done),
        }),
  };
}

const rungOf = (guard: Decision['why']): Priority => (guard === 'power-budget' ? 3 : 2);

/** Until when the least time of the present level holds, while it does. */
function leastEnd(context: Context, load: LoadConfig, draft: Draft) {
  const present = presentLevel(draft);
  if (present === undefined) return undefined;
  const least = isRunning(present) ? minOnOf(load) : minOffOf(load);
  const held = isSgReady(load) ? levelSince(draft) + load.hold : 0;
  const end = Math.max(runningSince(draft) + least, held) as Uptime;
  if (end <= context.now.uptime) return undefined;
  wakeAtUptime(context, end);
  return wallOf(context, end);
}

/** What the signal says now, for people: only what is valid, only on a clock that is trusted. */
function signalOf({ view, now }: Context): Pick<Decision, 'index' | 'rate'> {
  if (view === undefined || !now.trusted) return {};
  const { index, rate } = view;
  return {
    ...(index === undefined || now.wall >= index.validUntil
      ? {}
      : { index: { value: index.value, age: Math.max(0, now.wall - index.at) as Duration } }),
    ...(rate === undefined || now.wall >= rate.until ? {} : { rate: { value: rate.value, units: 'lbs_co2_per_mwh' } }),
  };
}

/** Moments that differ by less than this are one moment to people. */
const SAME_TIME = 60_000;

const near = (a: number | undefined, b: number | undefined) =>
  a === b || (a !== undefined && b !== undefined && Math.abs(a - b) < SAME_TIME);

const isShort = ({ job }: Decision) => job !== undefined && job.shortfall > 0;

/** Live index and fresh forecast take turns within each period: no news to people. */
const sameStanding = (a: Basis, b: Basis) => a === b || (isFresh(a) && isFresh(b));
const isFresh = (basis: Basis) => basis === 'live-index' || basis === 'fresh-forecast';

function sameDecision(a: Decision | undefined, b: Decision): boolean {
  return (
    a !== undefined &&
    a.level === b.level &&
    a.wanted === b.wanted &&
    a.why === b.why &&
    a.wish === b.wish &&
    a.priority === b.priority &&
    sameStanding(a.basis, b.basis) &&
    a.job?.by === b.job?.by &&
    a.next?.level === b.next?.level &&
    near(a.next?.at, b.next?.at) &&
    isShort(a) === isShort(b)
  );
}

export { initialState, loadState, saveState } from './state.ts';
export type { LoadState, State };
