/** Where the values of a region come from: its seeded grid or a recorded series, behind one interface. */

import type { Model } from './model-timetable.ts';
import { BACKFILL_FROM } from './model-timetable.ts';
import { findPublishedPoint, type PublishedPoint } from './publication.ts';
import { createRecordedForecast, findRecordedRate, type Series } from './recorded-signal.ts';
import { type SeededGrid, SLOT } from './seeded-grid.ts';
import { deriveSeed, drawFraction } from './seeded-random.ts';

export interface ValueSource {
  /** First and last time forecasts are known to have been issued. */
  readonly since: number;
  readonly until: number;
  /** How long after its time a point is published, milliseconds. */
  readonly delay: number;
  /** The point at `time` (a whole period) as shown at `now`; undefined when there is none or it is not out yet. */
  findPoint(time: number, now: number, model: Model): PublishedPoint | undefined;
  /** Fills `values` with the forecast issued at `issued`, one a period from there; NaN where nothing is known. */
  fillForecast(issued: number, model: Model, values: Float64Array): void;
}

const roundToTenth = (value: number) => Math.round(value * 10) / 10;

/** Two models see the same grid a little differently: the seam a client meets when the default changes. */
const computeSeam = (seed: number, model: Model) => 1 + 0.04 * (drawFraction(deriveSeed(seed, model.date), 0) - 0.5);

export function createSeededSource(
  grid: SeededGrid,
  seed: number,
  options: { delay: number; period: number },
): ValueSource {
  const { delay, period } = options;
  let lastModel = '';
  let lastSeam = 1;
  const findSeam = (model: Model) => {
    if (model.date !== lastModel) [lastModel, lastSeam] = [model.date, computeSeam(seed, model)];
    return lastSeam;
  };
  return {
    since: BACKFILL_FROM,
    until: Number.POSITIVE_INFINITY,
    delay,
    findPoint(time, now, model) {
      if (time < BACKFILL_FROM || time >= model.until) return undefined;
      const point = findPublishedPoint(grid, seed, delay, time, now);
      if (point === undefined) return undefined;
      // A backfill counts as an update of everything before the model's release.
      const lastUpdated = Math.max(point.lastUpdated, time < model.released ? model.released : 0);
      return { ...point, value: roundToTenth(point.value * findSeam(model)), lastUpdated };
    },
    fillForecast(issued, model, values) {
      const from = Math.floor(issued / SLOT);
      const step = period / SLOT;
      const factor = findSeam(model);
      for (let i = 0; i < values.length; i++)
        values[i] = roundToTenth(grid.forecastRate(from, from + i * step) * factor);
    },
  };
}

const roundToFourDecimals = (value: number) => Math.round(value * 1e4) / 1e4;

/** Recorded values and forecasts as they were; outside the record there is no history, and forecasts lean on its nearest week. */
export function createRecordedSource(series: Series, delay: number): ValueSource {
  return {
    since: (series.slots[0] ?? 0) * SLOT,
    until: (series.slots.at(-1) ?? 0) * SLOT,
    delay,
    findPoint(time, now, model) {
      if (now < time + delay || time >= model.until) return undefined;
      const value = findRecordedRate(series, Math.floor(time / SLOT));
      if (value === undefined) return undefined;
      const changesAt = Number.POSITIVE_INFINITY;
      return { value: roundToFourDecimals(value), lastUpdated: time + delay, imputed: false, changesAt };
    },
    fillForecast(issued, _model, values) {
      const forecastAhead = createRecordedForecast(series, Math.floor(issued / SLOT));
      for (let i = 0; i < values.length; i++) values[i] = roundToFourDecimals(forecastAhead(i));
    },
  };
}
