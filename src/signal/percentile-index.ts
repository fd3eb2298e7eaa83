/** The percentile of the present rate among the next 24 hours of a forecast, under all three tie rules; not rounded, not interpolated. */

import { type Duration, floorTo, hours, type Instant, type Percentile } from '../domain/units.ts';
import type { Point } from '../service/api/response-types.ts';

export type TieRule = 'mid' | 'strict' | 'weak';

/** `full`: at least 21 hours of values; `degraded`: at least 18; `none`: fewer, or no value for now, and then no percentile is given. */
type IndexQuality = 'full' | 'degraded' | 'none';

export interface LocalIndex {
  /** Start of the slot that holds now. */
  readonly pointTime: Instant;
  /** Share of the pool below the present value. */
  readonly strict?: Percentile;
  /** Share of the pool below or equal. */
  readonly weak?: Percentile;
  /** Half of the equal ones counted. */
  readonly mid?: Percentile;
  /** How many values the pool holds. */
  readonly pool: number;
  readonly quality: IndexQuality;
  /** Every value of the pool equals the present one: the order says nothing. */
  readonly flat: boolean;
}

const POOL_LENGTH = hours(24);
const FULL_COVERAGE = hours(21);
const LEAST_COVERAGE = hours(18);

/** The present value and the values of [slot, slot + 24 h); of a repeated point the last counts (specification 2.5). */
function collectPool(
  points: readonly Point[],
  slot: Instant,
): { readonly present?: number; readonly values: number[] } {
  const byTime = new Map<number, number>();
  for (const { at, value } of points)
    if (Number.isFinite(value) && at >= slot && at < slot + POOL_LENGTH) byTime.set(at, value);
  const present = byTime.get(slot);
  return { ...(present === undefined ? {} : { present }), values: [...byTime.values()] };
}

/** How many values are lower than the present one, and how many equal it. */
export function countRanks(
  values: readonly number[],
  present: number,
): { readonly below: number; readonly equal: number } {
  let below = 0;
  let equal = 0;
  for (const value of values) {
    if (value < present) below++;
    else if (value === present) equal++;
  }
  return { below, equal };
}

/** Values in any order and unit; `period` is `data_point_period_seconds` (specification 2.5, 2.6). */
export function computeLocalIndex(points: readonly Point[], period: Duration, now: Instant): LocalIndex {
  const pointTime = floorTo(now, period);
  const { present, values } = collectPool(points, pointTime);
  const pool = values.length;
  const covered = pool * period;
  const quality =
    present === undefined || covered < LEAST_COVERAGE ? 'none' : covered < FULL_COVERAGE ? 'degraded' : 'full';
  if (present === undefined || quality === 'none') return { pointTime, pool, quality: 'none', flat: false };

  const { below, equal } = countRanks(values, present);
  const share = (n: number) => ((100 * n) / pool) as Percentile;
  return {
    pointTime,
    strict: share(below),
    weak: share(below + equal),
    mid: share(below + equal / 2),
    pool,
    quality,
    flat: equal === pool,
  };
}

/** Where the first value stands that is not below `limit`, or with `allowsEqual` the first above it. */
function findRank(
  sorted: readonly number[],
  limit: number,
  { allowsEqual }: { readonly allowsEqual: boolean },
): number {
  let [from, to] = [0, sorted.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    const value = sorted[middle] ?? limit;
    if (value < limit || (allowsEqual && value === limit)) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** The percentile of each value ahead among the 24 hours from it on, up to where those are known; NaN where it is missing or says nothing. */
export function rankAhead(values: readonly number[], period: Duration, ties: TieRule): number[] {
  const pool = Math.round(POOL_LENGTH / period);
  const least = Math.ceil(LEAST_COVERAGE / period);
  const weight = { strict: 0, mid: 0.5, weak: 1 }[ties];
  const ranks = new Array<number>(Math.max(0, values.length - least + 1)).fill(Number.NaN);
  // From the end on, so that each step adds one value to the sorted pool and takes one out: a small controller does this for each forecast.
  const sorted: number[] = [];
  const findBelow = (value: number) => findRank(sorted, value, { allowsEqual: false });
  for (let slot = values.length - 1; slot >= 0; slot--) {
    const [present = Number.NaN, past = Number.NaN] = [values[slot], values[slot + pool]];
    if (Number.isFinite(past)) sorted.splice(findBelow(past), 1);
    if (!Number.isFinite(present)) continue;
    const below = findBelow(present);
    sorted.splice(below, 0, present);
    const equal = findRank(sorted, present, { allowsEqual: true }) - below;
    if (slot < ranks.length && sorted.length >= least && equal < sorted.length)
      ranks[slot] = (100 * (below + weight * equal)) / sorted.length;
  }
  return ranks;
}
