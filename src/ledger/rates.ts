/** Collects what the entries tell of each slot's rate: as seen when loads were decided on, as first published, as published last. */

import { type Duration, floorTo, type Instant, type LbsPerMwh } from '../domain/units.ts';
import type { Entry, SettledEntry, SettledPoint } from './entries.ts';

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
  readonly imputed: boolean;
  readonly model?: string;
}

/** The rates of one region by the start of their slot. A change of period keeps the later one. */
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
    imputed: point.imputed,
    ...(entry.model === undefined ? {} : { model: entry.model }),
  };
}

export interface RateBook {
  add(entries: Iterable<Entry>): void;
  /** The rates of a region, growing as entries are added; undefined while none is known. */
  find(region: string): Rates | undefined;
  forgetBefore(at: Instant): void;
}

export function createRateBook(): RateBook {
  const regions = new Map<string, { period: Duration; readonly bySlot: Map<Instant, RateRecord> }>();
  const open = (name: string, period: Duration) => {
    const region = regions.get(name) ?? { period, bySlot: new Map<Instant, RateRecord>() };
    region.period = period;
    regions.set(name, region);
    return region.bySlot;
  };
  const addEntry = (entry: Entry): void => {
    if (entry.kind === 'seen') {
      const bySlot = open(entry.region, entry.period);
      const model = entry.model === undefined ? {} : { model: entry.model };
      bySlot.set(entry.at, { imputed: false, ...model, ...bySlot.get(entry.at), seen: entry.rate });
    } else if (entry.kind === 'settled') {
      const bySlot = open(entry.region, entry.period);
      for (const point of entry.points) bySlot.set(point.at, mergeSettledPoint(bySlot.get(point.at), point, entry));
    }
  };
  return {
    add(entries) {
      for (const entry of entries) addEntry(entry);
    },
    find: (region) => regions.get(region),
    forgetBefore(at) {
      for (const { bySlot } of regions.values()) for (const slot of bySlot.keys()) if (slot < at) bySlot.delete(slot);
    },
  };
}

/** All rates of a region the entries tell; undefined when they tell none. */
export function collectRates(entries: Iterable<Entry>, region: string): Rates | undefined {
  const book = createRateBook();
  book.add(entries);
  return book.find(region);
}

/** The best rate known of a slot: published before seen. */
export const getBestRate = (record: RateRecord | undefined): LbsPerMwh | undefined => record?.published ?? record?.seen;

export const findRateRecord = ({ bySlot, period }: Rates, at: Instant): RateRecord | undefined =>
  bySlot.get(floorTo(at, period));
