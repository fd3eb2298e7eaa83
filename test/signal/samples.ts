/** Small forecasts and moments for the tests of the signal floor: every value is in sight. */

import type { Forecast, History, LiveIndex } from '../../src/service/answers.ts';
import { type Instant, minutes, type Percentile, type Uptime } from '../../src/units.ts';
import type { Moment } from '../../src/world.ts';

/** Sunday 2026-03-01T00:00Z. */
export const T0 = Date.UTC(2026, 2, 1) as Instant;
export const at = (hours: number) => (T0 + hours * 3_600_000) as Instant;
export const moment = (hours: number, trusted = true): Moment => ({
  wall: at(hours),
  uptime: (1_000_000 + hours * 3_600_000) as Uptime,
  trusted,
});

const envelope = { region: 'CAISO_NORTH', signalType: 'co2_moer', warnings: [], refusedPoints: 0 };

/** Hourly counted: 12 points of each value. */
export const hourly = (fromHour: number, values: readonly number[]) =>
  values.flatMap((value, h) => Array.from({ length: 12 }, (_, i) => ({ at: at(fromHour + h + i / 12), value })));

export const forecast = (
  generatedHour: number,
  values: readonly number[],
  change: Partial<Forecast> = {},
): Forecast => ({
  ...envelope,
  units: 'lbs_co2_per_mwh',
  period: minutes(5),
  model: '2026-01-01',
  generatedAt: at(generatedHour),
  generatedPeriod: minutes(5),
  points: hourly(generatedHour, values),
  ...change,
});

/** 100, 200 … as many hours as asked. */
export const rising = (hours: number) => Array.from({ length: hours }, (_, h) => 100 * (h + 1));

export const live = (hour: number, value: number, change: Partial<LiveIndex> = {}): LiveIndex => ({
  ...envelope,
  units: 'percentile',
  period: minutes(5),
  point: { at: at(hour), value: value as Percentile },
  ...change,
});

export const history = (fromHour: number, values: readonly number[], change: Partial<History> = {}): History => ({
  ...envelope,
  units: 'lbs_co2_per_mwh',
  period: minutes(5),
  model: '2026-01-01',
  points: hourly(fromHour, values),
  ...change,
});
