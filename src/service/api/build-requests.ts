/** Builds the request of each v3 endpoint and checks the limits of the specification before sending. */

import { type Duration, days, durationBetween, formatInstant, hours, seconds } from '../../domain/units.ts';
import { checkRegistration } from '../auth/password-rule.ts';
import type { Outcome } from '../failure.ts';
import { decodeAccess, decodePasswordReset, decodeRegion, decodeRegistration } from './decode-account.ts';
import { failed, ok } from './decode-body.ts';
import { decodeForecast, decodeHistory, decodeIndex, decodePastForecasts } from './decode-data.ts';
import type {
  AccessQuery,
  ForecastQuery,
  HistoryQuery,
  PastForecastsQuery,
  PlaceQuery,
  Registration,
  SignalQuery,
  TimeRange,
} from './query-types.ts';
import type {
  Access,
  Forecast,
  History,
  LiveIndex,
  PastForecasts,
  RegionResponse,
  RegistrationResponse,
} from './response-types.ts';

type QueryParameters = Readonly<Record<string, string | number | boolean | undefined>>;

/** A request without its address and its token, with the reader of its answer. */
export interface ApiCall<Value> {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly query: QueryParameters;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly deadline: Duration;
  /** See `HttpRequest`. */
  readonly silence?: Duration;
  readonly maxBytes: number;
  readonly decode: (body: unknown) => Outcome<Value>;
}

const DEFAULT_DEADLINE = seconds(30);
const KB = 1_024;
const MB = 1_024 * KB;

/** Specification 8. */
export const MAX_HISTORY_SPAN = days(32);
export const MAX_PAST_FORECASTS_SPAN = hours(24);
const MAX_HORIZON_HOURS = 72;

const buildGetCall = <Value>(
  path: string,
  query: QueryParameters,
  { maxBytes, decode }: Pick<ApiCall<Value>, 'maxBytes' | 'decode'>,
): ApiCall<Value> => ({ method: 'GET', path, query, deadline: DEFAULT_DEADLINE, maxBytes, decode });

const failInvalid = (field: string, message: string) => failed({ kind: 'invalid', field, message });

const toRegionParameters = ({ region, signalType }: SignalQuery) => ({ region, signal_type: signalType });

function checkHorizon({ horizonHours }: ForecastQuery) {
  if (horizonHours === undefined) return undefined;
  if (Number.isInteger(horizonHours) && horizonHours >= 0 && horizonHours <= MAX_HORIZON_HOURS) return undefined;
  return failInvalid('horizon_hours', `${horizonHours} is not a whole number of 0 to ${MAX_HORIZON_HOURS}`);
}

/** The order of the ends, whatever the length. */
export function checkOrder({ start, end }: TimeRange) {
  return start <= end
    ? undefined
    : failInvalid('start', `${formatInstant(start)} is later than end ${formatInstant(end)}`);
}

function checkSpan(range: TimeRange, most: Duration, limitText: string) {
  const order = checkOrder(range);
  if (order !== undefined) return order;
  return durationBetween(range.start, range.end) <= most
    ? undefined
    : failInvalid('end', `is more than ${limitText} after start`);
}

export function buildRegisterCall(account: Registration): Outcome<ApiCall<RegistrationResponse>> {
  const fault = checkRegistration(account);
  if (fault !== undefined) return failed(fault);
  const { username, password, email, org } = account;
  return ok({
    method: 'POST',
    path: '/register',
    query: {},
    body: JSON.stringify({ username, password, email, ...(org === undefined ? {} : { org }) }),
    deadline: DEFAULT_DEADLINE,
    maxBytes: 64 * KB,
    decode: decodeRegistration,
  });
}

export const buildPasswordResetCall = (username: string): ApiCall<{ readonly ok: string }> =>
  buildGetCall('/password', { username }, { maxBytes: 64 * KB, decode: decodePasswordReset });

export const buildAccessCall = ({ region, signalType }: AccessQuery): ApiCall<Access> =>
  buildGetCall('/v3/my-access', { region, signal_type: signalType }, { maxBytes: 8 * MB, decode: decodeAccess });

export const buildRegionCall = (query: PlaceQuery): ApiCall<RegionResponse> =>
  buildGetCall(
    '/v3/region-from-loc',
    { signal_type: query.signalType, latitude: query.place.latitude, longitude: query.place.longitude },
    { maxBytes: 64 * KB, decode: (body) => decodeRegion(body, query) },
  );

/** Its body is handed over as it comes; see `MapStream`. */
export const buildMapCall = (signalType: string, knownTag: string | undefined): ApiCall<never> => ({
  ...buildGetCall(
    '/v3/maps',
    { signal_type: signalType },
    { maxBytes: 128 * MB, decode: () => failInvalid('body', 'is a stream') },
  ),
  ...(knownTag === undefined ? {} : { headers: { 'if-none-match': knownTag } }),
  // Tens of megabytes over a slow link; one that has gone silent must not cost the first ten minutes of an agent.
  deadline: seconds(600),
  silence: seconds(45),
});

export function buildForecastCall(query: ForecastQuery): Outcome<ApiCall<Forecast>> {
  const fault = checkHorizon(query);
  if (fault !== undefined) return fault;
  const { model, horizonHours } = query;
  return ok(
    buildGetCall(
      '/v3/forecast',
      { ...toRegionParameters(query), model, horizon_hours: horizonHours },
      { maxBytes: 2 * MB, decode: (body) => decodeForecast(body, query) },
    ),
  );
}

export function buildPastForecastsCall(query: PastForecastsQuery): Outcome<ApiCall<PastForecasts>> {
  const fault = checkHorizon(query) ?? checkSpan(query, MAX_PAST_FORECASTS_SPAN, '24 h');
  if (fault !== undefined) return fault;
  const { start, end, model, horizonHours } = query;
  return ok(
    buildGetCall(
      '/v3/forecast/historical',
      {
        start: formatInstant(start),
        end: formatInstant(end),
        ...toRegionParameters(query),
        model,
        horizon_hours: horizonHours,
      },
      { maxBytes: 32 * MB, decode: (body) => decodePastForecasts(body, query) },
    ),
  );
}

export function buildHistoryCall(query: HistoryQuery): Outcome<ApiCall<History>> {
  const fault = checkSpan(query, MAX_HISTORY_SPAN, '32 days');
  if (fault !== undefined) return fault;
  const { start, end, model, includeImputedMarker, updatedSince } = query;
  return ok(
    buildGetCall(
      '/v3/historical',
      {
        start: formatInstant(start),
        end: formatInstant(end),
        ...toRegionParameters(query),
        model,
        include_imputed_marker: includeImputedMarker,
        updated_since: updatedSince === undefined ? undefined : formatInstant(updatedSince),
      },
      { maxBytes: 8 * MB, decode: (body) => decodeHistory(body, query) },
    ),
  );
}

export const buildIndexCall = (query: SignalQuery): ApiCall<LiveIndex> =>
  buildGetCall('/v3/signal-index', toRegionParameters(query), {
    maxBytes: 64 * KB,
    decode: (body) => decodeIndex(body, query),
  });

/** The address of a call below `base`, which ends without a slash. */
export function buildUrl(baseUrl: string, { path, query }: Pick<ApiCall<unknown>, 'path' | 'query'>): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as [string, string]],
  );
  const search = new URLSearchParams(pairs).toString();
  return `${baseUrl}${path}${search === '' ? '' : `?${search}`}`;
}
