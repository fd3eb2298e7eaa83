/** A history of the seeded grid as the reference service would have published and forecast it, computed without requests. */

import { days, type Instant } from '../../domain/units.ts';
import { createCatalogue } from '../../reference/world/catalogue.ts';
import { findDefaultModel, listModels } from '../../reference/world/model-timetable.ts';
import type { Series } from '../../reference/world/recorded-signal.ts';
import { FORECAST_POINTS, SLOT } from './recorded-series.ts';

export interface SeededSeriesOptions {
  readonly seed: number;
  readonly region: string;
  readonly from: Instant;
  /** Exclusive. */
  readonly to: Instant;
}

/** Values as restated to the end, forecasts as issued, in lb/MWh; undefined when the region is not one of the reference service. */
export function buildSeededSeries({ seed, region, from, to }: SeededSeriesOptions): Series | undefined {
  const { regions, monthDay } = createCatalogue({ seed, mapDetail: 1 }).co2_moer;
  const source = regions.get(region)?.source();
  if (source === undefined) return undefined;
  // One model for the whole: a seam would be a step in the rates that no load can help.
  const model = findDefaultModel(listModels(monthDay, to));
  const readAt = to + days(60);
  const slots: number[] = [];
  const values: number[] = [];
  for (let at = Math.ceil(from / SLOT) * SLOT; at < to; at += SLOT) {
    const point = source.findPoint(at, readAt, model);
    if (point === undefined) continue;
    slots.push(at / SLOT);
    values.push(point.value);
  }
  const forecasts = new Float64Array(slots.length * FORECAST_POINTS);
  slots.forEach((slot, row) => {
    source.fillForecast(slot * SLOT, model, forecasts.subarray(row * FORECAST_POINTS, (row + 1) * FORECAST_POINTS));
  });
  return { slots: Int32Array.from(slots), values: Float64Array.from(values), forecasts };
}
