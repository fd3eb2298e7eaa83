/** The client of the earlier interface (specification 4.5): its lasting token and its pages, with credentials or without. */

import type { Clock, Random } from '../../domain/ports.ts';
import { formatCount, formatInstant, seconds } from '../../domain/units.ts';
import { buildHttpRequest, createAuthorizedCalls, type TokenSource } from '../auth/authorized-calls.ts';
import type { Outcome } from '../failure.ts';
import { createRetry } from '../limits/retry.ts';
import { anySignal } from '../transport/combined-abort.ts';
import type { Transport } from '../transport/transport.ts';
import type { ApiCall } from './build-requests.ts';
import { decodeToken } from './decode-account.ts';
import { failed, invalidResponse, ok } from './decode-body.ts';
import { decodeAuthorities, decodeDataPage, decodeMarginalPage } from './decode-v1.ts';
import type { AuthorityQuery, Credentials, PageReadOptions, V1Query } from './query-types.ts';
import type { Authority, V1DataPoint, V1MarginalPoint, V1Page } from './response-types.ts';

export interface V1Client {
  /** The account's lasting token (specification 4.5). */
  token(): Promise<Outcome<{ readonly token: string }>>;
  authorities(query: AuthorityQuery): Promise<Outcome<readonly Authority[]>>;
  datapoints(query: V1Query): Promise<Outcome<V1Page<V1DataPoint>>>;
  marginal(query: V1Query): Promise<Outcome<V1Page<V1MarginalPoint>>>;
  /** Page after page to the end, from `query.page`; failures that pass are waited out, any other ends it. */
  datapointPages(query: V1Query, following?: PageReadOptions): AsyncIterable<Outcome<V1Page<V1DataPoint>>>;
  marginalPages(query: V1Query, following?: PageReadOptions): AsyncIterable<Outcome<V1Page<V1MarginalPoint>>>;
}

const CALL_LIMITS = { deadline: seconds(30), maxBytes: 8 * 1_024 * 1_024 };
const buildTokenCall = ({ username, password }: Credentials): ApiCall<{ readonly token: string }> => ({
  method: 'POST',
  path: '/api/v1/obtain-token-auth/',
  query: {},
  body: JSON.stringify({ username, password }),
  ...CALL_LIMITS,
  decode: decodeToken,
});

/** Longitude comes first in GeoJSON. */
const buildLoc = ({ loc, place }: AuthorityQuery) =>
  loc ?? (place && JSON.stringify({ type: 'Point', coordinates: [place.longitude, place.latitude] }));

const buildAuthoritiesCall = (query: AuthorityQuery) => ({
  method: 'GET' as const,
  path: '/api/v1/balancing_authorities/',
  query: { loc: buildLoc(query) },
  ...CALL_LIMITS,
  decode: decodeAuthorities,
});

function buildPageCall<P>(
  path: string,
  { ba, startAt, endAt, market, pageSize, page }: V1Query,
  decode: (body: unknown) => Outcome<V1Page<P>>,
): ApiCall<V1Page<P>> {
  const formatOptional = (at: typeof startAt) => (at === undefined ? undefined : formatInstant(at));
  return {
    method: 'GET',
    path,
    query: { ba, start_at: formatOptional(startAt), end_at: formatOptional(endAt), market, page_size: pageSize, page },
    ...CALL_LIMITS,
    decode,
  };
}

/** A v1 token does not expire; it is requested once, and again only after a refusal. */
function createV1TokenSource(obtain: () => Promise<Outcome<{ readonly token: string }>>): TokenSource {
  let pending: ReturnType<typeof obtain> | undefined;
  const obtainOnce = async () => {
    pending ??= obtain();
    const shared = pending;
    const outcome = await shared;
    if (!outcome.ok && pending === shared) pending = undefined;
    return outcome.ok ? ok(outcome.value.token) : outcome;
  };
  return {
    obtainToken: obtainOnce,
    replaceToken: async (token) => {
      const latest = await pending;
      if (latest?.ok && latest.value.token === token) pending = undefined;
      return obtainOnce();
    },
    confirmToken() {},
  };
}

export interface V1ClientOptions {
  readonly base: string;
  readonly transport: Transport;
  readonly credentials: () => Promise<Credentials | undefined>;
  readonly clock: Clock;
  readonly random: Random;
  /** Ends the following of pages when the service is stopped. */
  readonly stopSignal: AbortSignal;
}

export function createV1Client({ base, transport, credentials, clock, random, stopSignal }: V1ClientOptions): V1Client {
  async function obtain(): Promise<Outcome<{ readonly token: string }>> {
    const pair = await credentials();
    if (pair === undefined) return failed({ kind: 'no-credentials' });
    const { path, decode, ...call } = buildTokenCall(pair);
    const request = buildHttpRequest(base, { path, ...call });
    const verdict = await transport.send({ rateLimitGroup: 'login', name: path, request });
    if (verdict.kind === 'token-refused') return failed({ kind: 'unauthorised', cause: verdict.cause });
    return verdict.kind === 'failed' ? failed(verdict.failure) : decode(verdict.body);
  }
  const tokens = createV1TokenSource(obtain);
  const calls = createAuthorizedCalls(transport, { base, rateLimitGroup: 'v1', scheme: 'Token', tokens });
  const ask = async <Value>(call: ApiCall<Value>) =>
    (await credentials()) === undefined ? calls.callPublic(call) : calls.callAuthorized(call);

  const datapoints = (query: V1Query) => ask(buildPageCall('/api/v1/datapoints/', query, decodeDataPage));
  const marginal = (query: V1Query) => ask(buildPageCall('/api/v1/marginal/', query, decodeMarginalPage));

  /** Pages are counted here: a `next` link is never followed, so that the token goes nowhere else. */
  async function* readPages<P>(
    query: V1Query,
    ask: (query: V1Query) => Promise<Outcome<V1Page<P>>>,
    { onWait = () => {}, signal }: PageReadOptions = {},
  ) {
    const combined = anySignal(stopSignal, signal);
    const retry = createRetry({ clock, random, signal: combined.signal, onWait });
    const first = query.page ?? 1;
    try {
      for (let page = first; ; page++) {
        const outcome = await retry(() => ask({ ...query, page }));
        // The list may have become shorter since the page before.
        const isBeyond = !outcome.ok && outcome.failure.kind === 'rejected' && outcome.failure.status === 404;
        if (isBeyond && page > first) return;
        yield outcome;
        if (!outcome.ok || outcome.value.isLast) return;
        const { count } = outcome.value;
        if (page > count) {
          // Each page but the last has at least one point: a service that continues further repeats itself.
          yield invalidResponse(
            'next',
            `the end, after ${formatCount(count, 'point')}`,
            `another page after page ${page}`,
          );
          return;
        }
      }
    } finally {
      combined.end();
    }
  }

  return {
    token: obtain,
    authorities: (query) => ask(buildAuthoritiesCall(query)),
    datapoints,
    marginal,
    datapointPages: (query, following) => readPages(query, datapoints, following),
    marginalPages: (query, following) => readPages(query, marginal, following),
  };
}
