/** The state of the control core between two steps. */

import { isRunning } from '../../domain/levels.ts';
import type { Level, LoadCurrent } from '../../domain/load-types.ts';
import type { ClockReading } from '../../domain/ports.ts';
import type { OwnerThresholds } from '../../domain/thresholds.ts';
import type { Duration, Instant, Uptime } from '../../domain/units.ts';
import type { SignalView } from '../../signal/signal-view.ts';
import type { Decision, ExpectedSums, RefusedChange, Site, VehiclePresence } from '../control-types.ts';
import type { JobBill } from '../planning/job-pricing.ts';
import type { PlannedRun } from '../planning/slot-plan.ts';

const STATE_VERSION = 1;

export interface ActiveOverride {
  readonly level: Level;
  readonly until: Uptime;
}

/** Sent and not yet confirmed. */
interface PendingCommand {
  readonly level: Level;
  readonly at: Uptime;
  /** The part of its power that it may draw by a command that this one replaced; 0 for none. */
  readonly mayDrawPortion: number;
  /** Undefined: the charger's own. */
  readonly current: LoadCurrent | undefined;
}

export interface Job {
  readonly by: Instant;
  /** Not before. */
  readonly from: Instant;
  readonly need: Duration;
  /** Running time at full power counted so far, from confirmed levels, on the monotonic clock. */
  readonly done: Duration;
  readonly starts: number;
  /** It must run now to meet its deadline, and runs until done or until the deadline. */
  readonly forcedByDeadline: boolean;
  readonly source: 'schedule' | 'command';
  /** While a tariff is known. */
  readonly bill?: JobBill;
}

export interface LoadPlan {
  /** Of the horizon it was made from; a plan is made once for each. */
  readonly generatedAt: Instant;
  readonly fromProfile: boolean;
  readonly by: Instant;
  readonly madeAt: Instant;
  /** The job's progress when it was made. */
  readonly doneWhenMade: Duration;
  /** Empty when no plan could be made: the deadline then forces the job. */
  readonly runs: readonly PlannedRun[];
  /** Value times hours, with the prices as its objective weighs them. */
  readonly cost: number;
  /** Of the runs, while prices are known. */
  readonly expected?: ExpectedSums;
  /** End of the prices it heeds; absent: it heeds none. */
  readonly pricedUntil?: Instant;
  /** By what share the plans made together cost more than if each had the power budget to itself; 0 when it has. */
  readonly optimalityGap: number;
  /** Kept against the newest values' own plan; absent: it is theirs. */
  readonly refused?: RefusedChange;
}

/** Every key is always there, in this order: the same state is the same bytes. */
export interface LoadState {
  readonly name: string;
  /** The last confirmed level; undefined until one is known. */
  readonly level: Level | undefined;
  /** To which a charger that runs is lowered; undefined: its own. */
  readonly current: LoadCurrent | undefined;
  readonly pending: PendingCommand | undefined;
  /** Since when it runs, or does not. A boot counts as a change. */
  readonly runningSince: Uptime;
  /** Of a load with a maximum time off that does not run: since when, also where a restart counts as a switch. Undefined: `runningSince`. */
  readonly offSince: Uptime | undefined;
  readonly levelSince: Uptime;
  /** Of the last 24 h, ascending. */
  readonly starts: readonly Uptime[];
  readonly blocks: readonly Uptime[];
  readonly local: ActiveOverride | undefined;
  readonly remote: ActiveOverride | undefined;
  /** Its present level is that of an ended override, and no rule has requested it since. */
  readonly staleOverride: boolean;
  readonly paused: boolean;
  /** Undefined: the configured ones. */
  readonly thresholds: OwnerThresholds | undefined;
  readonly tripped: boolean;
  /** Undefined where no device has reported one. */
  readonly vehicle: VehiclePresence | undefined;
  readonly retryAt: Uptime | undefined;
  /** Another level than `level`, whose command failed last, or that of a release out of reach: the device may have taken it, or take it late. */
  readonly failedLevel: Level | undefined;
  /** When that command failed last before the output counted as faulty: it is repeated while the load waits for its return. */
  readonly failedAt: Uptime | undefined;
  readonly faultUntil: Uptime | undefined;
  /** An `arm` that waits for a trusted clock. */
  readonly pendingArm: { readonly need: Duration | undefined; readonly by: Instant | undefined } | undefined;
  readonly job: Job | undefined;
  /** The job before, should the clock step back into it. */
  readonly previousJob: Job | undefined;
  readonly plan: LoadPlan | undefined;
  /** What past jobs have left of the bound of their bills, price times hours of one kilowatt. */
  readonly savedBill: number | undefined;
  /** Since when the signal requests a start: the start spread counts from here. */
  readonly startRequestedAt: Uptime | undefined;
  /** The last one made; the owner may show it at any time. */
  readonly decision: Decision | undefined;
}

/**
 * Where the state of a start comes from: `same-boot` is the last one of the life before, `old-state` one of the same boot after
 * which the loads may have been switched without its knowledge.
 */
export type Restart = 'same-boot' | 'old-state' | 'other-boot';

export interface ControlState {
  readonly version: typeof STATE_VERSION;
  /** The moment of the last step. */
  readonly lastMoment: ClockReading | undefined;
  /** How the first step after a start must treat these times. */
  readonly restart: 'no' | Restart;
  readonly startedAt: Uptime;
  /** A signal event has come since the start. */
  readonly signalReceived: boolean;
  /** The wall clock has been trusted since the start. */
  readonly clockTrusted: boolean;
  readonly clockUntrustedSince: Uptime | undefined;
  /** Of the last signal event; not saved. */
  readonly view: SignalView | undefined;
  /** In the order of the configuration. */
  readonly loads: readonly LoadState[];
}

const UPTIME_ZERO = 0 as Uptime;

const createLoadState = (name: string): LoadState => ({
  name,
  level: undefined,
  current: undefined,
  pending: undefined,
  runningSince: UPTIME_ZERO,
  offSince: undefined,
  levelSince: UPTIME_ZERO,
  starts: [],
  blocks: [],
  local: undefined,
  remote: undefined,
  staleOverride: false,
  paused: false,
  thresholds: undefined,
  tripped: false,
  vehicle: undefined,
  retryAt: undefined,
  failedLevel: undefined,
  failedAt: undefined,
  faultUntil: undefined,
  pendingArm: undefined,
  job: undefined,
  previousJob: undefined,
  plan: undefined,
  savedBill: undefined,
  startRequestedAt: undefined,
  decision: undefined,
});

const createControlState = (loads: readonly LoadState[]): ControlState => ({
  version: STATE_VERSION,
  lastMoment: undefined,
  restart: 'no',
  startedAt: UPTIME_ZERO,
  signalReceived: false,
  clockTrusted: false,
  clockUntrustedSince: undefined,
  view: undefined,
  loads,
});

/**
 * The state a start begins with. Uptimes of `saved` go on only when it is proven that the kernel has not restarted; else every
 * load counts as just switched, and budgets keep what the wall clock cannot excuse.
 */
export function createInitialState(site: Site, saved: ControlState | undefined, restart: Restart): ControlState {
  const known = new Map(saved?.loads.map((load) => [load.name, load]));
  const keepsUptimes = restart !== 'other-boot' && saved !== undefined;
  const loads = site.loads.map(({ name, maxOff }) => {
    const load = known.get(name);
    if (load === undefined) return createLoadState(name);
    const rests = maxOff !== undefined && !isRunning(load.level);
    return {
      ...load,
      offSince: rests ? (load.offSince ?? load.runningSince) : undefined,
      level: keepsUptimes ? load.level : undefined,
      retryAt: undefined,
      failedLevel: undefined,
      failedAt: undefined,
      decision: undefined,
    };
  });
  return {
    ...createControlState(loads),
    lastMoment: saved?.lastMoment,
    restart: keepsUptimes ? restart : 'other-boot',
  };
}

/** A saved state with every key, in their order: what was undefined is not in its text. */
export const fillControlState = (saved: ControlState): ControlState => ({
  ...createControlState([]),
  ...saved,
  loads: saved.loads.map((load) => ({ ...createLoadState(load.name), ...load })),
});
