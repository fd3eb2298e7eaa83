/** The types of ledger entries. An entry never changes; every figure is computed from the entries. */

import type { DecisionReason } from '../control/control-types.ts';
import type { Level } from '../domain/load-types.ts';
import type { Duration, Instant, Kilogram, Kilowatt, KilowattHour, LbsPerMwh } from '../domain/units.ts';
import type { Basis } from '../signal/signal-view.ts';

/** A job was armed: from here its counterfactual is fixed, the same energy at `power` at once. */
export interface JobEntry {
  readonly kind: 'job';
  readonly load: string;
  /** Unique for the load; its slots name it. */
  readonly job: string;
  readonly armedAt: Instant;
  readonly power: Kilowatt;
}

/** Energy a load drew for one cause within one slot of the signal. */
export interface SlotEntry {
  readonly kind: 'slot';
  readonly load: string;
  /** Start of the running time; it lies in one slot of `period`. */
  readonly at: Instant;
  readonly for: Duration;
  readonly energy: KilowattHour;
  /** By the device's own meter; false: power times running time. */
  readonly metered: boolean;
  readonly level: Level;
  readonly why: DecisionReason;
  readonly basis: Basis;
  readonly region?: string;
  readonly job?: string;
  /** The device was sent the level and has not confirmed it: nothing is claimed as saved. */
  readonly unconfirmed?: true;
}

/** The rate of one slot as it stood when loads were decided on. */
export interface SeenEntry {
  readonly kind: 'seen';
  readonly region: string;
  readonly at: Instant;
  readonly period: Duration;
  readonly rate: LbsPerMwh;
  /** Date label of the data model. */
  readonly model?: string;
}

/** What a kilowatt-hour cost, as it was known when loads were decided on. */
export interface PriceEntry {
  readonly kind: 'price';
  readonly at: Instant;
  readonly for: Duration;
  readonly price: number;
  readonly currency: string;
}

/** Published rates of slots, new or restated. */
export interface SettledEntry {
  readonly kind: 'settled';
  readonly region: string;
  readonly period: Duration;
  readonly model?: string;
  /** When the answer was read. */
  readonly readAt: Instant;
  readonly points: readonly SettledPoint[];
}

export interface SettledPoint {
  readonly at: Instant;
  readonly rate: LbsPerMwh;
  readonly imputed: boolean;
}

/** The sums of one load and local day, in place of its slots once the month is old. */
export interface DayEntry extends TotalSums {
  readonly kind: 'day';
  readonly load: string;
  /** Local day `2026-03-01` in the zone of the month's `folded` entry. */
  readonly day: string;
  /** Start of its first running time. */
  readonly at: Instant;
}

/** The sums of a day or longer. Kilograms and the fields after them count the priced energy alone. */
export interface TotalSums {
  readonly energy: KilowattHour;
  /** The part that the devices' own meters counted. */
  readonly metered: KilowattHour;
  /** The part of which nothing proves that it was drawn; never priced. */
  readonly unconfirmed: KilowattHour;
  /** The part whose rates, and whose counterfactual's rates, are known. */
  readonly priced: KilowattHour;
  readonly emitted: Kilogram;
  /** Of the counterfactual. */
  readonly instead: Kilogram;
  /** Energy whose rate has been published and unchanged for 7 days. */
  readonly settled: KilowattHour;
  /** Energy whose rate the service filled in for a gap. */
  readonly imputed: KilowattHour;
  /** Kilograms by which restatements have changed `emitted` since the first published values. */
  readonly restated: Kilogram;
  readonly starts: number;
  /** Whether any rate is a forecast still. */
  readonly estimated: boolean;
  readonly baselines: readonly Baseline[];
  readonly models: readonly string[];
  readonly jobs: readonly string[];
  /** Absent: no price is known. */
  readonly bill?: BillSums;
}

/** Of the energy whose price, and whose counterfactual's, is known. */
export interface BillSums {
  readonly energy: KilowattHour;
  readonly paid: number;
  /** Of the counterfactual. */
  readonly instead: number;
  readonly currency: string;
}

/**
 * What a row is compared with. `at-once`: the job's energy at full power from the moment it was armed. `even-day`: a load without a job has no
 * such moment; it is compared with the same energy drawn evenly over the local day, as by a thermostat that knows nothing of the grid.
 * `timer`: in a report that asks for it, a job's energy at full power in the daily hours of a timer.
 */
export type Baseline = 'at-once' | 'timer' | 'even-day';

/** Where a load stood at the end of a folded month, so that the month after can be counted without its slots. */
export interface CarriedEntry {
  readonly kind: 'carried';
  readonly load: string;
  /** End of its last running time. */
  readonly end: Instant;
  /** Energy of the jobs that go on in the month after. */
  readonly done: Readonly<Record<string, KilowattHour>>;
}

/** First of a file that was rewritten: what was lost before, and whose days it holds when its slots were folded. */
export interface HeaderEntry {
  readonly kind: 'header';
  readonly damaged: number;
  readonly foreign: number;
  readonly timezone?: string;
}

/** What the agent writes down as it happens. */
export type RecordedEntry = JobEntry | SlotEntry | SeenEntry | PriceEntry | SettledEntry;

export type Entry = RecordedEntry | DayEntry | CarriedEntry | HeaderEntry;

/** Its month's file is that of this moment. */
export function getEntryTime(entry: RecordedEntry): Instant {
  switch (entry.kind) {
    case 'job':
      return entry.armedAt;
    case 'settled':
      return entry.readAt;
    case 'slot':
    case 'seen':
    case 'price':
      return entry.at;
  }
}
