/** Small forecasts and moments for the tests of the signal floor: every value is in sight. */

import type { ClockReading } from '../../src/domain/ports.ts';
import { type Instant, minutes, type Percentile, type Uptime } from '../../src/domain/units.ts';
import type { Forecast, History, LiveIndex } from '../../src/service/api/response-types.ts';

/** Sunday 2026-03-01T00:00Z. */
const SAMPLE_START = Date.UTC(2026, 2, 1) as Instant;
export const atSampleHour = (hours: number) => (SAMPLE_START + hours * 3_600_000) as Instant;
export const momentAt = (hours: number, trusted = true): ClockReading => ({
  wall: atSampleHour(hours),
  uptime: (1_000_000 + hours * 3_600_000) as Uptime,
  trusted,
});

const envelope = { region: 'CAISO_NORTH', signalType: 'co2_moer', warnings: [], refusedPoints: 0 };

/** Hourly counted: 12 points of each value. */
export const hourlyPoints = (fromHour: number, values: readonly number[]) =>
  values.flatMap((value, h) =>
    Array.from({ length: 12 }, (_, i) => ({ at: atSampleHour(fromHour + h + i / 12), value })),
  );

export const buildForecast = (
  generatedHour: number,
  values: readonly number[],
  change: Partial<Forecast> = {},
): Forecast => ({
  ...envelope,
  units: 'lbs_co2_per_mwh',
  period: minutes(5),
  model: '2026-01-01',
  generatedAt: atSampleHour(generatedHour),
  generatedPeriod: minutes(5),
  points: hourlyPoints(generatedHour, values),
  ...change,
});

/** 100, 200 … as many hours as asked. */
export const risingValues = (hours: number) => Array.from({ length: hours }, (_, h) => 100 * (h + 1));

export const buildLiveIndex = (hour: number, value: number, change: Partial<LiveIndex> = {}): LiveIndex => ({
  ...envelope,
  units: 'percentile',
  period: minutes(5),
  point: { at: atSampleHour(hour), value: value as Percentile },
  ...change,
});

export const buildHistory = (fromHour: number, values: readonly number[], change: Partial<History> = {}): History => ({
  ...envelope,
  units: 'lbs_co2_per_mwh',
  period: minutes(5),
  model: '2026-01-01',
  points: hourlyPoints(fromHour, values),
  ...change,
});
