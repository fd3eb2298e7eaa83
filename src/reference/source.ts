/** Where values come from: the seeded grid of a place or a recorded series, under one interface. Rounds; never writes JSON. */

import { type Grid, SLOT } from './grid.ts';
import type { Model } from './models.ts';
import { BACKFILL_FROM } from './models.ts';
import { fraction, seedFor } from './noise.ts';
import { published, type Settled } from './publication.ts';
import { recordedAt, recordedForecast, type Series } from './series.ts';

export interface Source {
  /** First and last time forecasts are known to have been issued. */
  readonly since: number;
  readonly until: number;
  /** The point at `time` (a whole period) as shown at `now`; undefined when there is none or it is not out yet. */
  settled(time: number, now: number, model: Model): Settled | undefined;
  /** Fills `values` with the forecast issued at `issued`, one a period from there; NaN where nothing is known. */
  forecast(issued: number, model: Model, values: Float64Array): void;
}

const tenth = (value: number) => Math.round(value * 10) / 10;

/** Two models see the same grid a little differently: the seam a client meets when the default changes. */
const seam = (seed: number, model: Model) => 1 + 0.04 * (fraction(seedFor(seed, model.date), 0) - 0.5);

export function seededSource(grid: Grid, seed: number, options: { delay: number; period: number }): Source {
  const { delay, period } = options;
  let lastModel = '';
  let lastSeam = 1;
  const seamOf = (model: Model) => {
    if (model.date !== lastModel) [lastModel, lastSeam] = [model.date, seam(seed, model)];
    return lastSeam;
  };
  return {
    since: BACKFILL_FROM,
    until: Number.POSITIVE_INFINITY,
    settled(time, now, model) {
      if (time < BACKFILL_FROM || time >= model.until) return undefined;
      const point = published(grid, seed, delay, time, now);
      if (point === undefined) return undefined;
      // A backfill counts as an update of everything before the model's release.
      const lastUpdated = Math.max(point.lastUpdated, time < model.released ? model.released : 0);
      return { value: tenth(point.value * seamOf(model)), lastUpdated, imputed: point.imputed };
    },
    forecast(issued, model, values) {
      const from = Math.floor(issued / SLOT);
      const step = period / SLOT;
      const factor = seamOf(model);
      for (let i = 0; i < values.length; i++) values[i] = tenth(grid.forecast(from, from + i * step) * factor);
    },
  };
}

const fourDecimals = (value: number) => Math.round(value * 1e4) / 1e4;

/** Recorded values and forecasts as they were; outside the record there is no history, and forecasts lean on its nearest week. */
export function recordedSource(series: Series, delay: number): Source {
  return {
    since: (series.slots[0] ?? 0) * SLOT,
    until: (series.slots.at(-1) ?? 0) * SLOT,
    settled(time, now, model) {
      if (now < time + delay || time >= model.until) return undefined;
      const value = recordedAt(series, Math.floor(time / SLOT));
      return value === undefined
        ? undefined
        : { value: fourDecimals(value), lastUpdated: time + delay, imputed: false };
    },
    forecast(issued, _model, values) {
      const at = recordedForecast(series, Math.floor(issued / SLOT));
      for (let i = 0; i < values.length; i++) values[i] = fourDecimals(at(i));
    },
  };
}
