/** One policy replayed over recorded months: what it saved, its jobs, and the processor time it took. */

import type { LoadConfig } from '../../../src/domain/load-types.ts';
import { minutes } from '../../../src/domain/units.ts';
import { readSeries, type Series } from '../../../src/reference/world/recorded-signal.ts';
import { type BacktestFaultName, combineBacktestFaults } from '../../../src/simulation/backtest/backtest-faults.ts';
import { builtInLoads } from '../../../src/simulation/backtest/backtest-loads.ts';
import {
  buildRecordedSeries,
  getRowTime,
  type RecordedSeries,
} from '../../../src/simulation/backtest/recorded-series.ts';
import {
  type BacktestResult,
  type JobRecord,
  type Policy,
  runBacktest,
} from '../../../src/simulation/backtest/run-backtest.ts';
import type { BacktestTariff } from '../../../src/simulation/backtest/signal-feeds.ts';

const EVERY_DAY = [0, 1, 2, 3, 4, 5, 6];
const EVERY_MONTH = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
/** Dearest from 16 to 21 on summer weekdays, cheapest before 15. */
const TARIFF: BacktestTariff = {
  currency: 'USD',
  rates: [
    { price: 0.31, weekdays: EVERY_DAY, months: EVERY_MONTH, hours: { from: 0, to: 900 } },
    { price: 0.62, weekdays: [1, 2, 3, 4, 5], months: [6, 7, 8, 9], hours: { from: 960, to: 1260 } },
  ],
  otherwise: 0.51,
};

export interface ReplayOptions {
  readonly faults?: readonly BacktestFaultName[];
  readonly lateMinutes?: number;
  readonly load?: Partial<LoadConfig>;
}

export interface Replay {
  readonly results: readonly BacktestResult[];
  readonly jobs: readonly JobRecord[];
  /** Of processor time. */
  readonly seconds: number;
}

export const readRecord = async (files: readonly string[]) => buildRecordedSeries(await readSeries(files));

export const createFaults = (record: RecordedSeries, { faults = [], lateMinutes = 0 }: ReplayOptions) =>
  combineBacktestFaults(faults, getRowTime(record, 0), minutes(lateMinutes));

export function replay(record: RecordedSeries, policy: Policy, options: ReplayOptions = {}): Replay {
  const before = process.cpuUsage();
  const jobs: JobRecord[] = [];
  const test = {
    record,
    loads: builtInLoads.map((one) => ({ ...one, ...options.load })),
    timezone: 'America/Los_Angeles',
    tariff: TARIFF,
    range: {},
    faults: createFaults(record, options),
    onJob: (job: JobRecord) => void jobs.push(job),
  };
  const results = runBacktest(test, policy);
  const { user, system } = process.cpuUsage(before);
  return { results, jobs, seconds: (user + system) / 1e6 };
}

/** The first part of one stretch of rows, then another stretch as if it followed at once, times of day kept. */
export function splice(
  { series }: RecordedSeries,
  first: { readonly from: number; readonly to: number },
  second: { readonly from: number; readonly to: number },
): RecordedSeries {
  const width = series.forecasts.length / series.slots.length;
  const start = series.slots[first.from] ?? 0;
  const join = (values: Float64Array, each: number) =>
    Float64Array.from([
      ...values.subarray(first.from * each, first.to * each),
      ...values.subarray(second.from * each, second.to * each),
    ]);
  const values = join(series.values, 1);
  const spliced: Series = {
    slots: Int32Array.from(values, (_, i) => start + i),
    values,
    forecasts: join(series.forecasts, width),
  };
  return buildRecordedSeries(spliced);
}
