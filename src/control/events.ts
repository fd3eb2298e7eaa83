/** What an event, a restart or the passing of time makes of a load's state, before anything is decided. */

import type { Level } from '../config/config.ts';
import { type Duration, hours, type Uptime } from '../units.ts';
import type { Moment } from '../world.ts';
import type { Draft } from './context.ts';
import type { Event, Site } from './control.ts';
import { drop, progress } from './jobs.ts';
import { isRunning, nearest } from './levels.ts';
import { ofTheDay } from './starts.ts';
import type { State } from './state.ts';
import { confirm, fail, started } from './switching.ts';

const LONGEST_OVERRIDE = hours(24);

/** Brings a load from the last step to this one: a boot counts as a switch, running time is progress, old starts are forgotten. */
export function resume(state: State, draft: Draft, now: Moment) {
  if (state.fresh === 'other-boot') rebase(state.last, draft, now);
  if (state.fresh === 'same-boot') presume(draft, now.uptime);
  if (state.fresh === 'no' && state.last !== undefined)
    progress(draft, (now.uptime - state.last.uptime) as Duration, now);
  draft.starts = ofTheDay(draft.starts, now.uptime);
  draft.blocks = ofTheDay(draft.blocks, now.uptime);
  const { uptime } = now;
  const wasSaid = hasOverride(draft);
  if (draft.local !== undefined && draft.local.until <= uptime) draft.local = undefined;
  if (draft.remote !== undefined && draft.remote.until <= uptime) draft.remote = undefined;
  if (wasSaid && !hasOverride(draft)) draft.leftOver = true;
  if (draft.retryAt !== undefined && draft.retryAt <= uptime) draft.retryAt = undefined;
  if (draft.faultUntil !== undefined && draft.faultUntil <= uptime) draft.faultUntil = undefined;
}

const hasOverride = ({ local, remote }: Draft) => local !== undefined || remote !== undefined;

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

export function take(site: Site, draft: Draft, event: LoadEvent, now: Moment) {
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
      if (hasOverride(draft)) draft.leftOver = true;
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
export function find(
  site: Site,
  state: State,
  draft: Draft,
  { found, now }: { found: Level | undefined; now: Moment },
) {
  const load = site.loads.find(({ name }) => name === draft.name);
  if (load === undefined || found === undefined) return;
  const level = nearest(load, found);
  if (state.fresh === 'same-boot' && state.last !== undefined && isRunning(level))
    progress(draft, (now.uptime - state.last.uptime) as Duration, now);
  confirm(draft, level, now.uptime);
}
