/** Writes the request of each v3 endpoint and checks what the specification limits before anything is sent; sends nothing. */

import { between, type Duration, days, hours, iso, seconds } from '../units.ts';
import { decodeAccess, decodeRegion, decodeRegistered, decodeReset } from './account-answers.ts';
import type { Access, Forecast, History, LiveIndex, PastForecasts, RegionAnswer, Registered } from './answers.ts';
import { failed, ok } from './decoding.ts';
import { decodeForecast, decodeHistory, decodeIndex, decodePastForecasts } from './envelopes.ts';
import type { Outcome } from './failure.ts';
import { registrationFault } from './password-rule.ts';
import type {
  AccessQuery,
  ForecastQuery,
  HistoryQuery,
  PastForecastsQuery,
  PlaceQuery,
  Range,
  Registration,
  SignalQuery,
} from './queries.ts';

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** A request without its address and its token, with the reader of its answer. */
export interface Call<Value> {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly query: Query;
  readonly body?: string;
  readonly deadline: Duration;
  readonly maxBytes: number;
  readonly decode: (body: unknown) => Outcome<Value>;
}

const DEADLINE = seconds(30);
const KB = 1_024;
const MB = 1_024 * KB;

/** Specification 8. */
export const MOST_HISTORY = days(32);
export const MOST_PAST_FORECASTS = hours(24);
const MOST_HORIZON_HOURS = 72;

const get = <Value>(
  path: string,
  query: Query,
  { maxBytes, decode }: Pick<Call<Value>, 'maxBytes' | 'decode'>,
): Call<Value> => ({ method: 'GET', path, query, deadline: DEADLINE, maxBytes, decode });

const invalid = (field: string, message: string) => failed({ kind: 'invalid', field, message });

const named = ({ region, signalType }: SignalQuery) => ({ region, signal_type: signalType });

function horizonFault({ horizonHours }: ForecastQuery) {
  if (horizonHours === undefined) return undefined;
  if (Number.isInteger(horizonHours) && horizonHours >= 0 && horizonHours <= MOST_HORIZON_HOURS) return undefined;
  return invalid('horizon_hours', `${horizonHours} is not a whole number of 0 to ${MOST_HORIZON_HOURS}`);
}

/** The order of the ends, whatever the length. */
export function orderFault({ start, end }: Range) {
  return start <= end ? undefined : invalid('start', `${iso(start)} is later than end ${iso(end)}`);
}

function rangeFault(range: Range, most: Duration, words: string) {
  const order = orderFault(range);
  if (order !== undefined) return order;
  return between(range.start, range.end) <= most ? undefined : invalid('end', `is more than ${words} after start`);
}

export function registerCall(account: Registration): Outcome<Call<Registered>> {
  const fault = registrationFault(account);
  if (fault !== undefined) return failed(fault);
  const { username, password, email, org } = account;
  return ok({
    method: 'POST',
    path: '/register',
    query: {},
    body: JSON.stringify({ username, password, email, ...(org === undefined ? {} : { org }) }),
    deadline: DEADLINE,
    maxBytes: 64 * KB,
    decode: decodeRegistered,
  });
}

export const resetCall = (username: string): Call<{ readonly ok: string }> =>
  get('/password', { username }, { maxBytes: 64 * KB, decode: decodeReset });

export const accessCall = ({ region, signalType }: AccessQuery): Call<Access> =>
  get('/v3/my-access', { region, signal_type: signalType }, { maxBytes: 8 * MB, decode: decodeAccess });

export const regionCall = (query: PlaceQuery): Call<RegionAnswer> =>
  get(
    '/v3/region-from-loc',
    { signal_type: query.signalType, latitude: query.place.latitude, longitude: query.place.longitude },
    { maxBytes: 64 * KB, decode: (body) => decodeRegion(body, query) },
  );

/** Its body is handed over as it comes; see `MapStream`. */
export const mapCall = (signalType: string): Call<never> => ({
  ...get('/v3/maps', { signal_type: signalType }, { maxBytes: 128 * MB, decode: () => invalid('body', 'is a stream') }),
  // Tens of megabytes over a slow link.
  deadline: seconds(600),
});

export function forecastCall(query: ForecastQuery): Outcome<Call<Forecast>> {
  const fault = horizonFault(query);
  if (fault !== undefined) return fault;
  const { model, horizonHours } = query;
  return ok(
    get(
      '/v3/forecast',
      { ...named(query), model, horizon_hours: horizonHours },
      { maxBytes: 2 * MB, decode: (body) => decodeForecast(body, query) },
    ),
  );
}

export function pastForecastsCall(query: PastForecastsQuery): Outcome<Call<PastForecasts>> {
  const fault = horizonFault(query) ?? rangeFault(query, MOST_PAST_FORECASTS, '24 h');
  if (fault !== undefined) return fault;
  const { start, end, model, horizonHours } = query;
  return ok(
    get(
      '/v3/forecast/historical',
      { start: iso(start), end: iso(end), ...named(query), model, horizon_hours: horizonHours },
      { maxBytes: 32 * MB, decode: (body) => decodePastForecasts(body, query) },
    ),
  );
}

export function historyCall(query: HistoryQuery): Outcome<Call<History>> {
  const fault = rangeFault(query, MOST_HISTORY, '32 days');
  if (fault !== undefined) return fault;
  const { start, end, model, includeImputedMarker, updatedSince } = query;
  return ok(
    get(
      '/v3/historical',
      {
        start: iso(start),
        end: iso(end),
        ...named(query),
        model,
        include_imputed_marker: includeImputedMarker,
        updated_since: updatedSince === undefined ? undefined : iso(updatedSince),
      },
      { maxBytes: 8 * MB, decode: (body) => decodeHistory(body, query) },
    ),
  );
}

export const indexCall = (query: SignalQuery): Call<LiveIndex> =>
  get('/v3/signal-index', named(query), { maxBytes: 64 * KB, decode: (body) => decodeIndex(body, query) });

/** The address of a call below `base`, which ends without a slash. */
export function addressOf(base: string, { path, query }: Pick<Call<unknown>, 'path' | 'query'>): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as [string, string]],
  );
  const search = new URLSearchParams(pairs).toString();
  return `${base}${path}${search === '' ? '' : `?${search}`}`;
}
