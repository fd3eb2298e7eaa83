/** What an archive without news foretells: typical days, and never in place of what a forecast has said. */

import { describe, expect, it } from 'vitest';
import { days, type Instant, minutes } from '../../src/domain/units.ts';
import { createSeriesModel, predictValues, withForecastValues, withObserved } from '../../src/signal/series-model.ts';

const PERIOD = minutes(5);
const START = Date.UTC(2026, 2, 1) as Instant;
const PER_DAY = 288;
const SLOT_0 = START / PERIOD;

/** Ten days: 04-06 is 100 on most of them and 1,500 on the last one; 12-14 is always 300; all else 500. */
const valueAt = (slot: number) => {
  const hour = Math.floor((slot % PER_DAY) / 12);
  const day = Math.floor(slot / PER_DAY);
  if (hour >= 4 && hour < 6) return day === 9 ? 1_500 : 100;
  return hour >= 12 && hour < 14 ? 300 : 500;
};
const model = () =>
  withObserved(
    createSeriesModel('lbs_co2_per_mwh', PERIOD),
    Array.from({ length: 10 * PER_DAY }, (_, i) => ({ at: (START + i * PERIOD) as Instant, value: valueAt(i) })),
    (START + days(10)) as Instant,
  );
const predict = (from: ReturnType<typeof model>, day: number, hour: number, count = 2 * PER_DAY) =>
  predictValues(from, SLOT_0 + day * PER_DAY + hour * 12, count).values;
const valueAtHour = (values: readonly number[], hour: number) => values[hour * 12] ?? Number.NaN;

describe('a profile', () => {
  it('of an archive with news follows the last day', () => {
    const values = predict(model(), 10, 0);
    expect(valueAtHour(values, 4)).toBeGreaterThan(valueAtHour(values, 12));
  });
  it('of an archive without news for a day is not led by a single one', () => {
    const values = predict(model(), 12, 0);
    expect(valueAtHour(values, 4)).toBeLessThan(valueAtHour(values, 12));
    expect(values).toHaveLength(2 * PER_DAY);
  });
  it('never replaces what a forecast has said, however long ago', () => {
    const said = Array.from({ length: 3 * PER_DAY }, (_, i) => 1_000 + i);
    const told = withForecastValues(model(), said, (START + days(10)) as Instant);
    const values = predict(told, 12, 6);
    const ahead = (12 - 10) * PER_DAY + 6 * 12;
    expect(values.slice(0, 3 * PER_DAY - ahead)).toHaveLength(18 * 12);
    // A day and more ahead the forecast is taken as it was said.
    expect(values[0]).toBeCloseTo(1_000 + ahead, 6);
    expect(values[18 * 12 - 1]).toBeCloseTo(1_000 + 3 * PER_DAY - 1, 6);
    expect(values[18 * 12]).toBeLessThan(900);
  });
  it('of values around zero is not scaled without bounds', () => {
    const flat = withObserved(
      createSeriesModel('lbs_co2_per_mwh', PERIOD),
      Array.from({ length: 4 * PER_DAY }, (_, i) => ({
        at: (START + i * PERIOD) as Instant,
        value: i % 2 === 0 ? -50 : 50,
      })),
      (START + days(4)) as Instant,
    );
    const values = predictValues(flat, SLOT_0 + 6 * PER_DAY, PER_DAY).values;
    expect(values.every((value) => Math.abs(value) <= 50.001)).toBe(true);
  });
});
