/** Asks one call with the right authorization: a refused token gets one new login and one retry, a plan gate never does. */

import type { HttpRequest, HttpStream } from '../world.ts';
import { failed, ok } from './decoding.ts';
import type { Failure, Outcome } from './failure.ts';
import type { Lane } from './holds.ts';
import type { Credentials } from './queries.ts';
import { addressOf, type Call } from './requests.ts';
import type { Session } from './session.ts';
import type { Concluded, Sending, Sent, Transport } from './transport.ts';

const HEADERS = { accept: 'application/json', 'user-agent': 'gridtide' };

export const basic = ({ username, password }: Credentials) =>
  `Basic ${Buffer.from(`${username}:${password}`, 'utf8').toString('base64')}`;

/** The request of `call` below `base`; `authorization` is the whole header. */
export function requestOf(base: string, call: Omit<Call<unknown>, 'decode'>, authorization?: string): HttpRequest {
  return {
    method: call.method,
    url: addressOf(base, call),
    headers: {
      ...HEADERS,
      ...(authorization === undefined ? {} : { authorization }),
      ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(call.body === undefined ? {} : { body: call.body }),
    deadline: call.deadline,
    maxBytes: call.maxBytes,
  };
}

/** What the tokens of one interface version offer: the v3 session, or the lasting token of v1. */
export type Tokens = Pick<Session, 'token' | 'another' | 'worked'>;

const failure = (why: Failure): Sent => ({ verdict: { kind: 'failed', failure: why } });

const refusalOf = (sent: Sent) =>
  'verdict' in sent && sent.verdict.kind === 'token-refused' ? sent.verdict.cause : undefined;

/** Whether the service itself has looked at the token and taken it. */
function isProof(sent: Sent): boolean {
  if ('stream' in sent || sent.verdict.kind === 'answer') return true;
  return sent.verdict.kind === 'failed' && ['gated', 'refused', 'outside-coverage'].includes(sent.verdict.failure.kind);
}

async function withToken(tokens: Tokens, send: (token: string) => Promise<Sent>): Promise<Sent> {
  const held = await tokens.token();
  if (!held.ok) return failure(held.failure);
  const first = await send(held.value);
  if (refusalOf(first) === undefined) {
    if (isProof(first)) tokens.worked();
    return first;
  }
  const fresh = await tokens.another(held.value);
  if (!fresh.ok) return failure(fresh.failure);
  const second = await send(fresh.value);
  const cause = refusalOf(second);
  if (cause === undefined) {
    if (isProof(second)) tokens.worked();
    return second;
  }
  return failure({ kind: 'unauthorised', cause: `a new token was refused as well (${cause})` });
}

function concluded<Value>(verdict: Concluded, { decode, path }: Call<Value>): Outcome<Value> {
  switch (verdict.kind) {
    case 'answer':
      return decode(verdict.body);
    case 'token-refused':
      return failed({ kind: 'unauthorised', cause: verdict.cause });
    case 'failed':
      return failed(verdict.failure.kind === 'gated' ? { ...verdict.failure, path } : verdict.failure);
  }
}

export interface Asking {
  /** Without authorization: register and password reset. */
  plain<Value>(call: Call<Value>): Promise<Outcome<Value>>;
  data<Value>(call: Call<Value>): Promise<Outcome<Value>>;
  stream(call: Call<never>): Promise<Outcome<HttpStream>>;
}

/** How one interface version is asked. */
export interface Manner {
  readonly base: string;
  readonly lane: Lane;
  readonly scheme: 'Bearer' | 'Token';
  readonly tokens: Tokens;
}

export function createAsking(transport: Transport, { base, lane, scheme, tokens }: Manner): Asking {
  const sending = (call: Call<unknown>, token?: string): Sending => ({
    lane,
    name: call.path,
    request: requestOf(base, call, token === undefined ? undefined : `${scheme} ${token}`),
  });

  return {
    async plain(call) {
      return concluded(await transport.send(sending(call)), call);
    },
    async data(call) {
      // A login would be wasted on a request that may not go out.
      const why = transport.blocked(lane);
      if (why !== undefined) return failed(why);
      const sent = await withToken(tokens, async (token) => ({
        verdict: await transport.send(sending(call, token)),
      }));
      if ('stream' in sent) throw new Error('a call that is no stream gave one');
      return concluded(sent.verdict, call);
    },
    async stream(call) {
      const why = transport.blocked(lane);
      if (why !== undefined) return failed(why);
      const sent = await withToken(tokens, (token) => transport.open(sending(call, token)));
      return 'stream' in sent ? ok(sent.stream) : concluded(sent.verdict, call);
    },
  };
}
