/** A recorded signal with its forecasts as issued, read line by line into typed arrays and found by slot. */

import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import { createInterface } from 'node:readline';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { parseServiceTime } from '../http/service-times.ts';
import { SLOT } from './seeded-grid.ts';

const SLOTS_PER_DAY = 288;
const WEEK_DAYS = 7;
/** Recorded points of each issue: f1 for its own slot, f2 for the next. */
const FORECAST_POINTS = 36;
const LBS_PER_MWH_IN_KG_PER_KWH = 2_204.622_62;

/** Units a two-column file may be in, and the factor to lb/MWh. */
export const seriesUnits: Readonly<Record<string, number>> = {
  kg_co2_per_kwh: LBS_PER_MWH_IN_KG_PER_KWH,
  kg_co2_per_mwh: LBS_PER_MWH_IN_KG_PER_KWH / 1_000,
  lbs_co2_per_mwh: 1,
};

export interface Series {
  /** Ascending, no repeats: 5-minute slots since 1970. */
  readonly slots: Int32Array;
  /** lb/MWh, one a slot. */
  readonly values: Float64Array;
  /** `ISSUED` a slot, lb/MWh, NaN where the file has none. */
  readonly forecasts: Float64Array;
}

/** What is wrong with a file, with its line. */
export class SeriesError extends Error {
  override readonly name = 'SeriesError';
}

interface RecordedRow {
  readonly slot: number;
  readonly value: number;
  readonly forecasts: readonly number[];
}

class SeriesTable {
  slots = new Int32Array(4_096);
  values = new Float64Array(4_096);
  forecasts = new Float64Array(4_096 * FORECAST_POINTS);
  length = 0;

  add({ slot, value, forecasts }: RecordedRow): void {
    if (this.length === this.slots.length) this.grow();
    this.slots[this.length] = slot;
    this.values[this.length] = value;
    for (let k = 0; k < FORECAST_POINTS; k++)
      this.forecasts[this.length * FORECAST_POINTS + k] = forecasts[k] ?? Number.NaN;
    this.length += 1;
  }

  private grow(): void {
    const larger = <A extends Int32Array | Float64Array>(old: A, fresh: A) => {
      fresh.set(old);
      return fresh;
    };
    this.slots = larger(this.slots, new Int32Array(this.slots.length * 2));
    this.values = larger(this.values, new Float64Array(this.values.length * 2));
    this.forecasts = larger(this.forecasts, new Float64Array(this.forecasts.length * 2));
  }

  /** In time order; of repeated slots the first read stays. */
  toSeries(): Series {
    const order = Array.from({ length: this.length }, (_, i) => i).sort(
      (a, b) => (this.slots[a] ?? 0) - (this.slots[b] ?? 0) || a - b,
    );
    const kept = order.filter((row, i) => i === 0 || this.slots[row] !== this.slots[order[i - 1] ?? 0]);
    const slots = Int32Array.from(kept, (row) => this.slots[row] ?? 0);
    const values = Float64Array.from(kept, (row) => this.values[row] ?? Number.NaN);
    const forecasts = new Float64Array(kept.length * FORECAST_POINTS);
    kept.forEach((row, i) => {
      forecasts.set(this.forecasts.subarray(row * FORECAST_POINTS, (row + 1) * FORECAST_POINTS), i * FORECAST_POINTS);
    });
    return { slots, values, forecasts };
  }
}

type RowReader = (line: string) => RecordedRow | string;

/** How to read the rows below a header, or what is wrong with the header. */
function createRowReader(header: string, units: string | undefined): RowReader | string {
  const columns = header.trim().split(',');
  const recorded = columns[0] === 'time' && columns[1] === 'moer';
  const plain = columns.length === 2 && columns[0] === 'time' && columns[1] === 'value';
  if (/^\uFFFD{2}|\0/.test(header)) return 'the file is UTF-16, expected UTF-8; save it as UTF-8';
  if (/^time;/.test(header))
    return `the columns are parted by semicolons, expected commas, and a point in decimal numbers; save it so`;
  if (!recorded && !plain)
    return `the header is "${header.slice(0, 60)}", wanted time,moer,f1,…,f${FORECAST_POINTS} or time,value`;
  const unit = units ?? (recorded ? 'kg_co2_per_kwh' : '');
  const factor = seriesUnits[unit];
  if (factor === undefined)
    return `a file of time,value needs its unit: one of ${Object.keys(seriesUnits).join(', ')}${units === undefined ? '' : `, not "${units}"`}`;
  return (line) => {
    const cells = line.split(',');
    const at = parseServiceTime(cells[0] ?? '');
    if (at === undefined) return `"${(cells[0] ?? '').slice(0, 40)}" is not a time with a zone`;
    if (at % SLOT !== 0) return `${cells[0]} is not the start of a 5-minute slot`;
    const [value = Number.NaN, ...forecasts] = cells
      .slice(1)
      .map((cell) => (cell === '' ? Number.NaN : Number(cell) * factor));
    if (!Number.isFinite(value)) {
      const hint = /^"\d+$/.test(cells[1] ?? '') ? '; write decimal numbers with a point and without quotes' : '';
      return `${(cells[1] ?? '').slice(0, 40)} is not a number${hint}`;
    }
    return { slot: at / SLOT, value, forecasts };
  };
}

async function readFileInto(table: SeriesTable, file: string, units: string | undefined): Promise<void> {
  const raw = createReadStream(file);
  const bytes = file.endsWith('.gz') ? pipeline(raw, createGunzip(), () => {}) : raw;
  let reader: RowReader | undefined;
  let number = 0;
  for await (const line of createInterface({ input: bytes, crlfDelay: Number.POSITIVE_INFINITY })) {
    number += 1;
    if (line.trim() === '') continue;
    const result = reader === undefined ? createRowReader(line.replace(/^\uFEFF/, ''), units) : reader(line);
    if (typeof result === 'string') throw new SeriesError(`${basename(file)} line ${number}: ${result}`);
    if (typeof result === 'function') reader = result;
    else table.add(result);
  }
  if (reader === undefined) throw new SeriesError(`${basename(file)}: the file is empty`);
}

/** Reads files (`.gz` too) into one history in time order. Throws `SeriesError`. */
export async function readSeries(files: readonly string[], units?: string): Promise<Series> {
  const table = new SeriesTable();
  for (const file of files)
    await readFileInto(table, file, units).catch((error: NodeJS.ErrnoException) => {
      if (error instanceof SeriesError || error.code === undefined) throw error;
      throw new SeriesError(`${file}: cannot be read (${error.code})`);
    });
  if (table.length === 0) throw new SeriesError(`${files.join(', ')}: no rows`);
  return table.toSeries();
}

/** Row of a slot, or -1. */
function findSlotRow({ slots }: Series, slot: number): number {
  let [low, high] = [0, slots.length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    const found = slots[middle] ?? 0;
    if (found === slot) return middle;
    if (found < slot) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}

/** The recorded rate in lb/MWh. */
export const findRecordedRate = (series: Series, slot: number) => series.values[findSlotRow(series, slot)];

/** Mean of each time of day over the recorded days among the 7 before `slot`; NaN where none was recorded. */
function computeMeanDay(series: Series, slot: number): Float64Array {
  const sums = new Float64Array(SLOTS_PER_DAY);
  const counts = new Uint8Array(SLOTS_PER_DAY);
  for (let s = slot - WEEK_DAYS * SLOTS_PER_DAY; s < slot; s++) {
    const value = findRecordedRate(series, s);
    if (value === undefined) continue;
    const place = s % SLOTS_PER_DAY;
    sums[place] = (sums[place] ?? 0) + value;
    counts[place] = (counts[place] ?? 0) + 1;
  }
  return sums.map((sum, place) => sum / (counts[place] ?? 0));
}

/**
 * The forecast issued at the slot `issued`: a function from points ahead (0 for its own slot) to lb/MWh. Recorded points first, then the
 * same-time mean of up to 7 recorded days before. Outside the record its nearest week stands in.
 */
export function createRecordedForecast(series: Series, issued: number): (ahead: number) => number {
  const row = findSlotRow(series, issued);
  const first = series.slots[0] ?? 0;
  const last = series.slots[series.slots.length - 1] ?? 0;
  const mean = computeMeanDay(series, Math.min(last + 1, Math.max(first + SLOTS_PER_DAY, issued)));
  return (ahead) => {
    const recorded =
      row < 0 || ahead >= FORECAST_POINTS
        ? Number.NaN
        : (series.forecasts[row * FORECAST_POINTS + ahead] ?? Number.NaN);
    return Number.isNaN(recorded) ? (mean[(issued + ahead) % SLOTS_PER_DAY] ?? Number.NaN) : recorded;
  };
}

/** First and last slot, milliseconds since 1970. */
export const findRecordedSpan = ({ slots }: Series) => ({
  from: (slots[0] ?? 0) * SLOT,
  to: (slots[slots.length - 1] ?? 0) * SLOT,
});
