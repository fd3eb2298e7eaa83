/** Forecast, past forecasts, history and index (specification 4.3 and 4.4). */

import { QueryReader } from '../http/query-parameters.ts';
import { type ApiResponse, listResponse, okResponse } from '../http/response.ts';
import type { AuthorizedRoute } from '../http/route-types.ts';
import { formatServiceTime } from '../http/service-times.ts';
import { type Catalogue, type DataPath, type Signal, type SignalType, signalTypes } from '../world/catalogue.ts';
import {
  buildMeta,
  isRefusal,
  MAX_HISTORY,
  MAX_PAST_FORECASTS,
  type RequestScope,
  readTimeRange,
  resolveScope,
} from './request-scope.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** The signal of a request, which must have the path. */
function readSignal(query: QueryReader, catalogue: Catalogue, path: DataPath, fallback?: SignalType): Signal {
  const type = query.oneOf('signal_type', signalTypes, fallback);
  if (!catalogue[type].paths.includes(path)) query.reject('signal_type', `${type} has no ${path}`);
  return catalogue[type];
}

/** Points of a horizon: the current period at least. */
const countPoints = (signal: Signal, horizonHours: number) => Math.max(1, (horizonHours * HOUR) / signal.period);
const computeIssueTime = ({ generatedPeriod }: Signal, now: number) =>
  Math.floor(now / generatedPeriod) * generatedPeriod;

const formatPoints = (from: number, values: Float64Array, { signal: { period }, zone }: RequestScope) => {
  const parts: string[] = [];
  for (let i = 0; i < values.length; i++) {
    const value = values[i] ?? Number.NaN;
    if (!Number.isNaN(value))
      parts.push(`{"point_time":"${formatServiceTime(from + i * period, zone)}","value":${value}}`);
  }
  return `[${parts.join(',')}]`;
};

/** How long the answers of an issue stand. */
const spanIssue = ({ generatedPeriod }: Signal, issued: number) => ({
  validFrom: issued,
  validUntil: issued + generatedPeriod,
});

/** `/v3/forecast`: the newest forecast; a discontinued model has none. */
export const forecast: AuthorizedRoute = ({ catalogue, profile, readyAnswers }, request, account) => {
  const query = new QueryReader(request.query);
  const horizon = query.integer('horizon_hours', { from: 0, to: 72, fallback: 24 });
  const path = 'v3/forecast';
  const signal = readSignal(query, catalogue, path);
  const scope = resolveScope(query, signal, { path, account, now: request.now, profile });
  if (isRefusal(scope)) return scope;
  const { region, model } = scope;
  const { generatedPeriod } = signal;
  if (request.now >= model.until) {
    const generatedAt = computeIssueTime(signal, model.until - 1);
    return okResponse({ data: [], meta: buildMeta(scope, { generatedAt, generatedPeriod }) });
  }
  return readyAnswers(`${path} ${signal.type} ${region.name} ${model.date} ${horizon}`, request.now, () => {
    const generatedAt = computeIssueTime(signal, request.now);
    const values = new Float64Array(countPoints(signal, horizon));
    region.source().fillForecast(generatedAt, model, values);
    const meta = buildMeta(scope, { generatedAt, generatedPeriod });
    const text = `{"data":${formatPoints(generatedAt, values, scope)},"meta":${JSON.stringify(meta)}}`;
    return { text, ...spanIssue(signal, generatedAt) };
  });
};

const dataResponse = (points: Iterable<string>, meta: unknown): ApiResponse =>
  listResponse('{"data":[', points, `],"meta":${JSON.stringify(meta)}}`);

const roundUpTo = (at: number, period: number) => Math.ceil(at / period) * period;

function* generatePastForecasts(
  scope: RequestScope,
  range: { start: number; end: number },
  count: number,
): Generator<string> {
  const { signal, region, model } = scope;
  const values = new Float64Array(count);
  for (
    let issued = roundUpTo(range.start, signal.generatedPeriod);
    issued <= range.end;
    issued += signal.generatedPeriod
  ) {
    region.source().fillForecast(issued, model, values);
    yield `{"generated_at":"${formatServiceTime(issued, scope.zone)}","forecast":${formatPoints(issued, values, scope)}}`;
  }
}

/** `/v3/forecast/historical`: `start` and `end` select by `generated_at`, both inclusive. */
export const pastForecasts: AuthorizedRoute = ({ catalogue, profile }, request, account) => {
  const query = new QueryReader(request.query);
  const { start, end } = readTimeRange(query, MAX_PAST_FORECASTS);
  const horizon = query.integer('horizon_hours', { from: 0, to: 72, fallback: 24 });
  const path = 'v3/forecast/historical';
  const signal = readSignal(query, catalogue, path);
  const scope = resolveScope(query, signal, { path, account, now: request.now, profile });
  if (isRefusal(scope)) return scope;
  const { region, model } = scope;
  const { since, until } = region.source();
  const range = { start: Math.max(start, since), end: Math.min(end, request.now, model.until - 1, until) };
  const meta = buildMeta(scope, { generatedPeriod: signal.generatedPeriod });
  return dataResponse(generatePastForecasts(scope, range, countPoints(signal, horizon)), meta);
};

interface HistoryOptions {
  readonly start: number;
  readonly end: number;
  readonly now: number;
  readonly marker: boolean;
  readonly lastUpdated: boolean;
  /** Strict: only what was updated after it. */
  readonly updatedSince: number;
  /** Is called with each moment at which the answer will change. */
  readonly onChangeAhead: (at: number) => void;
}

function* generateHistory({ signal, region, model, zone }: RequestScope, options: HistoryOptions): Generator<string> {
  const source = region.source();
  for (let time = roundUpTo(options.start, signal.period); time <= options.end; time += signal.period) {
    const point = source.findPoint(time, options.now, model);
    // A point to come stands for all after it: they are published in their order.
    if (point === undefined && time + source.delay > options.now) return options.onChangeAhead(time + source.delay);
    if (point === undefined) continue;
    options.onChangeAhead(point.changesAt);
    if (point.lastUpdated <= options.updatedSince) continue;
    const updated = options.lastUpdated ? `,"last_updated":"${formatServiceTime(point.lastUpdated, zone)}"` : '';
    const marker = options.marker ? `,"imputed_data_used":${point.imputed}` : '';
    yield `{"point_time":"${formatServiceTime(time, zone)}","value":${point.value}${updated}${marker}}`;
  }
}

/** `/v3/historical`. A range of up to a day is kept ready: it is what many devices of a region ask again and again. */
export const historical: AuthorizedRoute = ({ catalogue, profile, readyAnswers }, request, account) => {
  const query = new QueryReader(request.query);
  const range = readTimeRange(query, MAX_HISTORY);
  const marker = query.flag('include_imputed_marker');
  const since = query.optionalTime('updated_since');
  const path = 'v3/historical';
  const { now } = request;
  const scope = resolveScope(query, readSignal(query, catalogue, path), { path, account, now, profile });
  if (isRefusal(scope)) return scope;
  const { signal, region, model } = scope;
  const meta = buildMeta(scope, { modelType: region.modelType });
  const lastUpdated = profile.alwaysSendsLastUpdated || since !== undefined;
  const options = { ...range, now, marker, lastUpdated, updatedSince: since ?? Number.NEGATIVE_INFINITY };
  if (range.end - range.start > DAY)
    return dataResponse(generateHistory(scope, { ...options, onChangeAhead: () => {} }), meta);
  const key = `${path} ${signal.type} ${region.name} ${model.date} ${range.start} ${range.end} ${marker} ${since}`;
  return readyAnswers(key, now, () => {
    let validUntil = Number.POSITIVE_INFINITY;
    const onChangeAhead = (at: number) => {
      validUntil = Math.min(validUntil, at);
    };
    const points = [...generateHistory(scope, { ...options, onChangeAhead })];
    return { text: `{"data":[${points.join(',')}],"meta":${JSON.stringify(meta)}}`, validFrom: now, validUntil };
  });
};

/** Mid-rank percentile of the first value among all of them: ties count half. */
function computeMidRank(values: Float64Array): number {
  const current = values[0] ?? Number.NaN;
  const pool = values.filter((value) => !Number.isNaN(value));
  const below = pool.reduce((n, value) => n + (value < current ? 1 : 0), 0);
  const equal = pool.reduce((n, value) => n + (value === current ? 1 : 0), 0);
  return (100 * (below + equal / 2)) / pool.length;
}

/** `/v3/signal-index`: the current value among the next 24 h of the forecast, free everywhere. */
export const signalIndex: AuthorizedRoute = ({ catalogue, profile, readyAnswers }, request, account) => {
  const query = new QueryReader(request.query);
  const path = 'v3/signal-index';
  // Some clients omit the signal type.
  const signal = readSignal(query, catalogue, path, profile.extras ? 'co2_moer' : undefined);
  const scope = resolveScope(query, signal, { path, account, now: request.now, profile });
  if (isRefusal(scope)) return scope;
  const { region, model, zone } = scope;
  return readyAnswers(`${path} ${region.name} ${model.date}`, request.now, () => {
    const issued = computeIssueTime(signal, request.now);
    const values = new Float64Array(DAY / signal.period);
    region.source().fillForecast(issued, model, values);
    const value = computeMidRank(values);
    const data = Number.isNaN(value) ? [] : [{ point_time: formatServiceTime(issued, zone), value }];
    const meta = buildMeta(scope, { units: 'percentile', modelType: region.modelType });
    return { text: JSON.stringify({ data, meta }), ...spanIssue(signal, issued) };
  });
};
