/** Decodes the four data envelopes of specification 2.6: strict about region, unit and spacing, tolerant about what services leave out. */

import * as v from 'valibot';
import { instantOf } from '../times.ts';
import { percentile } from '../units.ts';
import type { Envelope, Forecast, HistoricalPoint, History, LiveIndex, PastForecasts, Warning } from './answers.ts';
import { checked, given, instant, maybeText, nonsense, ok, period, someText } from './decoding.ts';
import type { Outcome } from './failure.ts';
import { inOrder, pointOf, type RawPoint, readPoints, sifted } from './points.ts';
import type { ForecastQuery, HistoryQuery, PastForecastsQuery, Range, SignalQuery } from './queries.ts';

const MOST_WARNINGS = 20;
const RATE = 'lbs_co2_per_mwh';
const PERCENTILE = 'percentile';

const warning = v.fallback(v.object({ type: maybeText, message: maybeText }), {});

const meta = v.object({
  region: maybeText,
  signal_type: maybeText,
  units: someText,
  data_point_period_seconds: period,
  model: v.fallback(v.object({ date: maybeText }), {}),
  warnings: v.fallback(v.array(warning), []),
});

const envelope = v.object({ data: v.array(v.unknown()), meta });
const dated = v.object({ meta: v.object({ generated_at: instant }) });
const generatedPeriod = v.object({
  meta: v.object({ generated_at_period_seconds: v.fallback(v.optional(period), undefined) }),
});

type Asked = SignalQuery & { readonly model?: string };

/** A percentile is never taken for a rate, nor the reverse (specification 2.5). */
function unitExpected(signalType: string, wanted: 'rate' | 'percentile', units: string): string | undefined {
  if (wanted === 'percentile') return units === PERCENTILE ? undefined : PERCENTILE;
  if (signalType === 'co2_moer' || signalType === 'co2_aoer') return units === RATE ? undefined : RATE;
  return units === PERCENTILE ? 'a unit that is not percentile' : undefined;
}

const warningsOf = (list: readonly { readonly type?: string | undefined; readonly message?: string | undefined }[]) =>
  list
    .slice(0, MOST_WARNINGS)
    .flatMap(({ type = '', message = '' }): Warning[] => (type === '' && message === '' ? [] : [{ type, message }]));

interface Read {
  readonly data: readonly unknown[];
  readonly common: Omit<Envelope, 'refusedPoints'>;
}

function readEnvelope(body: unknown, asked: Asked, wanted: 'rate' | 'percentile'): Outcome<Read> {
  const read = checked(envelope, body);
  if (!read.ok) return read;
  const { data, meta } = read.value;
  if (meta.region !== undefined && meta.region !== asked.region)
    return nonsense('meta.region', asked.region, meta.region);
  if (meta.signal_type !== undefined && meta.signal_type !== asked.signalType)
    return nonsense('meta.signal_type', asked.signalType, meta.signal_type);
  const unit = unitExpected(asked.signalType, wanted, meta.units);
  if (unit !== undefined) return nonsense('meta.units', unit, meta.units);
  const model = meta.model.date;
  if (asked.model !== undefined && model !== undefined && model !== asked.model)
    return nonsense('meta.model.date', asked.model, model);
  return ok({
    data,
    common: {
      region: asked.region,
      signalType: asked.signalType,
      units: meta.units,
      period: meta.data_point_period_seconds,
      ...given('model', model),
      warnings: warningsOf(meta.warnings),
    },
  });
}

function generatedPeriodOf(body: unknown) {
  const read = checked(generatedPeriod, body);
  return read.ok ? read.value.meta.generated_at_period_seconds : undefined;
}

export function decodeForecast(body: unknown, asked: Asked | ForecastQuery): Outcome<Forecast> {
  const read = readEnvelope(body, asked, 'rate');
  if (!read.ok) return read;
  const { data, common } = read.value;
  const times = checked(dated, body);
  if (!times.ok) return times;
  const list = readPoints(data, { where: 'data', period: common.period }, pointOf);
  if (!list.ok) return list;
  return ok({
    ...common,
    refusedPoints: list.value.refused,
    generatedAt: times.value.meta.generated_at,
    generatedPeriod: generatedPeriodOf(body) ?? common.period,
    points: list.value.points,
  });
}

/** A forecast answer from a file: it says itself which region and signal it is about. */
export function decodeSavedForecast(body: unknown): Outcome<Forecast> {
  const read = checked(v.object({ meta: v.object({ region: maybeText, signal_type: maybeText }) }), body);
  if (!read.ok) return read;
  const { region = '', signal_type: signalType = 'co2_moer' } = read.value.meta;
  return decodeForecast(body, { region, signalType });
}

/** Exactly one point, of a percentile (known: an index is 0 to 100). No model is asked of it, so that any may answer (specification 4.4). */
export function decodeIndex(body: unknown, { region, signalType }: SignalQuery): Outcome<LiveIndex> {
  const read = readEnvelope(body, { region, signalType }, 'percentile');
  if (!read.ok) return read;
  const { data, common } = read.value;
  const [first] = data;
  if (data.length !== 1 || typeof first !== 'object' || first === null)
    return nonsense('data', 'exactly one point', `${data.length} items`);
  const point = pointOf(first as RawPoint);
  const value = point === undefined ? undefined : percentile(point.value);
  if (point === undefined || value === undefined)
    return nonsense('data.0', 'a point_time and a percentile of 0 to 100', first);
  return ok({ ...common, refusedPoints: 0, point: { at: point.at, value } });
}

function historicalPoint(item: RawPoint): HistoricalPoint | undefined {
  const point: { -readonly [Key in keyof HistoricalPoint]: HistoricalPoint[Key] } | undefined = pointOf(item);
  if (point === undefined) return undefined;
  const lastUpdated = instantOf(item.last_updated);
  if (lastUpdated !== undefined) point.lastUpdated = lastUpdated;
  const imputed = item.imputed_data_used;
  if (typeof imputed === 'boolean') point.imputed = imputed;
  return point;
}

const within =
  ({ start, end }: Range) =>
  (at: number) =>
    at >= start && at <= end;

/** Points outside the asked range are left out: a range read in pieces must not repeat one. */
export function decodeHistory(body: unknown, asked: HistoryQuery): Outcome<History> {
  const read = readEnvelope(body, asked, 'rate');
  if (!read.ok) return read;
  const { data, common } = read.value;
  const list = readPoints(data, { where: 'data', period: common.period }, historicalPoint);
  if (!list.ok) return list;
  const isAsked = within(asked);
  return ok({
    ...common,
    refusedPoints: list.value.refused,
    points: list.value.points.filter(({ at }) => isAsked(at)),
  });
}

export function decodePastForecasts(body: unknown, asked: PastForecastsQuery): Outcome<PastForecasts> {
  const read = readEnvelope(body, asked, 'rate');
  if (!read.ok) return read;
  const { data, common } = read.value;
  const entries = sifted(data, 'data', (item) => {
    const generatedAt = instantOf(item.generated_at);
    const list = item.forecast;
    return generatedAt === undefined || !Array.isArray(list) ? undefined : { generatedAt, list };
  });
  if (!entries.ok) return entries;
  const isAsked = within(asked);
  let refusedPoints = entries.value.refused;
  const forecasts: PastForecasts['forecasts'][number][] = [];
  for (const { generatedAt, list } of inOrder(entries.value.kept, ({ generatedAt }) => generatedAt)) {
    const points = readPoints(list, { where: 'data.forecast', period: common.period }, pointOf);
    if (!points.ok) return points;
    refusedPoints += points.value.refused;
    if (isAsked(generatedAt)) forecasts.push({ generatedAt, points: points.value.points });
  }
  return ok({ ...common, refusedPoints, ...given('generatedPeriod', generatedPeriodOf(body)), forecasts });
}
