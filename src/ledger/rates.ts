/** Collects the rates of each slot from the entries: as known at the decision, as first published, as last published. */

import { type Duration, floorTo, type Instant, type LbsPerMwh } from '../domain/units.ts';
import type { Entry, SeenEntry, SettledEntry, SettledPoint } from './entries.ts';

/** What is known of one slot's rate. */
export interface RateRecord {
  /** At the time of the decision. */
  readonly seen: LbsPerMwh | undefined;
  /** As first published, also when it is restated later. */
  readonly first: LbsPerMwh | undefined;
  /** As published last. */
  readonly published: LbsPerMwh | undefined;
  /** When the published value last changed for us. */
  readonly changedAt: Instant | undefined;
  readonly imputed: boolean;
  readonly model: string | undefined;
}

/** Records by the start of their slot, by seconds inside: milliseconds of our time are no small integers, and cost several times as much as keys. */
class SlotMap {
  readonly #bySecond = new Map<number, RateRecord>();
  get(at: Instant): RateRecord | undefined {
    return this.#bySecond.get(at / 1_000);
  }
  set(at: Instant, record: RateRecord): void {
    this.#bySecond.set(at / 1_000, record);
  }
  forgetBefore(at: Instant): void {
    for (const second of this.#bySecond.keys()) if (second < at / 1_000) this.#bySecond.delete(second);
  }
  *[Symbol.iterator](): Generator<readonly [Instant, RateRecord]> {
    for (const [second, record] of this.#bySecond) yield [(second * 1_000) as Instant, record];
  }
}

/** The rates of one region by the start of their slot. A change of period keeps the later one. */
export interface Rates {
  readonly period: Duration;
  readonly bySlot: Pick<SlotMap, 'get' | typeof Symbol.iterator>;
}

const mergeSettledPoint = (known: RateRecord | undefined, point: SettledPoint, entry: SettledEntry): RateRecord => ({
  seen: known?.seen,
  first: known?.first ?? point.rate,
  published: point.rate,
  changedAt: known?.published === point.rate ? known.changedAt : entry.readAt,
  imputed: point.imputed,
  model: entry.model ?? known?.model,
});

const mergeSeen = (known: RateRecord | undefined, { rate, model }: SeenEntry): RateRecord => ({
  seen: rate,
  first: known?.first,
  published: known?.published,
  changedAt: known?.changedAt,
  imputed: known?.imputed ?? false,
  model: known?.model ?? model,
});

export interface RateBook {
  add(entries: Iterable<Entry>): void;
  /** The rates of a region, growing as entries are added; undefined while none is known. */
  find(region: string): Rates | undefined;
  forgetBefore(at: Instant): void;
}

export function createRateBook(): RateBook {
  const regions = new Map<string, { period: Duration; readonly bySlot: SlotMap }>();
  const open = (name: string, period: Duration) => {
    const region = regions.get(name) ?? { period, bySlot: new SlotMap() };
    region.period = period;
    regions.set(name, region);
    return region.bySlot;
  };
  const addEntry = (entry: Entry): void => {
    if (entry.kind === 'seen') {
      const bySlot = open(entry.region, entry.period);
      bySlot.set(entry.at, mergeSeen(bySlot.get(entry.at), entry));
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
      for (const { bySlot } of regions.values()) bySlot.forgetBefore(at);
    },
  };
}

/** All rates of a region in the entries; undefined when there are none. */
export function collectRates(entries: Iterable<Entry>, region: string): Rates | undefined {
  const book = createRateBook();
  book.add(entries);
  return book.find(region);
}

/** The best rate known of a slot: published before seen. */
export const getBestRate = (record: RateRecord | undefined): LbsPerMwh | undefined => record?.published ?? record?.seen;

export const findRateRecord = ({ bySlot, period }: Rates, at: Instant): RateRecord | undefined =>
  bySlot.get(floorTo(at, period));
