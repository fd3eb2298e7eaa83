/** Decides which stored data may drive a load at one moment, and with which basis. Never uses data of another region. */

import type { ClockReading } from '../domain/ports.ts';
import {
  addDuration,
  type Duration,
  floorTo,
  hours,
  type Instant,
  type LbsPerMwh,
  minutes,
  RATE_UNITS,
} from '../domain/units.ts';
import type { Forecast, LiveIndex } from '../service/api/response-types.ts';
import { findProfileEnd } from './daily-profile.ts';
import { getForecastValue, readSlotValues } from './forecast-slots.ts';
import { computeLocalIndex, type LocalIndex, type TieRule } from './percentile-index.ts';
import { type ExpectedValues, HORIZON_LENGTH, predictValues, type SeriesModel } from './series-model.ts';
import type { SignalData } from './signal-store.ts';
import type { CurrentIndex, Horizon, SignalView } from './signal-view.ts';
import { toSlot } from './value-history.ts';

interface ViewOptions {
  readonly ties: TieRule;
  /** Where the machine is; data of any other region are for looking at. Undefined: not known yet, nothing drives. */
  readonly ownRegion: string | undefined;
}

/** With nothing held a view stays as it is until news come. */
const MAX_UNCHANGED = hours(24);

/** A forecast is fresh for three of its issues, at least a quarter of an hour. */
export const computeFreshUntil = ({ generatedAt, generatedPeriod }: Forecast): Instant =>
  addDuration(generatedAt, Math.max(3 * generatedPeriod, minutes(15)) as Duration);

/** End of the last value. */
export const computeCoveredUntil = ({ points, period }: Forecast): Instant => {
  const last = points.at(-1);
  return last === undefined ? (0 as Instant) : addDuration(last.at, period);
};

const chooseForecastBasis = (forecast: Forecast, now: Instant) =>
  now < computeFreshUntil(forecast) ? 'fresh-forecast' : 'ageing-forecast';

/** What was said, corrected and continued where the archive allows it. */
function continueForecast(
  model: SeriesModel | undefined,
  forecastValues: readonly number[],
  now: Instant,
): ExpectedValues {
  if (model === undefined || findProfileEnd(model.history, now) === undefined) return { values: forecastValues };
  const slot = toSlot(model.history, now);
  const count = Math.max(forecastValues.length, Math.round(HORIZON_LENGTH / model.history.period));
  if (model.expected !== undefined) return predictValues(model, slot, count);
  return {
    values: [
      ...forecastValues,
      ...predictValues(model, slot + forecastValues.length, count - forecastValues.length).values,
    ],
  };
}

function buildForecastHorizon(signal: SignalData, forecast: Forecast, now: Instant): Horizon | undefined {
  const { period, units, generatedAt, model } = forecast;
  const from = floorTo(now, period);
  const forecastValues = readSlotValues(forecast, from);
  if (forecastValues.length === 0) return undefined;
  const continued = continueForecast(signal.rates, forecastValues, now);
  // A gap at this moment stays one, whatever is expected: nothing is driven by what was not said.
  const values = continued.values.map((value, i) => (Number.isNaN(forecastValues[i] ?? 0) ? Number.NaN : value));
  return {
    basis: chooseForecastBasis(forecast, now),
    from,
    period,
    values,
    ...(continued.uncertainty === undefined ? {} : { uncertainty: continued.uncertainty }),
    ...(values.length <= forecastValues.length
      ? {}
      : { profileFrom: addDuration(from, (forecastValues.length * period) as Duration) }),
    units,
    generatedAt,
    ...(model === undefined ? {} : { model }),
    validUntil: computeCoveredUntil(forecast),
  };
}

/** Rates where three days of them are known, else stretched percentiles: enough to order slots. */
function buildProfileHorizon({ rates, indexes }: SignalData, now: Instant): Horizon | undefined {
  for (const model of [rates, indexes]) {
    const validUntil = model === undefined ? undefined : findProfileEnd(model.history, now);
    if (model === undefined || validUntil === undefined) continue;
    const { period, newestSlot: newest } = model.history;
    return {
      basis: 'own-profile',
      from: floorTo(now, period),
      period,
      ...predictValues(model, toSlot(model.history, now), Math.round(HORIZON_LENGTH / period)),
      units: model.units,
      generatedAt: (newest * period) as Instant,
      validUntil,
    };
  }
  return undefined;
}

/** Valid for its period; one more period it may keep a level but start nothing. */
function buildIndexFromLive({ point, period }: LiveIndex, now: Instant, flat: boolean): CurrentIndex | undefined {
  const startsUntil = addDuration(point.at, period);
  const validUntil = addDuration(startsUntil, period);
  if (now < point.at || now >= validUntil) return undefined;
  return { value: point.value, basis: 'live-index', at: point.at, startsUntil, validUntil, flat, quality: 'full' };
}

function buildIndexFromForecast(
  local: LocalIndex,
  forecast: Forecast,
  ties: TieRule,
  now: Instant,
): CurrentIndex | undefined {
  const value = local[ties];
  if (value === undefined || local.quality === 'none') return undefined;
  const end = addDuration(local.pointTime, forecast.period);
  const { pointTime: at, flat, quality } = local;
  return { value, basis: chooseForecastBasis(forecast, now), at, startsUntil: end, validUntil: end, flat, quality };
}

/** The live index goes before our own, and one that came in time holds one period more, until its successor has come: two sources never take turns. */
function chooseIndex(
  { liveIndex }: SignalData,
  forecast: Forecast | undefined,
  now: Instant,
  ties: TieRule,
): CurrentIndex | undefined {
  const local = forecast === undefined ? undefined : computeLocalIndex(forecast.points, forecast.period, now);
  const fromForecast =
    forecast === undefined || local === undefined ? undefined : buildIndexFromForecast(local, forecast, ties, now);
  // An old forecast does not know what the live index was counted among.
  const flat = fromForecast?.basis === 'fresh-forecast' && fromForecast.flat;
  const fromService = liveIndex === undefined ? undefined : buildIndexFromLive(liveIndex, now, flat);
  return liveIndex?.arrivedInTime === true ? (fromService ?? fromForecast) : (fromForecast ?? fromService);
}

/** The next moment at which time alone makes the view another one. */
function findNextChange(signal: SignalData, view: Omit<SignalView, 'changesAt'>, now: Instant): Instant {
  const { forecast } = signal;
  const candidates: number[] = [addDuration(now, MAX_UNCHANGED)];
  const add = (at: Instant | undefined) => {
    if (at !== undefined && at > now) candidates.push(at);
  };
  const period = view.horizon?.period ?? forecast?.period;
  if (period !== undefined) add(addDuration(floorTo(now, period), period));
  add(view.index?.startsUntil);
  add(view.index?.validUntil);
  add(view.horizon?.validUntil);
  if (forecast !== undefined) add(computeFreshUntil(forecast));
  if (signal.liveIndex !== undefined) add(signal.liveIndex.point.at);
  return Math.min(...candidates) as Instant;
}

/** What the held data say at `now`: the rungs R0 to R3; nothing while the wall clock is not trusted or the region is not our own. */
export function buildSignalView(signal: SignalData, now: ClockReading, { ties, ownRegion }: ViewOptions): SignalView {
  const at = now.wall;
  if (ownRegion === undefined || signal.region !== ownRegion || !now.trusted)
    return { ...(ownRegion === undefined ? {} : { region: ownRegion }), changesAt: addDuration(at, MAX_UNCHANGED) };
  const forecast =
    signal.forecast !== undefined && at < computeCoveredUntil(signal.forecast) ? signal.forecast : undefined;
  const index = chooseIndex(signal, forecast, at, ties);
  const horizon =
    (forecast === undefined ? undefined : buildForecastHorizon(signal, forecast, at)) ??
    buildProfileHorizon(signal, at);
  const rate = forecast?.units === RATE_UNITS ? getForecastValue(forecast, at) : undefined;
  const view = {
    region: signal.region,
    ...(index === undefined ? {} : { index }),
    ...(forecast === undefined || rate === undefined ? {} : { rate: buildRateView(forecast, rate, at) }),
    ...(horizon === undefined ? {} : { horizon }),
  };
  return { ...view, changesAt: findNextChange(signal, view, at) };
}

function buildRateView({ period }: Forecast, value: number, now: Instant): NonNullable<SignalView['rate']> {
  const at = floorTo(now, period);
  return { value: value as LbsPerMwh, at, until: addDuration(at, period) };
}
