/** The forecast in the shapes that other programs read: evcc's custom CO2 tariff, and the strategy nodes of Node-RED power-saver. */

import { convertRate, RATE_UNIT_NAMES, type RateUnit } from '../domain/rate-units.ts';
import { formatInstant, type Instant } from '../domain/units.ts';

interface ForecastDocument {
  readonly from: string;
  readonly periodSeconds: number;
  readonly units: string;
  readonly values: readonly (number | null)[];
}

const isForecast = (document: unknown): document is ForecastDocument =>
  typeof document === 'object' && document !== null && 'values' in document && 'from' in document;

const isRateUnit = (units: string): units is RateUnit => RATE_UNIT_NAMES.some((name) => name === units);

interface MeanRate {
  readonly start: Instant;
  readonly end: Instant;
  /** Grams per kilowatt-hour. */
  readonly value: number;
}

const GRAMS: RateUnit = 'g/kWh';

/** The mean of each span that is known in full; none of a signal that is no mass of CO2. */
function computeMeans(document: unknown, spanMilliseconds: number): readonly MeanRate[] {
  if (!isForecast(document) || !isRateUnit(document.units)) return [];
  const { from, periodSeconds, values, units } = document;
  const factor = convertRate(1, GRAMS) / convertRate(1, units);
  const sums = new Map<number, { sum: number; count: number }>();
  for (const [i, value] of values.entries()) {
    if (value === null) continue;
    const at = Date.parse(from) + i * periodSeconds * 1_000;
    const start = Math.floor(at / spanMilliseconds) * spanMilliseconds;
    const { sum = 0, count = 0 } = sums.get(start) ?? {};
    sums.set(start, { sum: sum + value, count: count + 1 });
  }
  const first = Math.floor(Date.parse(from) / spanMilliseconds) * spanMilliseconds;
  const whole = spanMilliseconds / (periodSeconds * 1_000);
  return [...sums]
    .filter(([start, { count }]) => start === first || count === whole)
    .map(([start, { sum, count }]) => ({
      start: start as Instant,
      end: (start + spanMilliseconds) as Instant,
      value: Math.round((10 * factor * sum) / count) / 10,
    }));
}

const QUARTER_HOUR = 900_000;
const HOUR = 3_600_000;

/** `/evcc.json`: a list of `start`, `end` and `value` in g/kWh. */
export const buildEvccForecast = (document: unknown) =>
  computeMeans(document, QUARTER_HOUR).map(({ start, end, value }) => ({
    start: formatInstant(start),
    end: formatInstant(end),
    value,
  }));

/** `/power-saver.json`: `priceData` of each hour. Its planning by the minute reads the `end` of the last. */
export const buildPowerSaverForecast = (document: unknown) => ({
  priceData: computeMeans(document, HOUR).map(({ start, end, value }) => ({
    value,
    start: formatInstant(start),
    end: formatInstant(end),
  })),
});
