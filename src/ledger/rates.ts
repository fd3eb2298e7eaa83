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

/** Seen, first, published, changed; the number of the model, doubled, and one more when imputed. */
const NUMBERS_PER_SLOT = 5;

const toNumber = (value: number | undefined) => value ?? Number.NaN;
const fromNumber = <Value extends number>(value: number | undefined) =>
  value === undefined || Number.isNaN(value) ? undefined : (value as Value);

/**
 * Records by the start of their slot, in rows of numbers: as objects those of four months would take most of the memory of a report.
 * Keys are seconds: milliseconds of our time are no small integers, and cost several times as much.
 */
class SlotMap {
  readonly #rowBySecond = new Map<number, number>();
  readonly #freeRows: number[] = [];
  readonly #models: (string | undefined)[] = [undefined];
  #numbers = new Float64Array(512 * NUMBERS_PER_SLOT);

  #read(row: number): RateRecord {
    const start = row * NUMBERS_PER_SLOT;
    const rest = this.#numbers[start + 4] ?? 0;
    return {
      seen: fromNumber(this.#numbers[start]),
      first: fromNumber(this.#numbers[start + 1]),
      published: fromNumber(this.#numbers[start + 2]),
      changedAt: fromNumber(this.#numbers[start + 3]),
      imputed: rest % 2 === 1,
      model: this.#models[rest >> 1],
    };
  }

  #numberModel(model: string | undefined): number {
    const known = this.#models.indexOf(model);
    return known < 0 ? this.#models.push(model) - 1 : known;
  }

  get(at: Instant): RateRecord | undefined {
    const row = this.#rowBySecond.get(at / 1_000);
    return row === undefined ? undefined : this.#read(row);
  }

  set(at: Instant, { seen, first, published, changedAt, imputed, model }: RateRecord): void {
    const row = this.#rowBySecond.get(at / 1_000) ?? this.#freeRows.pop() ?? this.#rowBySecond.size;
    const start = row * NUMBERS_PER_SLOT;
    if (start >= this.#numbers.length) {
      const larger = new Float64Array(start * 2);
      larger.set(this.#numbers);
      this.#numbers = larger;
    }
    this.#numbers[start] = toNumber(seen);
    this.#numbers[start + 1] = toNumber(first);
    this.#numbers[start + 2] = toNumber(published);
    this.#numbers[start + 3] = toNumber(changedAt);
    this.#numbers[start + 4] = this.#numberModel(model) * 2 + Number(imputed);
    this.#rowBySecond.set(at / 1_000, row);
  }

  forgetBefore(at: Instant): void {
    for (const [second, row] of this.#rowBySecond) {
      if (second >= at / 1_000) continue;
      this.#rowBySecond.delete(second);
      this.#freeRows.push(row);
    }
  }

  *[Symbol.iterator](): Generator<readonly [Instant, RateRecord]> {
    for (const [second, row] of this.#rowBySecond) yield [(second * 1_000) as Instant, this.#read(row)];
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
  add(entry: Entry): void;
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
  const add = (entry: Entry): void => {
    if (entry.kind === 'seen') {
      const bySlot = open(entry.region, entry.period);
      bySlot.set(entry.at, mergeSeen(bySlot.get(entry.at), entry));
    } else if (entry.kind === 'settled') {
      const bySlot = open(entry.region, entry.period);
      for (const point of entry.points) bySlot.set(point.at, mergeSettledPoint(bySlot.get(point.at), point, entry));
    }
  };
  return {
    add,
    find: (region) => regions.get(region),
    forgetBefore(at) {
      for (const { bySlot } of regions.values()) bySlot.forgetBefore(at);
    },
  };
}

/** All rates of a region in the entries; undefined when there are none. */
export function collectRates(entries: Iterable<Entry>, region: string): Rates | undefined {
  const book = createRateBook();
  for (const entry of entries) book.add(entry);
  return book.find(region);
}

/** The best rate known of a slot: published before seen. */
export const getBestRate = (record: RateRecord | undefined): LbsPerMwh | undefined => record?.published ?? record?.seen;

export const findRateRecord = ({ bySlot, period }: Rates, at: Instant): RateRecord | undefined =>
  bySlot.get(floorTo(at, period));
