/** One step's surroundings: the moment, the signal, and the earliest time anything said it would change. Decides nothing. */

import { isRunning, isSgReady } from '../../domain/levels.ts';
import type { LoadConfig } from '../../domain/load-types.ts';
import type { ClockReading } from '../../domain/ports.ts';
import { type Duration, hours, type Instant, minutes, type Uptime } from '../../domain/units.ts';
import type { Basis, CurrentIndex, Horizon, SignalView } from '../../signal/signal-view.ts';
import type { ControlEvent, Site } from '../control-types.ts';
import type { LoadState } from '../state/control-state.ts';

/** A load's state while a step works on it. */
export type MutableLoadState = { -readonly [Key in keyof LoadState]: LoadState[Key] };

export interface StepContext {
  readonly site: Site;
  readonly eventKind: ControlEvent['kind'];
  readonly now: ClockReading;
  readonly view: SignalView | undefined;
  /** The wall clock has moved by more than the monotonic one allows, or has just been vouched for. */
  readonly clockJumped: boolean;
  /** The first step after a start. */
  readonly isFirstStep: boolean;
  readonly startup: Startup;
  /** On the monotonic clock; only ever lowered. */
  earliestWakeUp: number;
  /** By when each load's job must be done for the others to have their turn, where that is before its deadline. */
  latestFinish: ReadonlyMap<string, Instant>;
}

/** What is not yet known since the start. */
export interface Startup {
  readonly startedAt: Uptime;
  /** A signal event has come. */
  readonly signalReceived: boolean;
  /** The wall clock has been vouched for. */
  readonly clockTrusted: boolean;
  /** Since when the wall clock is not vouched for. */
  readonly clockUntrustedSince: Uptime;
}

/** Without any news, a step at least this often notices a clock that was set. */
const MAX_SLEEP = hours(1);

export const buildStepContext = (parts: Omit<StepContext, 'earliestWakeUp' | 'latestFinish'>): StepContext => ({
  ...parts,
  latestFinish: new Map(),
  earliestWakeUp: parts.now.uptime + MAX_SLEEP,
});

/** Asks for a step at `at`, when that is to come. */
export function wakeAtUptime(context: StepContext, at: Uptime) {
  if (at > context.now.uptime && at < context.earliestWakeUp) context.earliestWakeUp = at;
}

export function wakeAtWall(context: StepContext, at: Instant) {
  if (at > context.now.wall) wakeAtUptime(context, toUptime(context, at));
}

export const toWallTime = ({ now }: StepContext, at: Uptime) => (now.wall + (at - now.uptime)) as Instant;
export const toUptime = ({ now }: StepContext, at: Instant) => (now.uptime + (at - now.wall)) as Uptime;

/** The index while it may drive anything; asks to be woken when that ends. */
export function getValidIndex(context: StepContext): CurrentIndex | undefined {
  const index = context.view?.index;
  if (index === undefined || context.now.wall >= index.validUntil) return undefined;
  wakeAtWall(context, index.validUntil);
  wakeAtWall(context, index.startsUntil);
  return index;
}

/** The values ahead while they may drive anything; asks to be woken when that ends. */
export function getValidHorizon(context: StepContext): Horizon | undefined {
  const horizon = context.view?.horizon;
  if (horizon === undefined || context.now.wall >= horizon.validUntil) return undefined;
  wakeAtWall(context, horizon.validUntil);
  return horizon;
}

/** The best data valid now: what a decision cites that no data caused. */
export function findDecisionBasis(context: StepContext, load: LoadConfig): Basis {
  if (!context.now.trusted) return 'fail-safe';
  const known = getValidHorizon(context)?.basis ?? getValidIndex(context)?.basis;
  return known ?? (load.window === undefined ? 'fail-safe' : 'default-window');
}

/** The level a load has or is about to have. */
export const presentLevel = (load: LoadState) => load.pending?.level ?? load.level;

/** Since when the present running or pausing lasts; a command counts from when it was given. */
export const runningSince = (load: LoadState): Uptime =>
  load.pending !== undefined && isRunning(load.pending.level) !== isRunning(load.level)
    ? load.pending.at
    : load.runningSince;

export const levelSince = (load: LoadState): Uptime => load.pending?.at ?? load.levelSince;

/** The least running time: an SG-Ready signal must stand for its hold time to count at all. */
export const effectiveMinOn = (load: LoadConfig): Duration =>
  isSgReady(load) && load.minStateTime > load.minOn ? load.minStateTime : load.minOn;
export const effectiveMinOff = (load: LoadConfig): Duration =>
  isSgReady(load) && load.minStateTime > load.minOff ? load.minStateTime : load.minOff;

/** How old the slots are where nothing else says so. */
export const DEFAULT_SLOT = minutes(5);
