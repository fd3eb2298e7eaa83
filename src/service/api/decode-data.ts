/** Decodes the four data envelopes of specification 2.6: strict about region, unit and spacing, tolerant about fields that services leave out. */

import * as v from 'valibot';
import { parseInstant } from '../../domain/iso-time.ts';
import { PERCENTILE_UNITS, RATE_UNITS, toPercentile } from '../../domain/units.ts';
import type { Outcome } from '../failure.ts';
import {
  instantSchema,
  invalidResponse,
  nonEmptyTextSchema,
  ok,
  optionalField,
  optionalTextSchema,
  parseBody,
  periodSchema,
} from './decode-body.ts';
import { parseItems, parsePoint, parsePoints, type RawPoint, sortByTime } from './decode-points.ts';
import type { ForecastQuery, HistoryQuery, PastForecastsQuery, SignalQuery, TimeRange } from './query-types.ts';
import type {
  Envelope,
  Forecast,
  HistoricalPoint,
  History,
  LiveIndex,
  PastForecasts,
  ServiceWarning,
} from './response-types.ts';

const MAX_WARNINGS = 20;

const warningSchema = v.fallback(v.object({ type: optionalTextSchema, message: optionalTextSchema }), {});

const metaSchema = v.object({
  region: optionalTextSchema,
  signal_type: optionalTextSchema,
  units: nonEmptyTextSchema,
  data_point_period_seconds: periodSchema,
  model: v.fallback(v.object({ date: optionalTextSchema, type: optionalTextSchema }), {}),
  warnings: v.fallback(v.array(warningSchema), []),
});

const envelopeSchema = v.object({ data: v.array(v.unknown()), meta: metaSchema });
const generatedAtSchema = v.object({ meta: v.object({ generated_at: instantSchema }) });
const generatedPeriodSchema = v.object({
  meta: v.object({ generated_at_period_seconds: v.fallback(v.optional(periodSchema), undefined) }),
});

type EnvelopeQuery = SignalQuery & { readonly model?: string };

/** A percentile never counts as a rate, nor the reverse (specification 2.5). */
function findExpectedUnit(signalType: string, quantity: 'rate' | 'percentile', units: string): string | undefined {
  if (quantity === 'percentile') return units === PERCENTILE_UNITS ? undefined : PERCENTILE_UNITS;
  if (signalType === 'co2_moer' || signalType === 'co2_aoer') return units === RATE_UNITS ? undefined : RATE_UNITS;
  return units === PERCENTILE_UNITS ? 'a unit that is not percentile' : undefined;
}

const toWarnings = (list: readonly { readonly type?: string | undefined; readonly message?: string | undefined }[]) =>
  list
    .slice(0, MAX_WARNINGS)
    .flatMap(({ type = '', message = '' }): ServiceWarning[] =>
      type === '' && message === '' ? [] : [{ type, message }],
    );

interface ParsedEnvelope {
  readonly data: readonly unknown[];
  readonly common: Omit<Envelope, 'refusedPoints'>;
}

function parseEnvelope(body: unknown, query: EnvelopeQuery, quantity: 'rate' | 'percentile'): Outcome<ParsedEnvelope> {
  const parsed = parseBody(envelopeSchema, body);
  if (!parsed.ok) return parsed;
  const { data, meta } = parsed.value;
  if (meta.region !== undefined && meta.region !== query.region)
    return invalidResponse('meta.region', query.region, meta.region);
  if (meta.signal_type !== undefined && meta.signal_type !== query.signalType)
    return invalidResponse('meta.signal_type', query.signalType, meta.signal_type);
  const unit = findExpectedUnit(query.signalType, quantity, meta.units);
  if (unit !== undefined) return invalidResponse('meta.units', unit, meta.units);
  const model = meta.model.date;
  if (query.model !== undefined && model !== undefined && model !== query.model)
    return invalidResponse('meta.model.date', query.model, model);
  return ok({
    data,
    common: {
      region: query.region,
      signalType: query.signalType,
      units: meta.units,
      period: meta.data_point_period_seconds,
      ...optionalField('model', model),
      ...optionalField('modelType', meta.model.type),
      warnings: toWarnings(meta.warnings),
    },
  });
}

function parseGeneratedPeriod(body: unknown) {
  const read = parseBody(generatedPeriodSchema, body);
  return read.ok ? read.value.meta.generated_at_period_seconds : undefined;
}

export function decodeForecast(
  body: unknown,
  query: EnvelopeQuery | ForecastQuery,
  parseItem = parsePoint,
): Outcome<Forecast> {
  const parsed = parseEnvelope(body, query, 'rate');
  if (!parsed.ok) return parsed;
  const { data, common } = parsed.value;
  const generated = parseBody(generatedAtSchema, body);
  if (!generated.ok) return generated;
  const list = parsePoints(data, { where: 'data', period: common.period }, parseItem);
  if (!list.ok) return list;
  return ok({
    ...common,
    refusedPoints: list.value.refused,
    generatedAt: generated.value.meta.generated_at,
    generatedPeriod: parseGeneratedPeriod(body) ?? common.period,
    points: list.value.points,
  });
}

/** A forecast answer from a file, with its own region and signal. */
export function decodeSavedForecast(body: unknown): Outcome<Forecast> {
  const parsed = parseBody(
    v.object({ meta: v.object({ region: optionalTextSchema, signal_type: optionalTextSchema }) }),
    body,
  );
  if (!parsed.ok) return parsed;
  const { region = '', signal_type: signalType = 'co2_moer' } = parsed.value.meta;
  return decodeForecast(body, { region, signalType });
}

/** The one point of a list; the same point again is no other (known: services repeat points). */
function findSinglePoint(data: readonly unknown[]): RawPoint | undefined {
  const isObject = (item: unknown): item is RawPoint => typeof item === 'object' && item !== null;
  const [first] = data;
  if (!isObject(first)) return undefined;
  const isSame = (item: unknown) =>
    isObject(item) && item.point_time === first.point_time && item.value === first.value;
  return data.every(isSame) ? first : undefined;
}

/** Exactly one point, of a percentile: 0 to 100. The request names no model, so any may answer (specification 4.4). */
export function decodeIndex(body: unknown, { region, signalType }: SignalQuery): Outcome<LiveIndex> {
  const parsed = parseEnvelope(body, { region, signalType }, 'percentile');
  if (!parsed.ok) return parsed;
  const { data, common } = parsed.value;
  const single = findSinglePoint(data);
  if (single === undefined) return invalidResponse('data', 'exactly one point', `${data.length} items`);
  const at = parseInstant(single.point_time);
  if (at === undefined) return invalidResponse('data.0.point_time', 'a time with a zone', single.point_time);
  const value = toPercentile(parsePoint(single)?.value ?? Number.NaN);
  if (value === undefined) return invalidResponse('data.0.value', 'a percentile of 0 to 100', single.value);
  return ok({ ...common, refusedPoints: 0, point: { at, value } });
}

function parseHistoricalPoint(item: RawPoint): HistoricalPoint | undefined {
  const point: { -readonly [Key in keyof HistoricalPoint]: HistoricalPoint[Key] } | undefined = parsePoint(item);
  if (point === undefined) return undefined;
  const lastUpdated = parseInstant(item.last_updated);
  if (lastUpdated !== undefined) point.lastUpdated = lastUpdated;
  const imputed = item.imputed_data_used;
  if (typeof imputed === 'boolean') point.imputed = imputed;
  return point;
}

const createRangeFilter =
  ({ start, end }: TimeRange) =>
  (at: number) =>
    at >= start && at <= end;

/** Drops points outside the requested range: a range read in chunks must not repeat one. */
export function decodeHistory(body: unknown, query: HistoryQuery, parseItem = parseHistoricalPoint): Outcome<History> {
  const parsed = parseEnvelope(body, query, 'rate');
  if (!parsed.ok) return parsed;
  const { data, common } = parsed.value;
  const list = parsePoints(data, { where: 'data', period: common.period }, parseItem);
  if (!list.ok) return list;
  const isInRange = createRangeFilter(query);
  return ok({
    ...common,
    refusedPoints: list.value.refused,
    points: list.value.points.filter(({ at }) => isInRange(at)),
  });
}

export function decodePastForecasts(body: unknown, query: PastForecastsQuery): Outcome<PastForecasts> {
  const parsed = parseEnvelope(body, query, 'rate');
  if (!parsed.ok) return parsed;
  const { data, common } = parsed.value;
  const entries = parseItems(data, 'data', (item) => {
    const generatedAt = parseInstant(item.generated_at);
    const list = item.forecast;
    return generatedAt === undefined || !Array.isArray(list) ? undefined : { generatedAt, list };
  });
  if (!entries.ok) return entries;
  const isInRange = createRangeFilter(query);
  let refusedPoints = entries.value.refused;
  const forecasts: PastForecasts['forecasts'][number][] = [];
  for (const { generatedAt, list } of sortByTime(entries.value.kept, ({ generatedAt }) => generatedAt)) {
    const points = parsePoints(list, { where: 'data.forecast', period: common.period }, parsePoint);
    if (!points.ok) return points;
    refusedPoints += points.value.refused;
    if (isInRange(generatedAt)) forecasts.push({ generatedAt, points: points.value.points });
  }
  return ok({ ...common, refusedPoints, ...optionalField('generatedPeriod', parseGeneratedPeriod(body)), forecasts });
}
