/** The whole service interface as one object: joins requests, session, budgets and decoders; decides nothing itself. */

import type { Duration } from '../units.ts';
import type { Clock, Http, Log, Random } from '../world.ts';
import type {
  Access,
  Authority,
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
import type { Outcome } from './failure.ts';
import type {
  AccessQuery,
  AuthorityQuery,
  Credentials,
  ForecastQuery,
  HistoryQuery,
  PastForecastsQuery,
  PlaceQuery,
  Reading,
  Registration,
  SignalQuery,
  V1Query,
} from './queries.ts';

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
  /** Page after page to the end, from `query.page`; ends after the first failure. */
  datapointPages(query: V1Query): AsyncIterable<Outcome<V1Page<V1DataPoint>>>;
  marginalPages(query: V1Query): AsyncIterable<Outcome<V1Page<V1MarginalPoint>>>;
}

/** Every call resolves; nothing rejects but a broken law. A GET that fails is not repeated here: `afterFailure` says when to. */
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
