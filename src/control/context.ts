/** One step's surroundings: the moment, the signal, and the earliest time anything said it would change. Decides nothing. */

import type { LoadConfig } from '../config/config.ts';
import type { Basis, IndexNow, Outlook, SignalView } from '../signal/view.ts';
import { type Duration, hours, type Instant, minutes, type Uptime } from '../units.ts';
import type { Moment } from '../world.ts';
import type { Event, Site } from './control.ts';
import { isRunning, isSgReady } from './levels.ts';
import type { LoadState } from './state.ts';

/** A load's state while a step works on it. */
export type Draft = { -readonly [Key in keyof LoadState]: LoadState[Key] };

export interface Context {
  readonly site: Site;
  readonly event: Event['kind'];
  readonly now: Moment;
  readonly view: SignalView | undefined;
  /** The wall clock has moved by more than the monotonic one allows, or has just been vouched for. */
  readonly jumped: boolean;
  /** The first step after a start. */
  readonly first: boolean;
  readonly doubt: Doubt;
  /** On the monotonic clock; only ever lowered. */
  earliest: number;
  /** By when each load's job must be done for the others to have their turn, where that is before its deadline. */
  ends: ReadonlyMap<string, Instant>;
}

/** What is not yet known since the start. */
export interface Doubt {
  readonly startedAt: Uptime;
  /** A signal event has come. */
  readonly heard: boolean;
  /** The wall clock has been vouched for. */
  readonly vouched: boolean;
  /** Since when the wall clock is not vouched for. */
  readonly since: Uptime;
}

/** Without any news, a step at least this often notices a clock that was set. */
const LONGEST_SLEEP = hours(1);

export const contextOf = (parts: Omit<Context, 'earliest' | 'ends'>): Context => ({
  ...parts,
  ends: new Map(),
  earliest: parts.now.uptime + LONGEST_SLEEP,
});

/** Asks for a step at `at`, when that is to come. */
export function wakeAtUptime(context: Context, at: Uptime) {
  if (at > context.now.uptime && at < context.earliest) context.earliest = at;
}

export function wakeAtWall(context: Context, at: Instant) {
  if (at > context.now.wall) wakeAtUptime(context, uptimeOf(context, at));
}

export const wallOf = ({ now }: Context, at: Uptime) => (now.wall + (at - now.uptime)) as Instant;
export const uptimeOf = ({ now }: Context, at: Instant) => (now.uptime + (at - now.wall)) as Uptime;

/** The index while it may drive anything; asks to be woken when that ends. */
export function indexNow(context: Context): IndexNow | undefined {
  const index = context.view?.index;
  if (index === undefined || context.now.wall >= index.validUntil) return undefined;
  wakeAtWall(context, index.validUntil);
  wakeAtWall(context, index.startsUntil);
  return index;
}

/** The values ahead while they may drive anything; asks to be woken when that ends. */
export function outlookNow(context: Context): Outlook | undefined {
  const outlook = context.view?.outlook;
  if (outlook === undefined || context.now.wall >= outlook.validUntil) return undefined;
  wakeAtWall(context, outlook.validUntil);
  return outlook;
}

/** The best data valid now: what a decision cites that no data caused. */
export function bestBasis(context: Context, load: LoadConfig): Basis {
  if (!context.now.trusted) return 'fail-safe';
  const known = outlookNow(context)?.basis ?? indexNow(context)?.basis;
  return known ?? (load.window === undefined ? 'fail-safe' : 'default-window');
}

/** The level a load has or is about to have. */
export const presentLevel = (load: LoadState) => load.pending?.level ?? load.level;

/** Since when the present running or pausing lasts; a command counts from when it was given. */
export const runningSince = (load: LoadState): Uptime =>
  load.pending !== undefined && isRunning(load.pending.level) !== isRunning(load.level)
    ? load.pending.at
    : load.runSince;

export const levelSince = (load: LoadState): Uptime => load.pending?.at ?? load.levelSince;

/** The least running time: an SG-Ready signal must stand for its hold time to count at all. */
export const minOnOf = (load: LoadConfig): Duration =>
  isSgReady(load) && load.hold > load.minOn ? load.hold : load.minOn;
export const minOffOf = (load: LoadConfig): Duration =>
  isSgReady(load) && load.hold > load.minOff ? load.hold : load.minOff;

/** How old the slots are where nothing else says so. */
export const DEFAULT_SLOT = minutes(5);
