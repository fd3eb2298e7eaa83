/** The signal view of a policy at each slot of a history: the agent's own signal room with only the data known at that time. */

import type { ClockReading } from '../../domain/ports.ts';
import { createTablePrices, type TariffTable } from '../../domain/tariff.ts';
import {
  addDuration,
  type Duration,
  days,
  floorTo,
  type Instant,
  minutes,
  PERCENTILE_UNITS,
  type Percentile,
  RATE_UNITS,
} from '../../domain/units.ts';
import type { Forecast, LiveIndex } from '../../service/api/response-types.ts';
import { buildSignalView } from '../../signal/freshness.ts';
import { countRanks } from '../../signal/percentile-index.ts';
import {
  createSignalData,
  type SignalData,
  withForecast,
  withHistory,
  withLiveIndex,
} from '../../signal/signal-store.ts';
import type { Horizon, SignalView } from '../../signal/signal-view.ts';
import { FORECAST_POINTS, getRowTime, type RecordedSeries, SLOT, SLOTS_PER_DAY } from './recorded-series.ts';

/** Called once a slot, in order, with the row whose answer arrives; undefined while the service cannot be reached. */
export type BacktestFeed = (row: number | undefined, now: ClockReading) => SignalView;

export type BacktestFeedName = 'forecast' | 'profile' | 'index' | 'threshold' | 'nothing';

const RECORDED_REGION = 'recorded';
const VIEW_OPTIONS = { ties: 'mid', ownRegion: RECORDED_REGION } as const;
const recordedFields = {
  region: RECORDED_REGION,
  signalType: 'co2_moer',
  period: SLOT,
  warnings: [],
  refusedPoints: 0,
};

/** The forecast as it stood at a row. A record without forecasts tells its own slot as it was measured, like an exact nowcast. */
function buildRecordedForecast(record: RecordedSeries, row: number): Forecast {
  const { forecasts, values } = record.series;
  const generatedAt = getRowTime(record, row);
  const points = [];
  for (let k = 0; k < FORECAST_POINTS; k++) {
    const value = forecasts[row * FORECAST_POINTS + k] ?? Number.NaN;
    if (!Number.isNaN(value)) points.push({ at: (generatedAt + k * SLOT) as Instant, value });
  }
  if (points.length === 0) points.push({ at: generatedAt, value: values[row] ?? 0 });
  return { ...recordedFields, units: RATE_UNITS, generatedAt, generatedPeriod: SLOT, points };
}

/** The live index as the service would tell it: the forecast's 3 hours and the same-time mean of up to 7 days before it. */
function buildRecordedIndex(record: RecordedSeries, row: number): LiveIndex {
  const { forecasts, values } = record.series;
  const nowcast = forecasts[row * FORECAST_POINTS] ?? Number.NaN;
  const present = Number.isNaN(nowcast) ? (values[row] ?? 0) : nowcast;
  const pool: number[] = [];
  for (let k = 0; k < SLOTS_PER_DAY; k++) {
    const issued = k < FORECAST_POINTS ? (forecasts[row * FORECAST_POINTS + k] ?? Number.NaN) : Number.NaN;
    const value = Number.isNaN(issued) ? computeWeekMean(record, row, k) : issued;
    if (!Number.isNaN(value)) pool.push(value);
  }
  const { below, equal } = countRanks(pool, present);
  const value = (100 * (below + equal / 2)) / Math.max(1, pool.length);
  return {
    ...recordedFields,
    units: PERCENTILE_UNITS,
    point: { at: getRowTime(record, row), value: value as Percentile },
  };
}

function computeWeekMean({ series: { values } }: RecordedSeries, row: number, ahead: number): number {
  let sum = 0;
  let count = 0;
  for (let past = row + ahead - SLOTS_PER_DAY; past >= 0 && past > row - 7 * SLOTS_PER_DAY; past -= SLOTS_PER_DAY) {
    if (past >= row) continue;
    sum += values[past] ?? 0;
    count++;
  }
  return count === 0 ? Number.NaN : sum / count;
}

function buildRecordedHistory(record: RecordedSeries, row: number) {
  const points = row < 0 ? [] : [{ at: getRowTime(record, row), value: record.series.values[row] ?? 0 }];
  return { ...recordedFields, units: RATE_UNITS, points };
}

/** A view stays for `keptFor`, to be planned with once, while data are received each slot. */
export function createBacktestFeed(name: BacktestFeedName, record: RecordedSeries, keptFor?: Duration): BacktestFeed {
  let kept: { readonly view: SignalView; readonly until: Instant } | undefined;
  let signalData: SignalData = createSignalData(RECORDED_REGION);
  const receiveRow = (row: number, now: ClockReading): SignalData => {
    switch (name) {
      case 'forecast':
        return withForecast(signalData, buildRecordedForecast(record, row), now).signal;
      case 'profile':
        return withHistory(signalData, buildRecordedHistory(record, row - 1), now).signal;
      case 'index':
      case 'threshold':
        return withLiveIndex(signalData, buildRecordedIndex(record, row), now).signal;
      case 'nothing':
        return signalData;
    }
  };
  return (row, now) => {
    if (row !== undefined) signalData = receiveRow(row, now);
    if (kept !== undefined && now.wall < kept.until) return kept.view;
    const view = buildSignalView(signalData, now, VIEW_OPTIONS);
    const { horizon, ...rest } = view;
    if (name === 'threshold') return rest;
    if (keptFor === undefined) return view;
    const until = addDuration(floorTo(now.wall, keptFor), keptFor);
    const validUntil = Math.max(horizon?.validUntil ?? 0, until) as Instant;
    kept = { until, view: horizon === undefined ? view : { ...rest, horizon: { ...horizon, validUntil } } };
    return kept.view;
  };
}

/** The outlook of the moment a job begins, kept until the next job begins: one plan a job. */
export function createPlanOnceFeed(feed: BacktestFeed, starts: readonly Instant[]): BacktestFeed {
  let next = 0;
  let keptHorizon: Horizon | undefined;
  return (row, now) => {
    const view = feed(row, now);
    const isJobStart = now.wall >= (starts[next] ?? Number.POSITIVE_INFINITY);
    while (now.wall >= (starts[next] ?? Number.POSITIVE_INFINITY)) next++;
    if (view.horizon !== undefined && (isJobStart || keptHorizon === undefined))
      keptHorizon = { ...view.horizon, validUntil: (now.wall + days(2) + minutes(5)) as Instant };
    return keptHorizon === undefined || now.wall >= keptHorizon.validUntil ? view : { ...view, horizon: keptHorizon };
  };
}

export interface BacktestTariff extends TariffTable {
  readonly currency: string;
}

/** The views of a feed with the prices of a tariff table. */
export function withPrices(feed: BacktestFeed, tariff: BacktestTariff | undefined, timezone: string): BacktestFeed {
  if (tariff === undefined) return feed;
  const pricesAt = createTablePrices(tariff, timezone);
  return (row, now) => ({
    ...feed(row, now),
    prices: { currency: tariff.currency, spans: pricesAt(now.wall) },
  });
}
