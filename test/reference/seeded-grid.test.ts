/** The seeded signal: as calibrated, the same for the same seed, forecasts that know less the further they look. */

import { describe, expect, it } from 'vitest';
import type { Archetype } from '../../src/reference/world/region-table.ts';
import { averageGrid, createSeededGrid, type SeededGrid } from '../../src/reference/world/seeded-grid.ts';
import { deriveSeed } from '../../src/reference/world/seeded-random.ts';

const DAY = 288;
const FROM = Date.parse('2024-01-01T00:00:00Z') / 300_000;
const YEARS = 2 * 365 * DAY;

const gridFor = (archetype: Archetype, seed = 1) =>
  createSeededGrid({ seed: deriveSeed(seed, archetype), zone: -8, southern: false, archetype, scale: 1, strength: 1 });
const valuesOf = (grid: SeededGrid, count = YEARS) =>
  Float64Array.from({ length: count }, (_, i) => grid.trueRate(FROM + i));
const meanOf = (values: Float64Array) => values.reduce((sum, value) => sum + value, 0) / values.length;
const deviationOf = (values: Float64Array) => {
  const mean = meanOf(values);
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
};
function likenessAfter(values: Float64Array, lag: number): number {
  const mean = meanOf(values);
  let sum = 0;
  for (let i = 0; i + lag < values.length; i++) sum += ((values[i] ?? 0) - mean) * ((values[i + lag] ?? 0) - mean);
  return sum / (values.length - lag) / deviationOf(values) ** 2;
}
const atHour = (values: Float64Array, hour: number) =>
  meanOf(values.filter((_, i) => Math.floor(((i - 8 * 12 + DAY) % DAY) / 12) === hour));

describe('the solar grid, two years', () => {
  const values = valuesOf(gridFor('solar'));
  const sorted = Float64Array.from(values).sort();
  const share = (test: (value: number, i: number) => boolean) => values.filter(test).length / values.length;
  //  figure                            here                                                    wanted   within
  const rows: readonly (readonly [string, number, number, number])[] = [
    ['mean', meanOf(values), 583, 30],
    ['standard deviation', deviationOf(values), 269, 20],
    ['median', sorted[values.length >> 1] ?? 0, 571, 45],
    ['95th percentile', sorted[Math.floor(values.length * 0.95)] ?? 0, 1_052, 40],
    ['largest', sorted.at(-1) ?? 0, 1_463, 0],
    ['smallest', sorted[0] ?? 0, 0, 0],
    ['share of zeros', share((value) => value === 0), 0.043, 0.015],
    ['share of repeats', share((value, i) => i > 0 && value === values[i - 1]), 0.11, 0.025],
    ['mean at 03 local', atHour(values, 3), 545, 40],
    ['mean at 10 local', atHour(values, 10), 440, 40],
    ['mean at 19 local', atHour(values, 19), 803, 40],
    ['likeness after 5 min', likenessAfter(values, 1), 0.946, 0.02],
    ['likeness after 1 h', likenessAfter(values, 12), 0.75, 0.06],
    ['likeness after 24 h', likenessAfter(values, DAY), 0.6, 0.12],
  ];
  it.each(rows)('%s: %s, wanted %s', (_, here, wanted, within) => {
    expect(Math.abs(here - wanted)).toBeLessThanOrEqual(within);
  });
});

describe('its forecasts', () => {
  const grid = gridFor('solar');
  const errorAt = (lead: number) => {
    let sum = 0;
    const issues = 4_000;
    for (let i = 0; i < issues; i++) {
      const issued = FROM + i * 53;
      sum += Math.abs(grid.forecastRate(issued, issued + lead) - grid.trueRate(issued + lead));
    }
    return sum / issues;
  };
  //  lead in slots   mean absolute error
  it.each([
    [0, 39],
    [1, 55],
    [3, 75],
    [12, 107],
    [24, 134],
    [288, 134],
    [863, 134],
  ])('%s slots ahead they err by about %s', (lead, wanted) => {
    expect(errorAt(lead)).toBeGreaterThan(wanted * 0.85);
    expect(errorAt(lead)).toBeLessThan(wanted * 1.15);
  });
  it('one issue errs much like the one before it', () => {
    let alike = 0;
    let apart = 0;
    for (let i = 0; i < 2_000; i++) {
      const slot = FROM + i * 53;
      const error = (issued: number) => grid.forecastRate(issued, slot) - grid.trueRate(slot);
      alike += Math.abs(error(slot - 30) - error(slot - 31));
      apart += Math.abs(error(slot - 30));
    }
    expect(alike).toBeLessThan(apart / 5);
  });
});

describe('the other grids', () => {
  const sample = (archetype: Archetype) => valuesOf(gridFor(archetype), 60 * DAY);
  it('coal stands still: whole steps, nearly all values repeated', () => {
    const values = sample('coal');
    expect(values.every((value) => Math.abs(value / 50 - Math.round(value / 50)) < 1e-9)).toBe(true);
    expect(values.filter((value, i) => value === values[i - 1]).length / values.length).toBeGreaterThan(0.8);
    expect(meanOf(values)).toBeGreaterThan(1_600);
  });
  it('hydro is near zero all day', () => {
    const values = sample('hydro');
    expect(meanOf(values)).toBeLessThan(30);
    expect(Math.max(...values)).toBeLessThanOrEqual(140);
  });
  it('wind wanders over days, not hours', () => {
    const values = sample('wind');
    expect(likenessAfter(values, 12)).toBeGreaterThan(0.85);
    expect(deviationOf(values)).toBeGreaterThan(250);
  });
});

describe('an hourly signal', () => {
  it('is the mean of its hour, truth, expectation and forecast alike', () => {
    const grid = gridFor('wind');
    const hourly = averageGrid(grid, 12);
    const mean = (valueAt: (slot: number) => number) =>
      meanOf(Float64Array.from({ length: 12 }, (_, i) => valueAt(FROM + i)));
    expect(hourly.trueRate(FROM)).toBeCloseTo(mean(grid.trueRate), 9);
    expect(hourly.expectedRate(FROM)).toBeCloseTo(mean(grid.expectedRate), 9);
    expect(hourly.forecastRate(FROM - 5, FROM)).toBeCloseTo(
      mean((slot) => grid.forecastRate(FROM - 5, slot)),
      9,
    );
    expect(hourly.trueRate(FROM)).not.toBe(grid.trueRate(FROM));
  });
});

describe('the seed', () => {
  it('gives the same value in any order of asking', () => {
    const slots = [FROM, FROM - 400_000, FROM + 1_000_000, FROM + 7];
    const one = gridFor('solar', 5);
    const forwards = slots.map((slot) => one.trueRate(slot));
    const two = gridFor('solar', 5);
    const backwards = slots.toReversed().map((slot) => two.trueRate(slot));
    expect(backwards.reverse()).toEqual(forwards);
  });
  it('another seed gives another signal', () => {
    const [one, two] = [valuesOf(gridFor('solar', 1), DAY), valuesOf(gridFor('solar', 2), DAY)];
    expect(one).not.toEqual(two);
  });
});
