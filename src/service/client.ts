/** The whole service interface as one object: joins requests, session, rate limits and decoders. */

import type { Clock, Http, HttpRequest, HttpStream, Log, Random } from '../domain/ports.ts';
import { type Duration, seconds } from '../domain/units.ts';
import {
  type ApiCall,
  buildAccessCall,
  buildForecastCall,
  buildHistoryCall,
  buildIndexCall,
  buildMapCall,
  buildPasswordResetCall,
  buildPastForecastsCall,
  buildRegionCall,
  buildRegisterCall,
} from './api/build-requests.ts';
import { ok } from './api/decode-body.ts';
import type {
  AccessQuery,
  Credentials,
  ForecastQuery,
  HistoryQuery,
  MapQuery,
  PastForecastsQuery,
  PlaceQuery,
  RangeReadOptions,
  Registration,
  SignalQuery,
} from './api/query-types.ts';
import type {
  Access,
  Envelope,
  Forecast,
  History,
  LiveIndex,
  Login,
  MapStream,
  PastForecasts,
  RegionResponse,
  RegistrationResponse,
  UnchangedMap,
} from './api/response-types.ts';
import { createV1Client, type V1Client } from './api/v1-client.ts';
import { buildHttpRequest, createAuthorizedCalls, formatBasicAuthorization } from './auth/authorized-calls.ts';
import { createSession } from './auth/session.ts';
import type { Outcome } from './failure.ts';
import { createRangeEndpoints } from './ranges/range-endpoints.ts';
import { createTransport } from './transport/transport.ts';
import { createWarningLog } from './warning-log.ts';

export interface ServiceClientOptions {
  /** Base address without a trailing slash. */
  readonly url: string;
  readonly http: Http;
  readonly clock: Clock;
  readonly random: Random;
  /** Read anew at each login, so that a changed file helps without a restart; undefined when there are none. */
  readonly credentials: () => Promise<Credentials | undefined>;
  /** How many agents share the account's rate limits; 1 when absent. */
  readonly fleet?: number;
  /** The deadline of any answer, in real time; 30 s, and 10 min for a map, when absent. */
  readonly deadline?: Duration;
  readonly log: Log;
}

export interface RequestCounts {
  readonly requests: number;
  readonly logins: number;
  /** Bytes of bodies, after inflation. */
  readonly bytesIn: number;
}

/** Every call resolves; a promise rejects only on a defect of this program. A single GET that fails is not repeated: that is for the caller to decide. */
export interface ServiceClient {
  register(account: Registration): Promise<Outcome<RegistrationResponse>>;
  /** A new login now, although the present token may still be valid. */
  login(): Promise<Outcome<Login>>;
  resetPassword(account: { readonly username: string }): Promise<Outcome<{ readonly ok: string }>>;
  myAccess(query: AccessQuery): Promise<Outcome<Access>>;
  regionFromLoc(query: PlaceQuery): Promise<Outcome<RegionResponse>>;
  /** `UnchangedMap` only when the map is still that of `knownVersion`. */
  map(query: MapQuery): Promise<Outcome<MapStream | UnchangedMap>>;
  forecast(query: ForecastQuery): Promise<Outcome<Forecast>>;
  /** One request: `end` at most 24 h after `start`. */
  pastForecasts(query: PastForecastsQuery): Promise<Outcome<PastForecasts>>;
  /** One request: `end` at most 32 d after `start`. */
  history(query: HistoryQuery): Promise<Outcome<History>>;
  signalIndex(query: SignalQuery): Promise<Outcome<LiveIndex>>;
  /** Any length, chunk by chunk in order, no point twice; each chunk is requested when it is read; ends after the first failure. */
  historyRange(query: HistoryQuery, reading?: RangeReadOptions): AsyncIterable<Outcome<History>>;
  pastForecastsRange(query: PastForecastsQuery, reading?: RangeReadOptions): AsyncIterable<Outcome<PastForecasts>>;
  readonly v1: V1Client;
  counts(): RequestCounts;
  /** The service's clock minus our wall clock, from the latest answers; undefined before the first. */
  skew(): Duration | undefined;
  /** Ends what is under way with `stopped`; later calls give the same. May be called twice. */
  stop(): void;
}

const LOGIN_CALL = { method: 'GET', path: '/login', query: {}, deadline: seconds(30), maxBytes: 65_536 } as const;

const buildLoginRequest = (base: string, credentials: Credentials): HttpRequest =>
  buildHttpRequest(base, LOGIN_CALL, formatBasicAuthorization(credentials));

/** A tag of one service means nothing at another. */
const formatMapVersion = (tag: string, baseUrl: string) => `${tag} ${baseUrl}`;
function parseMapVersion(version: string | undefined, baseUrl: string): string | undefined {
  const end = ` ${baseUrl}`;
  return version?.endsWith(end) ? version.slice(0, -end.length) : undefined;
}

/** The length counts the bytes to come only where nothing inflates them on the way. */
function toMapResponse(stream: Outcome<HttpStream>, baseUrl: string): Outcome<MapStream | UnchangedMap> {
  if (!stream.ok) return stream;
  const { status, headers, chunks } = stream.value;
  if (status === 304) return ok({ unchanged: true });
  const { etag } = headers;
  const length = headers['content-encoding'] === undefined ? Number(headers['content-length']) : Number.NaN;
  return ok({
    chunks,
    ...(Number.isSafeInteger(length) ? { contentLength: length } : {}),
    ...(etag === undefined ? {} : { version: formatMapVersion(etag, baseUrl) }),
  });
}

export function createServiceClient(options: ServiceClientOptions): ServiceClient {
  const { url, http, clock, random, credentials, fleet = 1, log } = options;
  const base = url.replace(/\/+$/, '');
  const stopping = new AbortController();
  const { signal: stopSignal } = stopping;
  const transport = createTransport({ http, clock, random, log, fleet, stopSignal, deadline: options.deadline });
  const tokens = createSession({
    clock,
    log,
    credentials,
    checkBlocked: () => transport.checkBlocked('login'),
    send: (pair) =>
      transport.send({ rateLimitGroup: 'login', name: LOGIN_CALL.path, request: buildLoginRequest(base, pair) }),
  });
  const calls = createAuthorizedCalls(transport, { base, rateLimitGroup: 'data', scheme: 'Bearer', tokens });
  const logWarnings = createWarningLog(log, clock);

  /** Sends a checked call with the token and logs the warnings of its answer. */
  async function fetchEnvelope<Value extends Envelope>(call: Outcome<ApiCall<Value>>): Promise<Outcome<Value>> {
    if (!call.ok) return call;
    const outcome = await calls.callAuthorized(call.value);
    if (outcome.ok) logWarnings(outcome.value);
    return outcome;
  }
  const history = (query: HistoryQuery) => fetchEnvelope(buildHistoryCall(query));
  const pastForecasts = (query: PastForecastsQuery) => fetchEnvelope(buildPastForecastsCall(query));

  const ranges = createRangeEndpoints({ clock, random, stopSignal, history, pastForecasts });

  return {
    async register(account) {
      const call = buildRegisterCall(account);
      return call.ok ? calls.callPublic(call.value) : call;
    },
    login: tokens.login,
    resetPassword: ({ username }) => calls.callPublic(buildPasswordResetCall(username)),
    myAccess: (query) => calls.callAuthorized(buildAccessCall(query)),
    regionFromLoc: (query) => calls.callAuthorized(buildRegionCall(query)),
    map: async ({ signalType, knownVersion }) =>
      toMapResponse(await calls.openStream(buildMapCall(signalType, parseMapVersion(knownVersion, base))), base),
    forecast: (query) => fetchEnvelope(buildForecastCall(query)),
    pastForecasts,
    history,
    signalIndex: (query) => fetchEnvelope(ok(buildIndexCall(query))),
    historyRange: ranges.history,
    pastForecastsRange: ranges.pastForecasts,
    v1: createV1Client({ base, transport, credentials, clock, random, stopSignal }),
    counts: transport.counts,
    skew: transport.skew,
    stop: () => stopping.abort(),
  };
}
