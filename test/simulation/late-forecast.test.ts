/** An old forecast is never worse than none: what is expected with it is no further off than what measured values as old let expect. */

import { describe, expect, it } from 'vitest';
import type { Instant, Uptime } from '../../src/domain/units.ts';
import {
  buildRecordedSeries,
  FORECAST_POINTS,
  getRowTime,
  type RecordedSeries,
  SLOT,
  SLOTS_PER_DAY,
} from '../../src/simulation/backtest/recorded-series.ts';
import { type BacktestFeedName, createBacktestFeed } from '../../src/simulation/backtest/signal-feeds.ts';
import { createSeededFractions } from '../control/planner-instances.ts';

const START = Date.UTC(2020, 5, 1) as Instant;
const DAYS = 10;
const TAUGHT = 8 * SLOTS_PER_DAY;
const AHEAD = 72;
/** What learning which of the two is better may cost. */
const TOLERANCE = 1.02;

/** The forecast of a value, from the one to come. */
type Forecaster = (coming: number, chance: number) => number;

/** Days that are alike, with a level of their own and a rate that wanders; the value of its own slot each forecast knows. */
function buildRecord(seed: number, forecast: Forecaster): RecordedSeries {
  const random = createSeededFractions(seed);
  const rows = DAYS * SLOTS_PER_DAY;
  const values = new Float64Array(rows + FORECAST_POINTS);
  let [level, wandering] = [0, 0];
  for (let row = 0; row < values.length; row++) {
    if (row % SLOTS_PER_DAY === 0) level = 0.7 * level + 120 * (random() - 0.5);
    wandering = 0.96 * wandering + 60 * (random() - 0.5);
    values[row] = Math.max(0, 550 + 220 * Math.sin((2 * Math.PI * row) / SLOTS_PER_DAY) + level + wandering);
  }
  const forecasts = Float64Array.from({ length: rows * FORECAST_POINTS }, (_, i) => {
    const row = Math.floor(i / FORECAST_POINTS);
    const lead = i % FORECAST_POINTS;
    const coming = values[row + lead] ?? 0;
    return lead === 0 ? coming : forecast(coming, random());
  });
  const slots = Int32Array.from({ length: rows }, (_, row) => START / SLOT + row);
  return buildRecordedSeries({ slots, values: values.slice(0, rows), forecasts });
}

/** The error of the next six hours, as a root of mean squares. */
function measureError(name: BacktestFeedName, record: RecordedSeries, lateRows: number): number {
  const feed = createBacktestFeed(name, record);
  let [sum, count] = [0, 0];
  for (let row = lateRows; row < record.rows; row++) {
    const wall = getRowTime(record, row);
    const { horizon } = feed(row - lateRows, { wall, uptime: (wall - START) as Uptime, trusted: true });
    if (row < TAUGHT || horizon === undefined) continue;
    for (let lead = 0; lead < AHEAD && row + lead < record.rows; lead++) {
      sum += ((horizon.values[lead] ?? Number.NaN) - (record.series.values[row + lead] ?? Number.NaN)) ** 2;
      count++;
    }
  }
  return Math.sqrt(sum / count);
}

//  forecast            minutes late   its values
const rows: readonly (readonly [string, number, Forecaster])[] = [
  ['of chance', 90, (coming, chance) => coming + 400 * (chance - 0.5)],
  ['the wrong way up', 30, (coming) => 1_100 - coming],
];

describe('a late forecast', () => {
  it.each(rows)('%s, %i minutes old, is no worse than none', (_, late, forecast) => {
    const record = buildRecord(7, forecast);
    const lateRows = (late * 60_000) / SLOT;
    const without = measureError('profile', record, lateRows);
    expect(without).toBeGreaterThan(30);
    expect(measureError('forecast', record, lateRows)).toBeLessThan(TOLERANCE * without);
  });
});
