/** A recorded history as rows of five minutes, with prefix sums that price any stretch of time. */

import { type Instant, minutes } from '../../domain/units.ts';
import type { Series } from '../../reference/world/recorded-signal.ts';

export const SLOT = minutes(5);
export const SLOTS_PER_DAY = 288;
/** Forecast values a row: f1 for its own slot. */
export const FORECAST_POINTS = 36;
/** The first days of a history only teach the profile. */
export const TEACHING_DAYS = 9;

export interface RecordedSeries {
  readonly series: Series;
  readonly rows: number;
  /** Sum of all rates before a row, lb/MWh times slots. */
  readonly valueSums: Float64Array;
  /** Row of the next gap, at which a row's unbroken stretch ends. */
  readonly gapRows: Int32Array;
}

export function buildRecordedSeries(series: Series): RecordedSeries {
  const rows = series.slots.length;
  const valueSums = new Float64Array(rows + 1);
  const gapRows = new Int32Array(rows);
  for (let row = 0; row < rows; row++) valueSums[row + 1] = (valueSums[row] ?? 0) + (series.values[row] ?? 0);
  for (let row = rows - 1, end = rows; row >= 0; row--) {
    if (row < rows - 1 && series.slots[row + 1] !== (series.slots[row] ?? 0) + 1) end = row + 1;
    gapRows[row] = end;
  }
  return { series, rows, valueSums, gapRows };
}

export const getRowTime = ({ series }: RecordedSeries, row: number) => ((series.slots[row] ?? 0) * SLOT) as Instant;

/** The first row at or after an instant; `rows` when there is none. */
export function findRowFrom({ series, rows }: RecordedSeries, at: Instant): number {
  let [low, high] = [0, rows];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((series.slots[middle] ?? 0) * SLOT < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Rows of [from, to) when every slot of it is recorded. */
export function findWholeRows(
  record: RecordedSeries,
  from: Instant,
  to: Instant,
): { readonly first: number; readonly end: number } | undefined {
  const first = findRowFrom(record, from);
  const end = first + Math.round((to - from) / SLOT);
  if (first >= record.rows || getRowTime(record, first) !== from || end > (record.gapRows[first] ?? 0))
    return undefined;
  return { first, end };
}

/** Rate times hours of [from, to), lb/MWh h; slots that are not recorded count nothing. */
export function sumWeight(record: RecordedSeries, from: number, to: number): number {
  const sumUpTo = (at: number) => {
    const row = findRowFrom(record, (Math.floor(at / SLOT) * SLOT) as Instant);
    const start = row < record.rows ? getRowTime(record, row) : Number.POSITIVE_INFINITY;
    const part = start <= at ? ((at - start) / SLOT) * (record.series.values[row] ?? 0) : 0;
    return (record.valueSums[row] ?? 0) + part;
  };
  return ((sumUpTo(to) - sumUpTo(from)) * SLOT) / 3_600_000;
}
