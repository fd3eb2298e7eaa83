/** A history of the seeded grid as the reference service would have published and forecast it, without a request. Writes no file. */

import { catalogueOf } from '../../reference/catalogue.ts';
import { defaultModel, modelsAt } from '../../reference/models.ts';
import type { Series } from '../../reference/series.ts';
import { days, type Instant } from '../../units.ts';
import { ISSUED, SLOT } from './record.ts';

export interface SeededRange {
  readonly seed: number;
  readonly region: string;
  readonly from: Instant;
  /** Exclusive. */
  readonly to: Instant;
}

/** Values as restated to the end, forecasts as issued, in lb/MWh; undefined when the region is not one of the reference service. */
export function seededSeries({ seed, region, from, to }: SeededRange): Series | undefined {
  const { places, monthDay } = catalogueOf({ seed, mapDetail: 1 }).co2_moer;
  const source = places.get(region)?.source();
  if (source === undefined) return undefined;
  // One model for the whole: a seam would be a step in the rates that no load can help.
  const model = defaultModel(modelsAt(monthDay, to));
  const read = to + days(60);
  const slots: number[] = [];
  const values: number[] = [];
  for (let at = Math.ceil(from / SLOT) * SLOT; at < to; at += SLOT) {
    const point = source.settled(at, read, model);
    if (point === undefined) continue;
    slots.push(at / SLOT);
    values.push(point.value);
  }
  const forecasts = new Float64Array(slots.length * ISSUED);
  slots.forEach((slot, row) => {
    source.forecast(slot * SLOT, model, forecasts.subarray(row * ISSUED, (row + 1) * ISSUED));
  });
  return { slots: Int32Array.from(slots), values: Float64Array.from(values), forecasts };
}
