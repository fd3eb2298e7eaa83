/** The whole service interface as one object: joins requests, session, budgets and decoders; decides nothing itself. */

import { type Duration, seconds } from '../units.ts';
import type { Clock, Http, HttpRequest, Log, Random } from '../world.ts';
import type {
  Access,
  Authority,
  Envelope,
  Forecast,
  History,
  LiveIndex,
  Login,
  MapStream,
  PastForecasts,
  RegionAnswer,
  Registered,
  V1DataPoint,
  V1MarginalPoint,
  V1Page,
} from './answers.ts';
import { basic, createAsking, requestOf } from './asking.ts';
import { ok } from './decoding.ts';
import type { Outcome } from './failure.ts';
import type {
  AccessQuery,
  AuthorityQuery,
  Credentials,
  Following,
  ForecastQuery,
  HistoryQuery,
  PastForecastsQuery,
  PlaceQuery,
  Reading,
  Registration,
  SignalQuery,
  V1Query,
} from './queries.ts';
import { createRanges } from './ranges.ts';
import {
  accessCall,
  type Call,
  forecastCall,
  historyCall,
  indexCall,
  mapCall,
  pastForecastsCall,
  regionCall,
  registerCall,
  resetCall,
} from './requests.ts';
import { createSession } from './session.ts';
import { createSurfacing } from './surfacing.ts';
import { createTransport } from './transport.ts';
import { createV1 } from './v1.ts';

export interface ServiceOptions {
  /** Base address without a trailing slash. */
  readonly url: string;
  readonly http: Http;
  readonly clock: Clock;
  readonly random: Random;
  /** Read anew at each login, so that a changed file helps without a restart; undefined when there are none. */
  readonly credentials: () => Promise<Credentials | undefined>;
  /** How many devices share the account's budgets; 1 when absent. */
  readonly fleet?: number;
  /** How long any answer may take, in real time; 30 s, and 10 min for a map, when absent. */
  readonly deadline?: Duration;
  readonly log: Log;
}

export interface Counts {
  readonly requests: number;
  readonly logins: number;
  /** Bytes of bodies, after inflation. */
  readonly bytesIn: number;
}

export interface ServiceV1 {
  /** The account's lasting token (specification 4.5). */
  token(): Promise<Outcome<{ readonly token: string }>>;
  authorities(query: AuthorityQuery): Promise<Outcome<readonly Authority[]>>;
  datapoints(query: V1Query): Promise<Outcome<V1Page<V1DataPoint>>>;
  marginal(query: V1Query): Promise<Outcome<V1Page<V1MarginalPoint>>>;
  /** Page after page to the end, from `query.page`; failures that pass are waited out, any other ends it. */
  datapointPages(query: V1Query, following?: Following): AsyncIterable<Outcome<V1Page<V1DataPoint>>>;
  marginalPages(query: V1Query, following?: Following): AsyncIterable<Outcome<V1Page<V1MarginalPoint>>>;
}

/** Every call resolves; nothing rejects but a broken law. A single GET that fails is not repeated: `afterFailure` says when to. */
export interface Service {
  register(account: Registration): Promise<Outcome<Registered>>;
  /** A new login now, whatever token is held. */
  login(): Promise<Outcome<Login>>;
  resetPassword(account: { readonly username: string }): Promise<Outcome<{ readonly ok: string }>>;
  myAccess(query: AccessQuery): Promise<Outcome<Access>>;
  regionFromLoc(query: PlaceQuery): Promise<Outcome<RegionAnswer>>;
  map(query: { readonly signalType: string }): Promise<Outcome<MapStream>>;
  forecast(query: ForecastQuery): Promise<Outcome<Forecast>>;
  /** One request: `end` at most 24 h after `start`. */
  pastForecasts(query: PastForecastsQuery): Promise<Outcome<PastForecasts>>;
  /** One request: `end` at most 32 d after `start`. */
  history(query: HistoryQuery): Promise<Outcome<History>>;
  signalIndex(query: SignalQuery): Promise<Outcome<LiveIndex>>;
  /** Any length, piece by piece in order, no point twice; asked for only as it is read; ends after the first failure. */
  historyRange(query: HistoryQuery, reading?: Reading): AsyncIterable<Outcome<History>>;
  pastForecastsRange(query: PastForecastsQuery, reading?: Reading): AsyncIterable<Outcome<PastForecasts>>;
  readonly v1: ServiceV1;
  counts(): Counts;
  /** The service's clock minus our wall clock, from the latest answers; undefined before the first. */
  skew(): Duration | undefined;
  /** Ends what is under way with `stopped`; later calls give the same. May be called twice. */
  stop(): void;
}

const LOGIN = { method: 'GET', path: '/login', query: {}, deadline: seconds(30), maxBytes: 65_536 } as const;

const loginRequest = (base: string, credentials: Credentials): HttpRequest =>
  requestOf(base, LOGIN, basic(credentials));

export function createService(options: ServiceOptions): Service {
  const { url, http, clock, random, credentials, fleet = 1, log } = options;
  const base = url.replace(/\/+$/, '');
  const stopping = new AbortController();
  const { signal: stopped } = stopping;
  const transport = createTransport({ http, clock, random, log, fleet, stopped, deadline: options.deadline });
  const session = createSession({
    clock,
    log,
    credentials,
    blocked: () => transport.blocked('login'),
    send: (pair) => transport.send({ lane: 'login', name: LOGIN.path, request: loginRequest(base, pair) }),
  });
  const asking = createAsking(transport, { base, lane: 'data', scheme: 'Bearer', tokens: session });
  const surface = createSurfacing(log, clock);

  /** A checked call asked with the token, its warnings said. */
  async function envelope<Value extends Envelope>(call: Outcome<Call<Value>>): Promise<Outcome<Value>> {
    if (!call.ok) return call;
    const outcome = await asking.data(call.value);
    if (outcome.ok) surface(outcome.value);
    return outcome;
  }
  const history = (query: HistoryQuery) => envelope(historyCall(query));
  const pastForecasts = (query: PastForecastsQuery) => envelope(pastForecastsCall(query));

  const ranges = createRanges({ clock, random, stopped, history, pastForecasts });

  return {
    async register(account) {
      const call = registerCall(account);
      return call.ok ? asking.plain(call.value) : call;
    },
    login: session.login,
    resetPassword: ({ username }) => asking.plain(resetCall(username)),
    myAccess: (query) => asking.data(accessCall(query)),
    regionFromLoc: (query) => asking.data(regionCall(query)),
    async map({ signalType }) {
      const stream = await asking.stream(mapCall(signalType));
      if (!stream.ok) return stream;
      const { chunks, headers } = stream.value;
      const length = headers['content-encoding'] === undefined ? Number(headers['content-length']) : Number.NaN;
      return ok({ chunks, ...(Number.isSafeInteger(length) ? { contentLength: length } : {}) });
    },
    forecast: (query) => envelope(forecastCall(query)),
    pastForecasts,
    history,
    signalIndex: (query) => envelope(ok(indexCall(query))),
    historyRange: ranges.history,
    pastForecastsRange: ranges.pastForecasts,
    v1: createV1({ base, transport, credentials, clock, random, stopped }),
    counts: transport.counts,
    skew: transport.skew,
    stop: () => stopping.abort(),
  };
}
