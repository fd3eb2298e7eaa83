/** The earlier interface of specification 4.5: its lasting token and its pages; as the account with credentials, as a visitor without. */

import { counted, iso, seconds } from '../units.ts';
import type { Clock, Random } from '../world.ts';
import { decodeToken } from './account-answers.ts';
import type { V1Page } from './answers.ts';
import { createAsking, requestOf, type Tokens } from './asking.ts';
import { failed, nonsense, ok } from './decoding.ts';
import { endedBy } from './ending.ts';
import type { Outcome } from './failure.ts';
import type { AuthorityQuery, Credentials, Following, V1Query } from './queries.ts';
import type { Call } from './requests.ts';
import { createRetry } from './retries.ts';
import type { ServiceV1 } from './service.ts';
import type { Transport } from './transport.ts';
import { decodeAuthorities, decodeDataPage, decodeMarginalPage } from './v1-answers.ts';

const LIMITS = { deadline: seconds(30), maxBytes: 8 * 1_024 * 1_024 };
const tokenCall = ({ username, password }: Credentials): Call<{ readonly token: string }> => ({
  method: 'POST',
  path: '/api/v1/obtain-token-auth/',
  query: {},
  body: JSON.stringify({ username, password }),
  ...LIMITS,
  decode: decodeToken,
});

/** Longitude comes first in GeoJSON. */
const locOf = ({ loc, place }: AuthorityQuery) =>
  loc ?? (place && JSON.stringify({ type: 'Point', coordinates: [place.longitude, place.latitude] }));

const authoritiesCall = (query: AuthorityQuery) => ({
  method: 'GET' as const,
  path: '/api/v1/balancing_authorities/',
  query: { loc: locOf(query) },
  ...LIMITS,
  decode: decodeAuthorities,
});

function pageCall<P>(
  path: string,
  { ba, startAt, endAt, market, pageSize, page }: V1Query,
  decode: (body: unknown) => Outcome<V1Page<P>>,
): Call<V1Page<P>> {
  const time = (at: typeof startAt) => (at === undefined ? undefined : iso(at));
  return {
    method: 'GET',
    path,
    query: { ba, start_at: time(startAt), end_at: time(endAt), market, page_size: pageSize, page },
    ...LIMITS,
    decode,
  };
}

/** A v1 token does not expire; it is asked for once and again only when it is refused. */
function createV1Tokens(obtain: () => Promise<Outcome<{ readonly token: string }>>): Tokens {
  let underWay: ReturnType<typeof obtain> | undefined;
  const renewed = async () => {
    underWay ??= obtain();
    const shared = underWay;
    const outcome = await shared;
    if (!outcome.ok && underWay === shared) underWay = undefined;
    return outcome.ok ? ok(outcome.value.token) : outcome;
  };
  return {
    token: renewed,
    another: async (token) => {
      const held = await underWay;
      if (held?.ok && held.value.token === token) underWay = undefined;
      return renewed();
    },
    worked() {},
  };
}

export interface V1Options {
  readonly base: string;
  readonly transport: Transport;
  readonly credentials: () => Promise<Credentials | undefined>;
  readonly clock: Clock;
  readonly random: Random;
  /** Ends the following of pages when the service is stopped. */
  readonly stopped: AbortSignal;
}

export function createV1({ base, transport, credentials, clock, random, stopped }: V1Options): ServiceV1 {
  async function obtain(): Promise<Outcome<{ readonly token: string }>> {
    const pair = await credentials();
    if (pair === undefined) return failed({ kind: 'no-credentials' });
    const call = tokenCall(pair);
    const verdict = await transport.send({ lane: 'login', name: call.path, request: requestOf(base, call) });
    if (verdict.kind === 'token-refused') return failed({ kind: 'unauthorised', cause: verdict.cause });
    return verdict.kind === 'failed' ? failed(verdict.failure) : call.decode(verdict.body);
  }
  const tokens = createV1Tokens(obtain);
  const asking = createAsking(transport, { base, lane: 'v1', scheme: 'Token', tokens });
  const ask = async <Value>(call: Call<Value>) =>
    (await credentials()) === undefined ? asking.plain(call) : asking.data(call);

  const datapoints = (query: V1Query) => ask(pageCall('/api/v1/datapoints/', query, decodeDataPage));
  const marginal = (query: V1Query) => ask(pageCall('/api/v1/marginal/', query, decodeMarginalPage));

  /** Pages are counted here: a `next` link is never followed, so that the token goes nowhere else. */
  async function* pages<P>(
    query: V1Query,
    ask: (query: V1Query) => Promise<Outcome<V1Page<P>>>,
    { waits = () => {}, signal }: Following = {},
  ) {
    const ending = endedBy(stopped, signal);
    const retry = createRetry({ clock, random, signal: ending.signal, waits });
    const first = query.page ?? 1;
    try {
      for (let page = first; ; page++) {
        const outcome = await retry(() => ask({ ...query, page }));
        // The list may have become shorter since the page before.
        const isBeyond = !outcome.ok && outcome.failure.kind === 'refused' && outcome.failure.status === 404;
        if (isBeyond && page > first) return;
        yield outcome;
        if (!outcome.ok || outcome.value.isLast) return;
        const { count } = outcome.value;
        if (page > count) {
          // Each page but the last holds a point at least: a service that goes on beyond turns in a circle.
          yield nonsense('next', `the end, after ${counted(count, 'point')}`, `another page after page ${page}`);
          return;
        }
      }
    } finally {
      ending.end();
    }
  }

  return {
    token: obtain,
    authorities: (query) => ask(authoritiesCall(query)),
    datapoints,
    marginal,
    datapointPages: (query, following) => pages(query, datapoints, following),
    marginalPages: (query, following) => pages(query, marginal, following),
  };
}
