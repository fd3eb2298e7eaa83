/** What the ledger records, one entry at a time, never changed once written. Every figure is a question asked of the list of entries. */

import type { DecisionReason } from '../control/control-types.ts';
import type { Level } from '../domain/load-types.ts';
import type { Duration, Instant, Kilowatt, KilowattHour, LbsPerMwh } from '../domain/units.ts';
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
  /** False: power times running time. */
  readonly metered: boolean;
  readonly level: Level;
  readonly why: DecisionReason;
  readonly basis: Basis;
  readonly region?: string;
  readonly job?: string;
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
  readonly lastUpdated?: Instant;
  readonly imputed?: boolean;
}

export type Entry = JobEntry | SlotEntry | SeenEntry | SettledEntry;

/** In the order written. */
export type Ledger = readonly Entry[];

/** What is known of one slot's rate. */
export interface RateRecord {
  /** At the time of the decision. */
  readonly seen?: LbsPerMwh;
  /** As first published: kept when it is restated later. */
  readonly first?: LbsPerMwh;
  /** As published last. */
  readonly published?: LbsPerMwh;
  /** When the published value last changed for us. */
  readonly changedAt?: Instant;
  readonly lastUpdated?: Instant;
  readonly imputed: boolean;
  readonly model?: string;
}

/** The rates of one region by the start of their slot. */
export interface Rates {
  readonly period: Duration;
  readonly bySlot: ReadonlyMap<Instant, RateRecord>;
}

function mergeSettledPoint(known: RateRecord | undefined, point: SettledPoint, entry: SettledEntry): RateRecord {
  const changed = known?.published !== point.rate;
  return {
    ...known,
    first: known?.first ?? point.rate,
    published: point.rate,
    ...(changed ? { changedAt: entry.readAt } : {}),
    ...(point.lastUpdated === undefined ? {} : { lastUpdated: point.lastUpdated }),
    imputed: point.imputed ?? false,
    ...(entry.model === undefined ? {} : { model: entry.model }),
  };
}

/** All rates of a region the entries tell; undefined when they tell none. A change of period keeps the later one. */
export function collectRates(ledger: Iterable<Entry>, region: string): Rates | undefined {
  const bySlot = new Map<Instant, RateRecord>();
  let period: Duration | undefined;
  for (const entry of ledger) {
    if (entry.kind === 'seen' && entry.region === region) {
      period = entry.period;
      const model = entry.model === undefined ? {} : { model: entry.model };
      bySlot.set(entry.at, { imputed: false, ...model, ...bySlot.get(entry.at), seen: entry.rate });
    } else if (entry.kind === 'settled' && entry.region === region) {
      period = entry.period;
      for (const point of entry.points) bySlot.set(point.at, mergeSettledPoint(bySlot.get(point.at), point, entry));
    }
  }
  return period === undefined ? undefined : { period, bySlot };
}

/** The best rate known of a slot: published before seen. */
export const getBestRate = (record: RateRecord | undefined): LbsPerMwh | undefined => record?.published ?? record?.seen;
