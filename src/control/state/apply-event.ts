/** Applies an event, a restart or the passing of time to a load's state, before any decision. */

import { listLowerCurrents } from '../../domain/currents.ts';
import { isRunning, toSupportedLevel } from '../../domain/levels.ts';
import type { Level, LoadConfig } from '../../domain/load-types.ts';
import type { ClockReading } from '../../domain/ports.ts';
import { changeThresholds } from '../../domain/thresholds.ts';
import { durationBetween, hours, type Uptime } from '../../domain/units.ts';
import type { ControlEvent, VehiclePresence } from '../control-types.ts';
import { countProgress, dropJob } from '../rules/jobs.ts';
import { keepLastDay } from '../rules/start-budget.ts';
import { getEffectiveMinOff, getEffectiveMinOn } from '../rules/step-context.ts';
import type { ActiveOverride, ControlState, LoadState } from './control-state.ts';
import { confirmLevel, countStart, recordFailure } from './switching.ts';

const MAX_OVERRIDE = hours(24);

/** Brings a load from the last step to this one: a boot counts as a switch, running time is progress, old starts are forgotten. */
export function advanceLoad(load: LoadConfig, control: ControlState, state: LoadState, now: ClockReading): LoadState {
  const { restart, lastMoment } = control;
  if (restart === 'other-boot') return expireTimes(rebaseUptimes(lastMoment, state, now), now.uptime);
  if (restart === 'same-boot') return expireTimes(assumeApplied(state, now), now.uptime);
  if (restart === 'old-state') return expireTimes(assumeSwitched(load, control, state, now), now.uptime);
  if (lastMoment === undefined) return expireTimes(state, now.uptime);
  const passed = durationBetween(lastMoment.uptime, now.uptime);
  return expireTimes(countProgress(state, passed, now, control.view?.prices?.spans), now.uptime);
}

const hasOverride = ({ local, remote }: LoadState) => local !== undefined || remote !== undefined;

function expireTimes(state: LoadState, uptime: Uptime): LoadState {
  const overrideAt = (one: ActiveOverride | undefined) => (one !== undefined && one.until <= uptime ? undefined : one);
  const timeAt = (at: Uptime | undefined) => (at !== undefined && at <= uptime ? undefined : at);
  const left = {
    starts: keepLastDay(state.starts, uptime),
    blocks: keepLastDay(state.blocks, uptime),
    local: overrideAt(state.local),
    remote: overrideAt(state.remote),
    retryAt: timeAt(state.retryAt),
    faultUntil: timeAt(state.faultUntil),
  };
  // Nothing expires in nearly every step, and a copy of the whole state costs as much as a rule.
  if (Object.entries(left).every(([key, value]) => state[key as keyof typeof left] === value)) return state;
  const isReleased = hasOverride(state) && left.local === undefined && left.remote === undefined;
  return { ...state, ...left, staleOverride: state.staleOverride || isReleased };
}

/** Moves uptimes of another boot onto this one's clock. Only a wall clock trusted at both ends excuses the time between. */
function rebaseUptimes(last: ClockReading | undefined, state: LoadState, now: ClockReading): LoadState {
  const booted = { ...state, runningSince: now.uptime, levelSince: now.uptime, startRequestedAt: undefined };
  if (last === undefined) return booted;
  const away = last.trusted && now.trusted ? Math.max(0, now.wall - last.wall) : 0;
  const toThisBoot = (at: Uptime) => (at - last.uptime + now.uptime - away) as Uptime;
  const rebaseOverride = (one: ActiveOverride | undefined) => one && { ...one, until: toThisBoot(one.until) };
  const rebased: LoadState = {
    ...booted,
    offSince: state.offSince === undefined ? undefined : toThisBoot(state.offSince),
    current: undefined,
    pending: undefined,
    starts: state.starts.map(toThisBoot),
    blocks: state.blocks.map(toThisBoot),
    local: rebaseOverride(state.local),
    remote: rebaseOverride(state.remote),
    faultUntil: undefined,
  };
  const { pending } = state;
  return isRunning(pending?.level) ? countStart(rebased, toThisBoot(pending?.at ?? last.uptime)) : rebased;
}

/**
 * A command given just before the process ended counts as carried out now; the output's own report comes after. A charger counts
 * with its own current until it reports a lower one: it may have been released or raised meanwhile.
 */
function assumeApplied(state: LoadState, now: ClockReading): LoadState {
  const restarted: LoadState = { ...state, current: undefined, pending: undefined };
  return state.pending === undefined ? restarted : confirmLevel(restarted, state.pending.level, now);
}

/** Whether the load may have left the level of an old state and returned to it since: that takes the minimum time of the other one. */
const mayHaveReturned = (
  load: LoadConfig,
  { restart, lastMoment }: ControlState,
  state: LoadState,
  now: ClockReading,
) =>
  restart === 'old-state' &&
  lastMoment !== undefined &&
  durationBetween(lastMoment.uptime, now.uptime) >=
    (isRunning(state.level) ? getEffectiveMinOff(load) : getEffectiveMinOn(load));

/** A load that may have switched twice counts as switched now, one that runs as started; a block keeps its beginning, so that it does not last longer. */
function assumeSwitched(load: LoadConfig, control: ControlState, state: LoadState, now: ClockReading): LoadState {
  const applied = assumeApplied(state, now);
  if (!mayHaveReturned(load, control, applied, now)) return applied;
  const { uptime } = now;
  const levelSince = applied.level === 'block' ? applied.levelSince : uptime;
  const switched = { ...applied, runningSince: uptime, levelSince };
  return isRunning(applied.level) ? countStart(switched, uptime) : switched;
}

type LoadEvent = Extract<ControlEvent, { readonly load: string }>;

export function applyEvent(load: LoadConfig, state: LoadState, event: LoadEvent, now: ClockReading): LoadState {
  switch (event.kind) {
    case 'confirmed':
      return confirmLevel(state, toSupportedLevel(load, event.level), now);
    case 'failed':
      return recordFailure(load, state, event.disagreements, now);
    case 'override': {
      if (!(event.for > 0)) return state;
      const until = (now.uptime + Math.min(event.for, MAX_OVERRIDE)) as Uptime;
      return { ...state, [event.source]: { level: event.level, until } };
    }
    case 'arm':
      return { ...state, pendingArm: { need: event.need, by: event.by } };
    case 'clear': {
      const current = state.job?.source === 'command' ? dropJob(state) : state;
      const staleOverride = state.staleOverride || hasOverride(state);
      return { ...current, local: undefined, remote: undefined, staleOverride, pendingArm: undefined };
    }
    case 'pause':
      return { ...state, paused: event.paused };
    case 'thresholds':
      return { ...state, thresholds: changeThresholds(load, state.thresholds, event.thresholds) };
    case 'safety':
      return { ...state, tripped: event.tripped };
    case 'vehicle':
      return applyVehicle(load, state, event.vehicle);
  }
}

/** A vehicle that goes suspends its job, one that comes has the rest of it planned anew; where plugging in arms, both arm and disarm. */
function applyVehicle({ goal }: LoadConfig, state: LoadState, vehicle: VehiclePresence): LoadState {
  if (state.vehicle === vehicle) return state;
  const isArmedByPlug = goal?.armedBy === 'plug';
  if (vehicle === 'away') return { ...(isArmedByPlug ? dropJob(state) : state), vehicle };
  const isPluggedIn = state.vehicle === undefined || state.vehicle === 'away';
  if (!isPluggedIn) return { ...state, vehicle };
  const arms = isArmedByPlug && state.job === undefined;
  return {
    ...state,
    vehicle,
    plan: undefined,
    ...(arms ? { pendingArm: { need: undefined, by: undefined } } : {}),
  };
}

/** `amps`: of a charger that reports them. */
interface FoundLoad {
  readonly found: Level;
  readonly amps: number | undefined;
  readonly now: ClockReading;
}

/** A load that is found running as it was left has run on while the agent was away; where it may have paused, none of that time counts. */
export function applyFound(
  load: LoadConfig,
  control: ControlState,
  state: LoadState,
  { found, amps, now }: FoundLoad,
): LoadState {
  const level = toSupportedLevel(load, found);
  const { restart, lastMoment } = control;
  const isKnown = (restart === 'same-boot' || restart === 'old-state') && !mayHaveReturned(load, control, state, now);
  const ranOn = isKnown && lastMoment !== undefined && isRunning(level);
  const counted = ranOn ? countProgress(state, durationBetween(lastMoment.uptime, now.uptime), now) : state;
  const current = amps === undefined ? undefined : listLowerCurrents(load).find((one) => one.amps >= amps);
  return confirmLevel({ ...counted, current }, level, now);
}
