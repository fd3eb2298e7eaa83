/** The facts of one step: the moment, the signal, the unknowns since the start, and the reading of a load's state. */

import { isRunning, isSgReady } from '../../domain/levels.ts';
import type { LoadConfig } from '../../domain/load-types.ts';
import type { ClockReading } from '../../domain/ports.ts';
import { findPriceSpan, type Prices } from '../../domain/tariff.ts';
import { type Duration, type Instant, minutes, type Uptime } from '../../domain/units.ts';
import type { Basis, CurrentIndex, Horizon, SignalView } from '../../signal/signal-view.ts';
import type { ControlEvent, Site } from '../control-types.ts';
import type { LoadState } from '../state/control-state.ts';

export interface StepContext {
  readonly site: Site;
  readonly eventKind: ControlEvent['kind'];
  readonly now: ClockReading;
  readonly view: SignalView | undefined;
  /** The wall clock has moved by more than the monotonic one allows, or has just been synchronised. */
  readonly clockJumped: boolean;
  /** The first step after a start. */
  readonly isFirstStep: boolean;
  readonly startup: Startup;
  /** By when each load's job must be done for the others to have their turn, where that is before its deadline. */
  readonly latestFinish: ReadonlyMap<string, Instant>;
}

/** What is not yet known since the start. */
interface Startup {
  readonly startedAt: Uptime;
  /** A signal event has come. */
  readonly signalReceived: boolean;
  /** The wall clock has been trusted. */
  readonly clockTrusted: boolean;
  /** Since when the wall clock is not trusted; now while it is. */
  readonly clockUntrustedSince: Uptime;
}

/** How long a start waits for a signal, and an untrusted clock for its time source, before the fail-safe level. */
export const STARTUP_GRACE = minutes(10);

export const toWallTime = ({ now }: StepContext, at: Uptime) => (now.wall + (at - now.uptime)) as Instant;
export const toUptime = ({ now }: StepContext, at: Instant) => (now.uptime + (at - now.wall)) as Uptime;

/** The index while it may drive anything. */
export function getValidIndex({ view, now }: StepContext): CurrentIndex | undefined {
  const index = view?.index;
  return index === undefined || now.wall >= index.validUntil ? undefined : index;
}

/** The values ahead while they may drive anything. */
export function getValidHorizon({ view, now }: StepContext): Horizon | undefined {
  const horizon = view?.horizon;
  return horizon === undefined || now.wall >= horizon.validUntil ? undefined : horizon;
}

/** The prices while the present one is known. */
export function getValidPrices({ view, now }: StepContext): Prices | undefined {
  const prices = view?.prices;
  return prices === undefined || findPriceSpan(prices.spans, now.wall) === undefined ? undefined : prices;
}

/** The best data valid now: what a decision cites that no data caused. */
export function findDecisionBasis(context: StepContext, load: LoadConfig): Basis {
  if (!context.now.trusted) return 'fail-safe';
  const known = getValidHorizon(context)?.basis ?? getValidIndex(context)?.basis;
  return known ?? (load.window === undefined ? 'fail-safe' : 'default-window');
}

/** The level a load has or is about to have. */
export const getPresentLevel = (state: LoadState) => state.pending?.level ?? state.level;

/** The current a charger has or is about to have; undefined: its own. */
export const getPresentCurrent = (state: LoadState) =>
  state.pending === undefined ? state.current : state.pending.current;

/** Since when the present running or pausing lasts; a command counts from when it was given. */
export const findRunningSince = (state: LoadState): Uptime =>
  state.pending !== undefined && isRunning(state.pending.level) !== isRunning(state.level)
    ? state.pending.at
    : state.runningSince;

/** Whether a load that counts as running may rest: a command to rest failed, which its device may have taken without a word. */
export const mayRest = ({ pending, level, failedLevel }: LoadState): boolean =>
  pending === undefined && failedLevel !== undefined && !isRunning(failedLevel) && isRunning(level);

/** Whether a load that counts as resting may run: the same of a command to run. */
export const mayRun = ({ pending, level, failedLevel }: LoadState): boolean =>
  pending === undefined && isRunning(failedLevel) && !isRunning(level);

export const findLevelSince = (state: LoadState): Uptime => state.pending?.at ?? state.levelSince;

/** The minimum running time: an SG-Ready state must last for its minimum state time to count at all. */
export const getEffectiveMinOn = (load: LoadConfig): Duration =>
  isSgReady(load) && load.minStateTime > load.minOn ? load.minStateTime : load.minOn;
export const getEffectiveMinOff = (load: LoadConfig): Duration =>
  isSgReady(load) && load.minStateTime > load.minOff ? load.minStateTime : load.minOff;

/** When the least time of the present level ends; undefined while the level is not known. */
export function findMinimumTimeEnd(load: LoadConfig, state: LoadState): Uptime | undefined {
  const present = getPresentLevel(state);
  if (present === undefined) return undefined;
  const least = isRunning(present) ? getEffectiveMinOn(load) : getEffectiveMinOff(load);
  const stateEnd = isSgReady(load) ? findLevelSince(state) + load.minStateTime : 0;
  return Math.max(findRunningSince(state) + least, stateEnd) as Uptime;
}

/** When the maximum time off ends; undefined for a load that runs or has none. */
export const findMaxOffEnd = ({ maxOff }: LoadConfig, state: LoadState): Uptime | undefined =>
  maxOff === undefined || isRunning(getPresentLevel(state))
    ? undefined
    : (((state.offSince ?? findRunningSince(state)) + maxOff) as Uptime);

/** Length of a slot without a signal. */
export const DEFAULT_SLOT = minutes(5);
