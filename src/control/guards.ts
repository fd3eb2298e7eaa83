/** Which wishes the equipment must wait for, and until when: block limits, minimum times, start budgets, the start spread, holds. */

import type { Level, LoadConfig } from '../config/config.ts';
import { spreadOf } from '../spread.ts';
import type { Instant, Uptime } from '../units.ts';
import {
  type Context,
  type Draft,
  levelSince,
  minOffOf,
  minOnOf,
  presentLevel,
  runningSince,
  wakeAtUptime,
  wallOf,
} from './context.ts';
import type { Why } from './control.ts';
import { hasNoPauseLeft, isDone, latestStart } from './jobs.ts';
import type { Wish } from './ladder.ts';
import { idleLevel, isRunning, isSgReady } from './levels.ts';
import { blockAllowedFrom, startAllowedFrom } from './starts.ts';
import type { LoadState } from './state.ts';

/** What a load is told once the guards have been asked. */
export interface Settled {
  readonly wish: Wish;
  readonly level: Level;
  /** The guard that holds the wish back, if one does. */
  readonly guard?: Why;
  readonly until?: Instant;
}

interface Delay {
  readonly guard: Why;
  /** May be never. */
  readonly until: Uptime;
}

/** A safety trip passes every guard; any other wish is bent or delayed by each guard in turn. */
export function guarded(context: Context, load: LoadConfig, state: Draft, wish: Wish): Settled {
  markEdge(context, state, wish);
  if (wish.priority === 1) return { wish, level: wish.level };
  const stay = standing(context, load, state);
  let level = wish.level;
  let delay: Delay | undefined;
  const limit = level === 'block' ? blockLimit(context, load, state) : undefined;
  if (limit !== undefined) {
    delay = limit;
    level = 'normal';
  }
  const wait = minimumTime(context, load, state, { ...wish, level }) ?? hold(context, load, state, level);
  if (wait !== undefined) {
    delay = wait;
    level = stay;
  }
  if (delay === undefined) return { wish, level };
  if (delay.until === Infinity) return { wish, level, guard: delay.guard };
  wakeAtUptime(context, delay.until);
  return { wish, level, guard: delay.guard, until: wallOf(context, delay.until) };
}

/** The level while a wish waits: the present one, except that a block is let go when its time is over. */
function standing(context: Context, load: LoadConfig, state: LoadState): Level {
  const present = presentLevel(state) ?? idleLevel(load);
  if (present !== 'block') return present;
  const release = (levelSince(state) + load.maxBlock) as Uptime;
  wakeAtUptime(context, release);
  return context.now.uptime < release ? present : 'normal';
}

/** Starts that the shared signal causes are spread from the moment it first asked for one. */
function markEdge(context: Context, state: Draft, { level, priority }: Wish) {
  const asks = isRunning(level) && (priority === 7 || priority === 8) && !isRunning(presentLevel(state));
  if (!asks) state.edgeAt = undefined;
  else state.edgeAt ??= context.now.uptime;
}

/** A block ends after `maxBlock`, and none is begun when the day's are used up. */
function blockLimit(context: Context, load: LoadConfig, state: LoadState): Delay | undefined {
  const { uptime } = context.now;
  const allowed = blockAllowedFrom(load, state);
  if (presentLevel(state) === 'block') {
    const over = uptime >= levelSince(state) + load.maxBlock;
    return over ? { guard: 'block-limit', until: Math.max(allowed, uptime + load.hold) as Uptime } : undefined;
  }
  return allowed > uptime ? { guard: 'block-limit', until: allowed } : undefined;
}

function minimumTime(context: Context, load: LoadConfig, state: LoadState, wish: Wish): Delay | undefined {
  const run = isRunning(wish.level);
  if (run === isRunning(presentLevel(state))) return undefined;
  const { uptime } = context.now;
  const since = runningSince(state);
  if (!run) {
    const until = (since + minOnOf(load)) as Uptime;
    if (until > uptime) return { guard: 'min-on', until };
    return isHeld(load, state, wish) ? { guard: 'last-run', until: Infinity as Uptime } : undefined;
  }
  const pauseEnds = (since + minOffOf(load)) as Uptime;
  if (pauseEnds > uptime) return { guard: 'min-off', until: pauseEnds };
  const allowed = startAllowedFrom(load, state, startsKept(load, state, wish));
  if (allowed > uptime) return { guard: 'start-budget', until: allowed };
  const spread = spreadEnd(context, load, state);
  if (spread > uptime) return { guard: 'spread', until: spread };
  // Last, so that the waits above go on while the next index is on its way.
  const old = wish.startsUntil !== undefined && context.now.wall >= wish.startsUntil;
  return old ? { guard: 'ageing', until: Infinity as Uptime } : undefined;
}

/** Whatever the signal or its absence says, a job goes on that could not go on later: its interruptions are starts, too. */
const isHeld = (load: LoadConfig, state: LoadState, { priority, why }: Wish) =>
  priority > 6 && why !== 'output-fault' && hasNoPauseLeft(load, state);

/** What the index or a window starts leaves one start of the day for the deadline guard. */
const startsKept = (load: LoadConfig, { job }: LoadState, { priority }: Wish) =>
  job !== undefined && !isDone(job) && (priority === 8 || priority === 9) && load.maxStartsPerDay > 1 ? 1 : 0;

/** Within the jitter, and never so late that the deadline guard would have to speak first. */
function spreadEnd(context: Context, load: LoadConfig, state: LoadState): Uptime {
  const { edgeAt, job } = state;
  if (edgeAt === undefined) return context.now.uptime;
  const slack =
    job === undefined ? Infinity : Math.max(0, latestStart(context, load, state, job) - wallOf(context, edgeAt));
  const share = spreadOf(context.site.device, load.name, job?.by ?? '');
  return (edgeAt + Math.floor(share * Math.min(load.jitter, slack))) as Uptime;
}

/** An SG-Ready state stands for its hold time before the next, whatever the two are; only a block's end does not wait. */
function hold(context: Context, load: LoadConfig, state: LoadState, level: Level): Delay | undefined {
  const present = presentLevel(state);
  if (!isSgReady(load) || present === undefined || present === level) return undefined;
  const until = (levelSince(state) + load.hold) as Uptime;
  return until > context.now.uptime ? { guard: 'hold', until } : undefined;
}
