/** The inputs and results of the control core. */

import type { Level, LoadConfig, LoadCurrent, Objective } from '../domain/load-types.ts';
import type { Thresholds } from '../domain/thresholds.ts';
import type { Duration, Instant, Kilogram, Kilowatt, KilowattHour, Percentile, Uptime } from '../domain/units.ts';
import type { Basis, SignalView } from '../signal/signal-view.ts';

/** Priorities of the rules; 1 wins over all others. */
export type RulePriority = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10;

/** The site as the core needs it. */
export interface Site {
  readonly device: string;
  readonly timezone: string;
  readonly budget?: Kilowatt;
  readonly loads: readonly LoadConfig[];
}

export type ControlEvent =
  /** Time has passed; also the first event after a start. */
  | { readonly kind: 'tick' }
  | { readonly kind: 'signal'; readonly view: SignalView }
  /** What the outputs were found at before the first step; a load that cannot be read, or reports no current, is missing. */
  | {
      readonly kind: 'found';
      readonly levels: Readonly<Record<string, Level>>;
      readonly amps?: Readonly<Record<string, number>>;
    }
  /** The output has set the level, or read-back found it there. */
  | { readonly kind: 'confirmed'; readonly load: string; readonly level: Level }
  /** The output did not set it; `disagreements` counts read-backs in a row that differ. */
  | { readonly kind: 'failed'; readonly load: string; readonly disagreements: number }
  | {
      readonly kind: 'override';
      readonly load: string;
      readonly level: Level;
      /** Capped at 24 h. */
      readonly for: Duration;
      readonly source: 'local' | 'remote';
    }
  /** `need` and `by` default to the load's goal; without either the event does nothing. */
  | { readonly kind: 'arm'; readonly load: string; readonly need?: Duration; readonly by?: Instant }
  /** Ends overrides and commanded jobs. */
  | { readonly kind: 'clear'; readonly load: string }
  /** Keeps the load at its fail-safe level until it is resumed. */
  | { readonly kind: 'pause'; readonly load: string; readonly paused: boolean }
  /** In place of the configured ones; none given: those again. */
  | { readonly kind: 'thresholds'; readonly load: string; readonly thresholds: Partial<Thresholds> }
  | { readonly kind: 'safety'; readonly load: string; readonly tripped: boolean }
  /** What a charger reports of its vehicle. */
  | { readonly kind: 'vehicle'; readonly load: string; readonly vehicle: VehiclePresence };

/** `full`: it is connected, may charge, and draws nothing. */
export type VehiclePresence = 'away' | 'connected' | 'full';

export interface LoadCommand {
  readonly load: string;
  readonly level: Level;
  /** Absent: the charger's own. */
  readonly current?: LoadCurrent;
}

export type DecisionReason =
  | 'safety'
  | 'min-on'
  | 'min-off'
  | 'hold'
  /** The job has no interruption left. */
  | 'last-run'
  | 'block-limit'
  | 'start-budget'
  | 'power-budget'
  | 'override'
  | 'remote-override'
  /** By its owner, until resumed. */
  | 'paused'
  | 'must-run'
  /** Off for its maximum time. */
  | 'max-off'
  | 'planned'
  | 'plan-waits'
  | 'goal-done'
  /** A goal waits for the vehicle. */
  | 'vehicle-away'
  | 'vehicle-full'
  /** The goal waits for an `arm` command, or for a vehicle to be plugged in. */
  | 'not-armed'
  | 'clean'
  | 'between'
  | 'dirty'
  | 'flat'
  /** The index is past its period: it may keep a level and start nothing. */
  | 'ageing'
  | 'spread'
  | 'window'
  | 'outside-window'
  | 'boot'
  | 'no-data'
  | 'untrusted-clock'
  | 'output-fault';

/** What the rest of a job is expected to emit, where the horizon has rates, and to cost. */
export interface ExpectedSums {
  readonly kg?: Kilogram;
  readonly cost: number;
  readonly currency: string;
}

/** A newer plan that was not worth the starts it added. */
export interface RefusedChange {
  readonly at: Instant;
  /** More than the plan that was kept. */
  readonly starts: number;
  /** Less than the plan that was kept, where the horizon has rates; below 0: more. */
  readonly kg?: number;
  /** The same of the bill, where prices have a weight in the plan. */
  readonly cost?: number;
}

/** Sums in the currency of the tariff, at the load's power. */
export interface DecisionMoney {
  readonly currency: string;
  /** Of a kilowatt-hour now. */
  readonly price: number;
  /** What the job has cost so far. */
  readonly spent?: number;
  /** Of the rest of its plan. */
  readonly expected?: ExpectedSums;
  /** Absent: its plan heeds carbon alone. */
  readonly objective?: Objective;
}

/** The level of a load and its reason: reaches the log, MQTT and the owner unchanged. `explainDecision` writes the sentence. */
export interface Decision {
  readonly load: string;
  /** When it was made. */
  readonly at: Instant;
  readonly level: Level;
  /** The level that the winning rule requests; differs from `level` while an interlock delays it. */
  readonly wanted: Level;
  readonly why: DecisionReason;
  readonly priority: RulePriority;
  readonly basis: Basis;
  /** To which the power budget lowers a charger that runs. */
  readonly current?: LoadCurrent;
  /** The reason of the delayed request, when an interlock decides. */
  readonly wantedWhy?: DecisionReason;
  readonly index?: { readonly value: Percentile; readonly age: Duration };
  /** The threshold that the index was compared with. */
  readonly threshold?: Percentile;
  readonly rate?: { readonly value: number; readonly units: string };
  /** Until when an interlock, an override or the minimum time of the present level applies. */
  readonly until?: Instant;
  /** The next change the plan foresees. */
  readonly next?: { readonly level: Level; readonly at: Instant };
  readonly job?: {
    readonly by: Instant;
    /** Not before. */
    readonly from: Instant;
    readonly need: Duration;
    readonly done: Duration;
    /** What will be missing at `by`; 0 when it can be delivered. */
    readonly shortfall: Duration;
  };
  /** Of the job so far, at the load's power. */
  readonly energy?: KilowattHour;
  /** While the price of now is known. */
  readonly money?: DecisionMoney;
  /** The plan that decides was kept against a newer one. */
  readonly refused?: RefusedChange;
}

export interface StepResult<State> {
  readonly state: State;
  readonly commands: readonly LoadCommand[];
  /**
   * Of each load whose decision differs from the last one published. A load that was switched may have two: why it was switched, then
   * what holds it there.
   */
  readonly decisions: readonly Decision[];
  /** A whole millisecond, later than now; nothing changes before it without an event. */
  readonly wakeAt: Uptime;
}
