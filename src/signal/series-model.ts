/** The values of one kind as the agent received them, and the values it expects next. */

import { type Duration, hours, type Instant } from '../domain/units.ts';
import type { Point } from '../service/api/response-types.ts';
import {
  buildDailyProfile,
  buildTypicalDay,
  findProfileEnd,
  getProfileValue,
  isProfileStale,
} from './daily-profile.ts';
import {
  blendWithOwn,
  computeMeanOfFirst,
  correctForecast,
  createForecastCorrection,
  estimateUncertainty,
  FEATURE_LEADS,
  type ForecastCorrection,
  LEARNED_PERIOD,
  learn,
} from './forecast-correction.ts';
import { createValueHistory, getSeenValue, recordValues, toSlot, type ValueHistory } from './value-history.ts';

export interface SeriesModel {
  readonly units: string;
  readonly history: ValueHistory;
  readonly correction: ForecastCorrection;
  /** The values expected since the newest forecast or value: computed when they are first read, which a backtest does for few forecasts. */
  readonly expected?: () => ExpectedAhead;
}

/** From a slot on. */
interface ExpectedAhead extends ExpectedValues {
  readonly slot: number;
  readonly forecastCount: number;
  /** A day from the slot on. */
  readonly profile: Float64Array;
}

/** Values of the slots from one on, and how far each may turn out lower: the last holds for all further ones. */
export interface ExpectedValues {
  readonly values: readonly number[];
  readonly uncertainty?: readonly number[];
}

/** How far a forecast is continued. */
export const HORIZON_LENGTH = hours(48);

export const createSeriesModel = (units: string, period: Duration): SeriesModel => ({
  units,
  history: createValueHistory(period),
  correction: createForecastCorrection(),
});

/** Values seen, without anything said about the next ones. */
export const withObserved = (model: SeriesModel, points: readonly Point[], now: Instant): SeriesModel => ({
  ...model,
  history: recordValues(model.history, points, now),
});

/** One day repeated: beyond a day the profile knows no more. */
function repeatDay(day: Float64Array, count: number): Float64Array {
  const values = new Float64Array(count);
  for (let from = 0; from < count; from += day.length)
    values.set(day.subarray(0, Math.min(day.length, count - from)), from);
  return values;
}

/** Takes up the values said from the slot of `now` on, where NaN is a gap; those of now and before are in the archive already. */
export function withForecastValues(model: SeriesModel, forecastValues: readonly number[], now: Instant): SeriesModel {
  const { history, correction, expected: _, ...rest } = model;
  if (findProfileEnd(history, now) === undefined) return { ...rest, history, correction };
  const slot = toSlot(history, now);
  const profile = buildDailyProfile(history, slot, Math.min(FEATURE_LEADS, forecastValues.length));
  const learned =
    history.period !== LEARNED_PERIOD
      ? correction
      : learn(correction, { slot, forecastValues, profile }, () => ({
          value: (at) => getSeenValue(history, at),
          profile: (at) => getProfileValue(history, at),
          level: computeMeanOfFirst(buildDailyProfile(history, slot), Number.POSITIVE_INFINITY),
        }));
  let known: ExpectedAhead | undefined;
  const expected = () => {
    known ??= computeExpected(history, learned, slot, forecastValues);
    return known;
  };
  return { ...rest, history, correction: learned, expected };
}

function computeExpected(
  history: ValueHistory,
  correction: ForecastCorrection,
  slot: number,
  forecastValues: readonly number[],
): ExpectedAhead {
  const count = Math.max(forecastValues.length, Math.round(HORIZON_LENGTH / history.period));
  const profile = buildDailyProfile(history, slot);
  return {
    slot,
    forecastCount: forecastValues.length,
    values: correctForecast(correction, { slot, forecastValues, profile: repeatDay(profile, count) }, count),
    profile,
    uncertainty: estimateUncertainty(correction, forecastValues.length),
  };
}

/** In its own slot a forecast stands as it was corrected; from the next slot on the own profile has its share. */
const readExpected = (correction: ForecastCorrection, known: ExpectedAhead, age: number) =>
  age === 0 ? known.values : blendWithOwn(correction, known);

/** The values expected from a slot on, at least `count`: those ahead where there are any, then the profile. */
export function predictValues(model: SeriesModel, slot: number, count: number): ExpectedValues {
  const { history, correction } = model;
  const latest = model.expected?.();
  const isStale = isProfileStale(history, slot);
  const known = latest === undefined || slot < latest.slot ? undefined : latest;
  const passed = slot - (known?.slot ?? slot);
  // What was said stays; what was only expected of the days before gives way to typical days.
  const values =
    known === undefined
      ? []
      : readExpected(correction, known, passed).slice(
          passed,
          isStale ? Math.max(passed, known.forecastCount) : undefined,
        );
  const day =
    values.length >= count ? undefined : isStale ? buildTypicalDay(history, slot) : buildDailyProfile(history, slot);
  if (day !== undefined) for (let i = values.length; i < count; i++) values.push(day[i % day.length] ?? Number.NaN);
  const uncertainty = known?.uncertainty ?? [];
  return {
    values,
    ...(uncertainty.length === 0 ? {} : { uncertainty: uncertainty.slice(Math.min(passed, uncertainty.length - 1)) }),
  };
}
