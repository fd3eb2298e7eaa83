/** A recorded history as rows of five minutes, with sums that price any stretch of time. Never fills a gap. */

import type { Series } from '../../reference/series.ts';
import { type Instant, minutes } from '../../units.ts';

export const SLOT = minutes(5);
export const A_DAY = 288;
/** Forecast values a row: f1 for its own slot. */
export const ISSUED = 36;
/** The first days of a history only teach the profile. */
export const TEACHING_DAYS = 9;

export interface Record {
  readonly series: Series;
  readonly rows: number;
  /** Sum of all rates before a row, lb/MWh times slots. */
  readonly sums: Float64Array;
  /** Row of the next gap, at which a row's unbroken stretch ends. */
  readonly ends: Int32Array;
}

export function recordOf(series: Series): Record {
  const rows = series.slots.length;
  const sums = new Float64Array(rows + 1);
  const ends = new Int32Array(rows);
  for (let row = 0; row < rows; row++) sums[row + 1] = (sums[row] ?? 0) + (series.values[row] ?? 0);
  for (let row = rows - 1, end = rows; row >= 0; row--) {
    if (row < rows - 1 && series.slots[row + 1] !== (series.slots[row] ?? 0) + 1) end = row + 1;
    ends[row] = end;
  }
  return { series, rows, sums, ends };
}

export const timeOf = ({ series }: Record, row: number) => ((series.slots[row] ?? 0) * SLOT) as Instant;

/** The first row at or after an instant; `rows` when there is none. */
export function rowFrom({ series, rows }: Record, at: Instant): number {
  let [low, high] = [0, rows];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((series.slots[middle] ?? 0) * SLOT < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Rows of [from, to) when every slot of it is recorded. */
export function wholeRows(
  record: Record,
  from: Instant,
  to: Instant,
): { readonly first: number; readonly end: number } | undefined {
  const first = rowFrom(record, from);
  const end = first + Math.round((to - from) / SLOT);
  if (first >= record.rows || timeOf(record, first) !== from || end > (record.ends[first] ?? 0)) return undefined;
  return { first, end };
}

/** Rate times hours of [from, to), lb/MWh h; slots that are not recorded count nothing. */
export function weightOf(record: Record, from: number, to: number): number {
  const upTo = (at: number) => {
    const row = rowFrom(record, (Math.floor(at / SLOT) * SLOT) as Instant);
    const start = row < record.rows ? timeOf(record, row) : Number.POSITIVE_INFINITY;
    const part = start <= at ? ((at - start) / SLOT) * (record.series.values[row] ?? 0) : 0;
    return (record.sums[row] ?? 0) + part;
  };
  return ((upTo(to) - upTo(from)) * SLOT) / 3_600_000;
}
