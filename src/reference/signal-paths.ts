/** Forecast, past forecasts, history and index (specification 4.3 and 4.4): checks the request, gates it by plan, and words the answer. */

import { gzipSync } from 'node:zlib';
import type { Account } from './accounts.ts';
import { type Answer, invalid, ok, outOfScope } from './answer.ts';
import { type Catalogue, type DataPath, type Place, type Signal, type SignalType, signalTypes } from './catalogue.ts';
import { defaultModel, type Model, modelsAt } from './models.ts';
import { opensData } from './plans.ts';
import { type Asking, asking } from './query.ts';
import type { AccountPath, Service } from './service.ts';
import { writeTime } from './times.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const MOST_HISTORY = 32 * DAY;
const MOST_PAST_FORECASTS = DAY;
/** Ready forecasts kept: one a place, model and horizon, dropped with the next period. */
const MOST_READY = 400;
/** Characters a streamed piece grows to. */
const PIECE = 65_536;

interface Wanted {
  readonly signal: Signal;
  readonly place: Place;
  readonly model: Model;
}

/** The region, signal and model of a request, or the refusal it earns: validity first, then the plan. */
function wantedOf(
  ask: Asking,
  path: DataPath,
  scope: { catalogue: Catalogue; account: Account; now: number; unsaid?: SignalType },
): Wanted | Answer {
  const type = ask.word('signal_type', signalTypes, scope.unsaid === undefined ? {} : { fallback: scope.unsaid });
  const region = ask.text('region');
  const asked = ask.optional('model');
  const signal = scope.catalogue[type];
  const place = signal.places.get(region);
  if (ask.problems.length === 0 && !signal.paths.includes(path)) ask.object('signal_type', `${type} has no ${path}`);
  if (ask.problems.length === 0 && place === undefined)
    ask.object('region', `"${region.slice(0, 40)}" is not a region of ${type}`);
  const models = modelsAt(signal.monthDay, scope.now);
  const model = asked === undefined ? defaultModel(models) : models.find(({ date }) => date === asked);
  if (ask.problems.length === 0 && model === undefined)
    ask.object('model', `"${asked?.slice(0, 40)}" is not one of ${models.map(({ date }) => date).join(', ')}`);
  if (ask.problems.length > 0 || place === undefined || model === undefined) return invalid(...ask.problems);
  if (path !== 'v3/signal-index' && !opensData(scope.account.plan, region)) return outOfScope(`/${path}`, region);
  return { signal, place, model };
}

const isRefusal = (value: Wanted | Answer): value is Answer => 'status' in value;

interface Meta {
  readonly generatedAt?: number;
  readonly generatedPeriod?: number;
  readonly units?: string;
  /** Whether the model's type is told (specification 2.6). */
  readonly typed?: boolean;
}

const metaOf = ({ signal, place, model }: Wanted, { generatedAt, generatedPeriod, units, typed = false }: Meta) => ({
  data_point_period_seconds: signal.period / 1_000,
  ...(generatedAt === undefined ? {} : { generated_at: writeTime(generatedAt) }),
  ...(generatedPeriod === undefined ? {} : { generated_at_period_seconds: generatedPeriod / 1_000 }),
  model: { date: model.date, ...(typed ? { type: place.modelType } : {}) },
  region: place.region,
  signal_type: signal.type,
  units: units ?? signal.units,
  warnings: [],
});

/** Points of a horizon: the current period at least. */
const pointsOf = (signal: Signal, horizonHours: number) => Math.max(1, (horizonHours * HOUR) / signal.period);
const lastIssue = ({ signal, model }: Wanted, now: number) =>
  now >= model.until ? undefined : Math.floor(now / signal.generatedPeriod) * signal.generatedPeriod;

const points = (from: number, period: number, values: Float64Array) => {
  const parts: string[] = [];
  for (let i = 0; i < values.length; i++) {
    const value = values[i] ?? Number.NaN;
    if (!Number.isNaN(value)) parts.push(`{"point_time":"${writeTime(from + i * period)}","value":${value}}`);
  }
  return `[${parts.join(',')}]`;
};

interface Ready {
  readonly bytes: Buffer;
  readonly gzipped: Buffer;
}
const ready = new WeakMap<Service, { readonly issued: number; readonly made: Map<string, Ready> }>();

/** The answer's bytes, made once for each issue. */
function readyForecast(service: Service, wanted: Wanted, issued: number, count: number): Ready {
  let kept = ready.get(service);
  if (kept?.issued !== issued || kept.made.size >= MOST_READY) {
    kept = { issued, made: new Map() };
    ready.set(service, kept);
  }
  const { signal, place, model } = wanted;
  const key = `${signal.type} ${place.region} ${model.date} ${count}`;
  const found = kept.made.get(key);
  if (found !== undefined) return found;
  const values = new Float64Array(count);
  place.source().forecast(issued, model, values);
  const meta = metaOf(wanted, { generatedAt: issued, generatedPeriod: signal.generatedPeriod });
  const bytes = Buffer.from(`{"data":${points(issued, signal.period, values)},"meta":${JSON.stringify(meta)}}`);
  const made = { bytes, gzipped: gzipSync(bytes, { level: 6 }) };
  kept.made.set(key, made);
  return made;
}

/** `/v3/forecast`: the newest forecast; a discontinued model has none. */
export const forecast: AccountPath = (service, call, account) => {
  const ask = asking(call.query);
  const horizon = ask.whole('horizon_hours', 0, 72, 24);
  const wanted = wantedOf(ask, 'v3/forecast', { catalogue: service.catalogue, account, now: call.now });
  if (isRefusal(wanted)) return wanted;
  const { signal } = wanted;
  const issued = lastIssue(wanted, call.now);
  if (issued === undefined) {
    const last = Math.floor((wanted.model.until - 1) / signal.generatedPeriod) * signal.generatedPeriod;
    return ok({ data: [], meta: metaOf(wanted, { generatedAt: last, generatedPeriod: signal.generatedPeriod }) });
  }
  return { status: 200, body: { kind: 'ready', ...readyForecast(service, wanted, issued, pointsOf(signal, horizon)) } };
};

/** Reads an inclusive range no longer than `most`. */
function rangeOf(ask: Asking, most: number, words: string): { readonly start: number; readonly end: number } {
  const start = ask.time('start');
  const end = ask.time('end');
  if (end < start) ask.object('end', 'must not be before start');
  if (end - start > most) ask.object('end', `must be at most ${words} after start`);
  return { start, end };
}

/** Gathers parts into pieces worth sending, wrapped as the answer's envelope. */
function* enveloped(parts: Iterable<string>, meta: unknown): Generator<string> {
  let piece = '{"data":[';
  let separator = '';
  for (const part of parts) {
    piece += separator + part;
    separator = ',';
    if (piece.length < PIECE) continue;
    yield piece;
    piece = '';
  }
  yield `${piece}],"meta":${JSON.stringify(meta)}}`;
}

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
  const { start, end } = rangeOf(ask, MOST_PAST_FORECASTS, '24 hours');
  const horizon = ask.whole('horizon_hours', 0, 72, 24);
  const wanted = wantedOf(ask, 'v3/forecast/historical', { catalogue, account, now: call.now });
  if (isRefusal(wanted)) return wanted;
  const { signal, model } = wanted;
  const { since, until } = wanted.place.source();
  const range = { start: Math.max(start, since), end: Math.min(end, call.now, model.until - 1, until) };
  const parts = pastIssues(wanted, range, pointsOf(signal, horizon));
  const meta = metaOf(wanted, { generatedPeriod: signal.generatedPeriod });
  return { status: 200, body: { kind: 'pieces', pieces: enveloped(parts, meta) } };
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
  const range = rangeOf(ask, MOST_HISTORY, '32 days');
  const marker = ask.flag('include_imputed_marker');
  const updatedSince = ask.optionalTime('updated_since') ?? Number.NEGATIVE_INFINITY;
  const wanted = wantedOf(ask, 'v3/historical', { catalogue, account, now: call.now });
  if (isRefusal(wanted)) return wanted;
  const parts = settledPoints(wanted, { ...range, now: call.now, marker, updatedSince });
  return { status: 200, body: { kind: 'pieces', pieces: enveloped(parts, metaOf(wanted, { typed: true })) } };
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
  // Some clients omit the signal type.
  const scope = { catalogue, account, now: call.now, ...(extras ? { unsaid: 'co2_moer' as const } : {}) };
  const wanted = wantedOf(asking(call.query), 'v3/signal-index', scope);
  if (isRefusal(wanted)) return wanted;
  const { signal, place, model } = wanted;
  const issued = lastIssue(wanted, call.now);
  const meta = metaOf(wanted, { units: 'percentile', typed: true });
  if (issued === undefined) return ok({ data: [], meta });
  const values = new Float64Array(DAY / signal.period);
  place.source().forecast(issued, model, values);
  const value = midRank(values);
  return ok({ data: Number.isNaN(value) ? [] : [{ point_time: writeTime(issued), value }], meta });
};
