/** What an event, a restart or the passing of time makes of a load's state, before anything is decided. */

import { isRunning, toSupportedLevel } from '../../domain/levels.ts';
import type { Level } from '../../domain/load-types.ts';
import type { ClockReading } from '../../domain/ports.ts';
import { type Duration, hours, type Uptime } from '../../domain/units.ts';
import type { ControlEvent, Site } from '../control-types.ts';
import { countProgress, dropJob } from '../rules/jobs.ts';
import { keepLastDay } from '../rules/start-budget.ts';
import type { MutableLoadState } from '../rules/step-context.ts';
import type { ControlState } from './control-state.ts';
import { confirmLevel, countStart, recordFailure } from './switching.ts';

const MAX_OVERRIDE = hours(24);

/** Brings a load from the last step to this one: a boot counts as a switch, running time is progress, old starts are forgotten. */
export function advanceLoad(state: ControlState, draft: MutableLoadState, now: ClockReading) {
  if (state.restart === 'other-boot') rebaseUptimes(state.lastMoment, draft, now);
  if (state.restart === 'same-boot') assumeApplied(draft, now.uptime);
  if (state.restart === 'no' && state.lastMoment !== undefined)
    countProgress(draft, (now.uptime - state.lastMoment.uptime) as Duration, now);
  draft.starts = keepLastDay(draft.starts, now.uptime);
  draft.blocks = keepLastDay(draft.blocks, now.uptime);
  const { uptime } = now;
  const hadOverride = hasOverride(draft);
  if (draft.local !== undefined && draft.local.until <= uptime) draft.local = undefined;
  if (draft.remote !== undefined && draft.remote.until <= uptime) draft.remote = undefined;
  if (hadOverride && !hasOverride(draft)) draft.staleOverride = true;
  if (draft.retryAt !== undefined && draft.retryAt <= uptime) draft.retryAt = undefined;
  if (draft.faultUntil !== undefined && draft.faultUntil <= uptime) draft.faultUntil = undefined;
}

const hasOverride = ({ local, remote }: MutableLoadState) => local !== undefined || remote !== undefined;

/** Moves uptimes of another boot onto this one's clock. Only a wall clock vouched for at both ends excuses the time between. */
function rebaseUptimes(last: ClockReading | undefined, draft: MutableLoadState, now: ClockReading) {
  draft.runningSince = now.uptime;
  draft.levelSince = now.uptime;
  draft.startRequestedAt = undefined;
  if (last === undefined) return;
  const away = last.trusted && now.trusted ? Math.max(0, now.wall - last.wall) : 0;
  const toThisBoot = (at: Uptime) => (at - last.uptime + now.uptime - away) as Uptime;
  draft.starts = draft.starts.map(toThisBoot);
  if (draft.pending !== undefined && isRunning(draft.pending.level)) countStart(draft, toThisBoot(draft.pending.at));
  draft.pending = undefined;
  draft.blocks = draft.blocks.map(toThisBoot);
  if (draft.local !== undefined) draft.local = { ...draft.local, until: toThisBoot(draft.local.until) };
  if (draft.remote !== undefined) draft.remote = { ...draft.remote, until: toThisBoot(draft.remote.until) };
  draft.faultUntil = undefined;
}

/** A command that was under way when the process ended is taken as done, just now; the output's own word comes after. */
function assumeApplied(draft: MutableLoadState, at: Uptime) {
  const { pending } = draft;
  draft.pending = undefined;
  if (pending !== undefined) confirmLevel(draft, pending.level, at);
}

type LoadEvent = Extract<ControlEvent, { readonly load: string }>;

export function applyEvent(site: Site, draft: MutableLoadState, event: LoadEvent, now: ClockReading) {
  const load = site.loads.find(({ name }) => name === draft.name);
  if (load === undefined) return;
  switch (event.kind) {
    case 'confirmed':
      return confirmLevel(draft, toSupportedLevel(load, event.level), now.uptime);
    case 'failed':
      return recordFailure(draft, event.disagreements, now.uptime);
    case 'override': {
      if (!(event.for > 0)) return;
      const until = (now.uptime + Math.min(event.for, MAX_OVERRIDE)) as Uptime;
      draft[event.source] = { level: event.level, until };
      return;
    }
    case 'arm':
      draft.pendingArm = { need: event.need, by: event.by };
      return;
    case 'clear':
      if (hasOverride(draft)) draft.staleOverride = true;
      draft.local = undefined;
      draft.remote = undefined;
      draft.pendingArm = undefined;
      if (draft.job?.source === 'command') dropJob(draft);
      return;
    case 'safety':
      draft.tripped = event.tripped;
      return;
  }
}

/** A load that is found running as it was left has run on while nobody looked. */
export function applyFound(
  site: Site,
  state: ControlState,
  draft: MutableLoadState,
  { found, now }: { found: Level | undefined; now: ClockReading },
) {
  const load = site.loads.find(({ name }) => name === draft.name);
  if (load === undefined || found === undefined) return;
  const level = toSupportedLevel(load, found);
  if (state.restart === 'same-boot' && state.lastMoment !== undefined && isRunning(level))
    countProgress(draft, (now.uptime - state.lastMoment.uptime) as Duration, now);
  confirmLevel(draft, level, now.uptime);
}
