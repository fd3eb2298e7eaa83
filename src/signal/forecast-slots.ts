/** Reads the points of a forecast as slots of its period, with gaps as gaps. */

import { floorTo, hours, type Instant } from '../domain/units.ts';
import type { Forecast } from '../service/api/response-types.ts';

/** The longest horizon of the service and a day over (specification 8). */
export const MAX_FORECAST_LENGTH = hours(96);

type ForecastPoints = Pick<Forecast, 'points' | 'period'>;

/** Values from the slot at `from` to the last point; NaN where one is missing. */
export function readSlotValues({ points, period }: ForecastPoints, from: Instant): number[] {
  const last = points.at(-1);
  if (last === undefined || last.at < from) return [];
  const count = Math.round(Math.min(MAX_FORECAST_LENGTH, last.at - from) / period) + 1;
  const values = new Array<number>(count).fill(Number.NaN);
  for (const { at, value } of points) {
    const i = Math.round((at - from) / period);
    if (i >= 0 && i < count) values[i] = value;
  }
  return values;
}

/** The value that holds at an instant. */
export function getForecastValue({ points, period }: ForecastPoints, at: Instant): number | undefined {
  const slot = floorTo(at, period);
  const first = points[0];
  if (first === undefined) return undefined;
  const direct = points[Math.round((slot - first.at) / period)];
  return direct?.at === slot ? direct.value : points.find((point) => point.at === slot)?.value;
}
