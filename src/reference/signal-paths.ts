/** Forecast, past forecasts, history and index (specification 4.3 and 4.4): checks the request, gates it by plan, and words the answer. */

import { gzipSync } from 'node:zlib';
import { type Answer, listed, ok } from './answer.ts';
import { type Catalogue, type DataPath, type Signal, type SignalType, signalTypes } from './catalogue.ts';
import { type Asking, asking } from './query.ts';
import type { AccountPath, ReadyForecast, Service } from './service.ts';
import { writeTime } from './times.ts';
import { isRefusal, MOST_HISTORY, MOST_PAST_FORECASTS, metaOf, rangeOf, type Wanted, wantedOf } from './wanted.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** Ready forecasts kept: one a place, model and horizon, dropped with the next period. */
const MOST_READY = 400;

/** The signal of a request, which must have the path. */
function signalOf(ask: Asking, catalogue: Catalogue, path: DataPath, unsaid?: SignalType): Signal {
  const type = ask.word('signal_type', signalTypes, unsaid === undefined ? {} : { fallback: unsaid });
  if (!catalogue[type].paths.includes(path)) ask.object('signal_type', `${type} has no ${path}`);
  return catalogue[type];
}

/** Points of a horizon: the current period at least. */
const pointsOf = (signal: Signal, horizonHours: number) => Math.max(1, (horizonHours * HOUR) / signal.period);
const issueAt = ({ generatedPeriod }: Signal, now: number) => Math.floor(now / generatedPeriod) * generatedPeriod;

const points = (from: number, period: number, values: Float64Array) => {
  const parts: string[] = [];
  for (let i = 0; i < values.length; i++) {
    const value = values[i] ?? Number.NaN;
    if (!Number.isNaN(value)) parts.push(`{"point_time":"${writeTime(from + i * period)}","value":${value}}`);
  }
  return `[${parts.join(',')}]`;
};

/** The answer's bytes, made once for each issue. */
function readyForecast({ newest }: Service, wanted: Wanted, issued: number, count: number): ReadyForecast {
  if (newest.issued !== issued || newest.made.size >= MOST_READY) newest.made.clear();
  newest.issued = issued;
  const { signal, place, model } = wanted;
  const key = `${signal.type} ${place.region} ${model.date} ${count}`;
  const found = newest.made.get(key);
  if (found !== undefined) return found;
  const values = new Float64Array(count);
  place.source().forecast(issued, model, values);
  const meta = metaOf(wanted, { generatedAt: issued, generatedPeriod: signal.generatedPeriod });
  const bytes = Buffer.from(`{"data":${points(issued, signal.period, values)},"meta":${JSON.stringify(meta)}}`);
  const made = { bytes, gzipped: gzipSync(bytes, { level: 6 }) };
  newest.made.set(key, made);
  return made;
}

/** `/v3/forecast`: the newest forecast; a discontinued model has none. */
export const forecast: AccountPath = (service, call, account) => {
  const ask = asking(call.query);
  const horizon = ask.whole('horizon_hours', 0, 72, 24);
  const path = 'v3/forecast';
  const signal = signalOf(ask, service.catalogue, path);
  const wanted = wantedOf(ask, signal, { path, account, now: call.now });
  if (isRefusal(wanted)) return wanted;
  const { until } = wanted.model;
  if (call.now >= until) {
    const generatedAt = issueAt(signal, until - 1);
    return ok({ data: [], meta: metaOf(wanted, { generatedAt, generatedPeriod: signal.generatedPeriod }) });
  }
  const made = readyForecast(service, wanted, issueAt(signal, call.now), pointsOf(signal, horizon));
  return { status: 200, body: { kind: 'ready', ...made } };
};

const enveloped = (points: Iterable<string>, meta: unknown): Answer =>
  listed('{"data":[', points, `],"meta":${JSON.stringify(meta)}}`);

const firstAtOrAfter = (at: number, period: number) => Math.ceil(at / period) * period;

function* pastIssues(wanted: Wanted, range: { start: number; end: number }, count: number): Generator<string> {
  const { signal, place, model } = wanted;
  const values = new Float64Array(count);
  for (
    let issued = firstAtOrAfter(range.start, signal.generatedPeriod);
    issued <= range.end;
    issued += signal.generatedPeriod
  ) {
    place.source().forecast(issued, model, values);
    yield `{"generated_at":"${writeTime(issued)}","forecast":${points(issued, signal.period, values)}}`;
  }
}

/** `/v3/forecast/historical`: `start` and `end` select by `generated_at`, both inclusive. */
export const pastForecasts: AccountPath = ({ catalogue }, call, account) => {
  const ask = asking(call.query);
  const { start, end } = rangeOf(ask, MOST_PAST_FORECASTS);
  const horizon = ask.whole('horizon_hours', 0, 72, 24);
  const path = 'v3/forecast/historical';
  const signal = signalOf(ask, catalogue, path);
  const wanted = wantedOf(ask, signal, { path, account, now: call.now });
  if (isRefusal(wanted)) return wanted;
  const { place, model } = wanted;
  const { since, until } = place.source();
  const range = { start: Math.max(start, since), end: Math.min(end, call.now, model.until - 1, until) };
  const meta = metaOf(wanted, { generatedPeriod: signal.generatedPeriod });
  return enveloped(pastIssues(wanted, range, pointsOf(signal, horizon)), meta);
};

interface HistoryOptions {
  readonly start: number;
  readonly end: number;
  readonly now: number;
  readonly marker: boolean;
  /** Strict: only what was updated after it. */
  readonly updatedSince: number;
}

function* settledPoints({ signal, place, model }: Wanted, options: HistoryOptions): Generator<string> {
  const source = place.source();
  const end = Math.min(options.end, options.now);
  for (let time = firstAtOrAfter(options.start, signal.period); time <= end; time += signal.period) {
    const point = source.settled(time, options.now, model);
    if (point === undefined || point.lastUpdated <= options.updatedSince) continue;
    const marker = options.marker ? `,"imputed_data_used":${point.imputed}` : '';
    yield `{"point_time":"${writeTime(time)}","value":${point.value},"last_updated":"${writeTime(point.lastUpdated)}"${marker}}`;
  }
}

/** `/v3/historical`. */
export const historical: AccountPath = ({ catalogue }, call, account) => {
  const ask = asking(call.query);
  const range = rangeOf(ask, MOST_HISTORY);
  const marker = ask.flag('include_imputed_marker');
  const updatedSince = ask.optionalTime('updated_since') ?? Number.NEGATIVE_INFINITY;
  const path = 'v3/historical';
  const wanted = wantedOf(ask, signalOf(ask, catalogue, path), { path, account, now: call.now });
  if (isRefusal(wanted)) return wanted;
  const meta = metaOf(wanted, { modelType: wanted.place.modelType });
  return enveloped(settledPoints(wanted, { ...range, now: call.now, marker, updatedSince }), meta);
};

/** Mid-rank percentile of the first value among all of them: ties count half. */
function midRank(values: Float64Array): number {
  const current = values[0] ?? Number.NaN;
  const pool = values.filter((value) => !Number.isNaN(value));
  const below = pool.reduce((n, value) => n + (value < current ? 1 : 0), 0);
  const equal = pool.reduce((n, value) => n + (value === current ? 1 : 0), 0);
  return (100 * (below + equal / 2)) / pool.length;
}

/** `/v3/signal-index`: the current value among the next 24 h of the forecast, free everywhere. */
export const signalIndex: AccountPath = ({ catalogue, extras }, call, account) => {
  const ask = asking(call.query);
  const path = 'v3/signal-index';
  // Some clients omit the signal type.
  const signal = signalOf(ask, catalogue, path, extras ? 'co2_moer' : undefined);
  const wanted = wantedOf(ask, signal, { path, account, now: call.now });
  if (isRefusal(wanted)) return wanted;
  const { place, model } = wanted;
  const issued = issueAt(signal, call.now);
  const meta = metaOf(wanted, { units: 'percentile', modelType: place.modelType });
  const values = new Float64Array(DAY / signal.period);
  place.source().forecast(issued, model, values);
  const value = midRank(values);
  return ok({ data: Number.isNaN(value) ? [] : [{ point_time: writeTime(issued), value }], meta });
};
