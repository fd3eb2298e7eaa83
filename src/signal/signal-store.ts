/** The signal data of one region as an immutable value: decides which answers of the service replace which data. */

import type { ClockReading } from '../domain/ports.ts';
import {
  addDuration,
  type Duration,
  days,
  floorTo,
  formatInstant,
  type Instant,
  minutes,
  PERCENTILE_UNITS,
} from '../domain/units.ts';
import type { Forecast, History, LiveIndex } from '../service/api/response-types.ts';
import { MAX_FORECAST_LENGTH, readSlotValues } from './forecast-slots.ts';
import { RANK_SCORE_UNITS, toRankScore } from './rank-score.ts';
import { createSeriesModel, type SeriesModel, withForecastValues, withObserved } from './series-model.ts';
import { getSeenValue, MAX_JOINED_GAP } from './value-history.ts';

export interface SignalData {
  readonly region: string;
  readonly signalType: string;
  readonly forecast?: Forecast;
  /** `inTime`: it came within its own period. */
  readonly liveIndex?: LiveIndex & { readonly arrivedInTime: boolean };
  /** Rates as seen and expected, in the unit of the forecast; undefined before the first. */
  readonly rates?: SeriesModel;
  /** Live percentiles as seen and expected, stretched. */
  readonly indexes?: SeriesModel;
}

/** Something the owner should know; `message` is for people. */
export interface SignalNote {
  readonly kind:
    | 'clock-behind'
    | 'older'
    | 'wrong-region'
    | 'wrong-signal'
    | 'wrong-units'
    | 'short-period'
    | 'empty'
    | 'model-seam';
  readonly message: string;
}

export interface SignalUpdate {
  readonly signal: SignalData;
  readonly accepted: boolean;
  readonly note?: SignalNote;
}

/** Nothing known of the region yet. */
export const createSignalData = (region: string, signalType = 'co2_moer'): SignalData => ({ region, signalType });

/** What is held, re-keyed at once: another region starts with nothing (specification 2.4). */
export const withRegion = (signal: SignalData, region: string): SignalData =>
  signal.region === region ? signal : createSignalData(region, signal.signalType);

/** Histories and plans of shorter slots are more than a small machine holds and works out; no grid publishes any. */
const MIN_PERIOD = minutes(1);

/** A generation time this far ahead of our clock proves the clock wrong. */
const CLOCK_TOLERANCE = minutes(5);

/** Later than our clock allows; what is held so came while a clock was wrong, and holds back nothing newer. */
const isOfFuture = (at: Instant, { wall }: ClockReading) => at - wall > CLOCK_TOLERANCE;

const refuseUpdate = (signal: SignalData, kind: SignalNote['kind'], message: string): SignalUpdate => ({
  signal,
  accepted: false,
  note: { kind, message },
});

/** An answer about something else, or of values too short to be of use. */
function refuseUnusable(
  signal: SignalData,
  answer: { readonly region: string; readonly signalType: string; readonly period: Duration },
): SignalUpdate | undefined {
  if (answer.region !== signal.region)
    return refuseUpdate(
      signal,
      'wrong-region',
      `the service answered for region ${answer.region}; expected ${signal.region}`,
    );
  if (answer.signalType !== signal.signalType)
    return refuseUpdate(
      signal,
      'wrong-signal',
      `the service answered with signal ${answer.signalType}; expected ${signal.signalType}`,
    );
  if (answer.period < MIN_PERIOD)
    return refuseUpdate(
      signal,
      'short-period',
      `the service says that its values are valid for ${answer.period / 1_000} s each; expected at least ${MIN_PERIOD / 1_000} s`,
    );
  return undefined;
}

const ensureSeriesModel = (existing: SeriesModel | undefined, units: string, period: Duration): SeriesModel =>
  existing?.units === units && existing.history.period === period ? existing : createSeriesModel(units, period);

/**
 * A forecast replaces the held one when it is strictly newer (specification 2.6). One generated more than 5 minutes in the future is refused:
 * our clock is wrong. A change of the data model is accepted and noted.
 */
export function withForecast(signal: SignalData, answer: Forecast, now: ClockReading): SignalUpdate {
  const refusal = refuseUnusable(signal, answer);
  if (refusal) return refusal;
  if (isOfFuture(answer.generatedAt, now))
    return refuseUpdate(
      signal,
      'clock-behind',
      `the forecast was generated at ${formatInstant(answer.generatedAt)}, after the time of this machine (${formatInstant(now.wall)}): if that is behind, set its clock`,
    );
  const forecast = withoutFarPoints(answer, now.wall);
  if (forecast.points.length === 0)
    return refuseUpdate(signal, 'empty', 'the forecast holds no value of the next days; the present one stays in use');
  const held = signal.forecast;
  const previous = held !== undefined && isOfFuture(held.generatedAt, now) ? undefined : held;
  if (previous !== undefined && forecast.generatedAt <= previous.generatedAt)
    return refuseUpdate(
      signal,
      'older',
      `the forecast of ${formatInstant(forecast.generatedAt)} is not newer than the present one`,
    );

  const model = ensureSeriesModel(signal.rates, forecast.units, forecast.period);
  const issuedAt = floorTo(findIssueTime(forecast, now.wall), forecast.period);
  const same = previous?.units === forecast.units && previous.period === forecast.period;
  // After a long gap, what the old forecast said of the slots since the newest one seen stands in for them.
  const { newestSlot, period } = model.history;
  const standIns =
    same && issuedAt - newestSlot * period > MAX_JOINED_GAP
      ? previous.points.filter(({ at }) => Math.floor(at / period) > newestSlot)
      : [];
  const observed = withObserved(withObserved(model, standIns, issuedAt), forecast.points, issuedAt);
  const rates = withForecastValues(observed, readSlotValues(forecast, issuedAt), issuedAt);
  const next: SignalData = { ...signal, forecast, rates };
  if (previous?.model === undefined || forecast.model === undefined || previous.model === forecast.model)
    return { signal: next, accepted: true };
  const message = `the data model changed from ${previous.model} to ${forecast.model}; values before and after may differ in level`;
  return { signal: next, accepted: true, note: { kind: 'model-seam', message } };
}

/** After a restart: what the stored forecast and profile let expect. The values expected are not stored, and are worked out again as at the time of its issue. */
export function rebuildExpected(signal: SignalData): SignalData {
  const { forecast, rates } = signal;
  if (forecast === undefined || rates?.units !== forecast.units || rates.history.period !== forecast.period)
    return signal;
  const { generatedAt, points, period } = forecast;
  const issuedAt = floorTo(Math.max(generatedAt, points[0]?.at ?? generatedAt) as Instant, period);
  return { ...signal, rates: withForecastValues(rates, readSlotValues(forecast, issuedAt), issuedAt) };
}

/** A point beyond the longest horizon is a mistake, and would make the forecast last for years. */
function withoutFarPoints(forecast: Forecast, now: Instant): Forecast {
  const end = addDuration(now, MAX_FORECAST_LENGTH);
  const points = forecast.points.filter(({ at }) => at < end);
  return points.length === forecast.points.length ? forecast : { ...forecast, points };
}

/** When the values of a forecast were new: what it says of later slots is a forecast, however late it came. */
const findIssueTime = ({ generatedAt, points }: Forecast, now: Instant): Instant =>
  Math.min(now, Math.max(generatedAt, points[0]?.at ?? generatedAt)) as Instant;

/** A live index replaces the held one when its point is newer. Units other than `percentile` are refused. */
export function withLiveIndex(signal: SignalData, liveIndex: LiveIndex, now: ClockReading): SignalUpdate {
  const refusal = refuseUnusable(signal, liveIndex);
  if (refusal) return refusal;
  if (liveIndex.units !== PERCENTILE_UNITS)
    return refuseUpdate(signal, 'wrong-units', `the index came in ${liveIndex.units}; expected percentile`);
  if (isOfFuture(liveIndex.point.at, now))
    return refuseUpdate(
      signal,
      'clock-behind',
      `the index is of ${formatInstant(liveIndex.point.at)}, after the time of this machine (${formatInstant(now.wall)}): if that is behind, set its clock`,
    );
  const heldAt = signal.liveIndex?.point.at;
  if (heldAt !== undefined && !isOfFuture(heldAt, now) && liveIndex.point.at <= heldAt)
    return refuseUpdate(
      signal,
      'older',
      `the index of ${formatInstant(liveIndex.point.at)} is not newer than the present one`,
    );
  const point = { at: liveIndex.point.at, value: toRankScore(liveIndex.point.value) };
  const observed = withObserved(
    ensureSeriesModel(signal.indexes, RANK_SCORE_UNITS, liveIndex.period),
    [point],
    now.wall,
  );
  const isNow = point.at === floorTo(now.wall, liveIndex.period);
  const indexes = isNow ? withForecastValues(observed, [point.value], now.wall) : observed;
  const inTime = now.wall < point.at + liveIndex.period;
  return { signal: { ...signal, liveIndex: { ...liveIndex, arrivedInTime: inTime }, indexes }, accepted: true };
}

/** Without a forecast that reaches to now, the values ahead go on from the last one measured, for a day. */
function anchorToNewest({ forecast }: SignalData, model: SeriesModel, now: ClockReading): SeriesModel {
  const { period, newestSlot: newest } = model.history;
  const last = forecast?.points.at(-1);
  const isCovered = forecast !== undefined && last !== undefined && now.wall < last.at + forecast.period;
  if (isCovered || now.wall - newest * period > days(1)) return model;
  return withForecastValues(model, [getSeenValue(model.history, newest)], (newest * period) as Instant);
}

/** Measured values enter the archive and replace what a forecast had said of their slots (specification 4.4). */
export function withHistory(signal: SignalData, history: History, now: ClockReading): SignalUpdate {
  const refusal = refuseUnusable(signal, history);
  if (refusal) return refusal;
  if (history.points.length === 0) return { signal, accepted: false };
  if (signal.rates !== undefined && signal.rates.units !== history.units)
    return refuseUpdate(signal, 'wrong-units', `the history came in ${history.units}; expected ${signal.rates.units}`);
  const observed = withObserved(
    ensureSeriesModel(signal.rates, history.units, history.period),
    history.points,
    now.wall,
  );
  return { signal: { ...signal, rates: anchorToNewest(signal, observed, now) }, accepted: true };
}
