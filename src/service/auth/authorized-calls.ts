/** Sends a call with its authorization: after a refused token one new login and one retry, after a refusal by the plan none. */

import type { HttpRequest, HttpStream } from '../../domain/ports.ts';
import { type ApiCall, buildUrl } from '../api/build-requests.ts';
import { failed, ok } from '../api/decode-body.ts';
import type { Credentials } from '../api/query-types.ts';
import type { Failure, Outcome } from '../failure.ts';
import type { RateLimitGroup } from '../limits/cooldown.ts';
import type { FinalVerdict, OutgoingRequest, SendResult, Transport } from '../transport/transport.ts';
import type { Session } from './session.ts';

const COMMON_HEADERS = { accept: 'application/json', 'user-agent': 'gridtide' };

export const formatBasicAuthorization = ({ username, password }: Credentials) =>
  `Basic ${Buffer.from(`${username}:${password}`, 'utf8').toString('base64')}`;

/** The request of `call` below `base`; `authorization` is the whole header. */
export function buildHttpRequest(
  baseUrl: string,
  call: Omit<ApiCall<unknown>, 'decode'>,
  authorization?: string,
): HttpRequest {
  return {
    method: call.method,
    url: buildUrl(baseUrl, call),
    headers: {
      ...COMMON_HEADERS,
      ...call.headers,
      ...(authorization === undefined ? {} : { authorization }),
      ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(call.body === undefined ? {} : { body: call.body }),
    deadline: call.deadline,
    ...(call.silence === undefined ? {} : { silence: call.silence }),
    maxBytes: call.maxBytes,
  };
}

/** What the tokens of one interface version offer: the v3 session, or the lasting token of v1. */
export type TokenSource = Pick<Session, 'obtainToken' | 'replaceToken' | 'confirmToken'>;

const toFailedResult = (why: Failure): SendResult => ({ verdict: { kind: 'failed', failure: why } });

const findTokenRefusal = (sent: SendResult) =>
  'verdict' in sent && sent.verdict.kind === 'token-refused' ? sent.verdict : undefined;

const toNotEntitled = (message: string): SendResult => toFailedResult({ kind: 'not-entitled', message });

/** Whether the service itself has checked the token and accepted it. */
function isTokenAccepted(sent: SendResult): boolean {
  if ('stream' in sent || sent.verdict.kind === 'answer') return true;
  return (
    sent.verdict.kind === 'failed' &&
    ['not-entitled', 'rejected', 'outside-coverage'].includes(sent.verdict.failure.kind)
  );
}

/** Which paths refuse a token that is not at fault: a login for them would be wasted. */
function createRefusingPaths() {
  /** A page with 403 to a fresh token means the plan. */
  const gated = new Set<string>();
  /** The token that a path met with such a page last. */
  const shownPage = new Map<string, string>();
  /** Paths that answered a fresh token with 401, and whether another path has accepted a token since. */
  const refusing = new Map<string, { isAlone: boolean }>();
  return {
    recordGate: (path: string) => void gated.add(path),
    /** Counts a page with 403; whether another token met one here before. */
    hasShownPageBefore(path: string, token: string): boolean {
      const before = shownPage.get(path);
      shownPage.set(path, token);
      return before !== undefined && before !== token;
    },
    recordRefusal: (path: string) => void refusing.set(path, { isAlone: false }),
    recordAcceptance(path: string): void {
      gated.delete(path);
      shownPage.delete(path);
      refusing.delete(path);
      for (const one of refusing.values()) one.isAlone = true;
    },
    /** The result of a refusal that is the path's own; undefined while the token may be at fault. */
    explain(path: string, { status, cause }: { readonly status: 401 | 403; readonly cause: string }) {
      if (status === 403) return gated.has(path) ? toNotEntitled(cause) : undefined;
      if (refusing.get(path)?.isAlone !== true) return undefined;
      const message = `${path} alone refuses a token that other paths accept: ${cause}`;
      return toFailedResult({ kind: 'server-error', status, message });
    },
  };
}

/** Sends with the token, and once more with a new one when the first was refused. */
function createTokenRetry(tokens: TokenSource) {
  const refusingPaths = createRefusingPaths();

  const acceptResult = (path: string, sent: SendResult): SendResult => {
    if (isTokenAccepted(sent)) {
      refusingPaths.recordAcceptance(path);
      tokens.confirmToken();
    }
    return sent;
  };

  /** Two tokens, one of them fresh: neither is at fault. */
  const concludeGate = (path: string, cause: string): SendResult => {
    refusingPaths.recordGate(path);
    tokens.confirmToken();
    return toNotEntitled(cause);
  };

  return async (path: string, send: (token: string) => Promise<SendResult>): Promise<SendResult> => {
    const current = await tokens.obtainToken();
    if (!current.ok) return toFailedResult(current.failure);
    const first = await send(current.value);
    const refusal = findTokenRefusal(first);
    if (refusal === undefined) return acceptResult(path, first);
    const explained = refusingPaths.explain(path, refusal);
    if (explained !== undefined) return explained;
    if (refusal.status === 403 && refusingPaths.hasShownPageBefore(path, current.value))
      return concludeGate(path, refusal.cause);
    const renewed = await tokens.replaceToken(current.value);
    if (!renewed.ok) return toFailedResult(renewed.failure);
    const second = await send(renewed.value);
    const repeated = findTokenRefusal(second);
    if (repeated === undefined) return acceptResult(path, second);
    if (repeated.status === 401) {
      refusingPaths.recordRefusal(path);
      return toFailedResult({ kind: 'unauthorised', cause: repeated.cause, rejected: 'fresh-token' });
    }
    return concludeGate(path, repeated.cause);
  };
}

function decodeVerdict<Value>(verdict: FinalVerdict, { decode, path }: ApiCall<Value>): Outcome<Value> {
  switch (verdict.kind) {
    case 'answer':
      return decode(verdict.body);
    case 'token-refused':
      return failed({ kind: 'unauthorised', cause: verdict.cause });
    case 'failed':
      return failed(verdict.failure.kind === 'not-entitled' ? { ...verdict.failure, path } : verdict.failure);
  }
}

export interface AuthorizedCalls {
  /** Without authorization: register and password reset. */
  callPublic<Value>(call: ApiCall<Value>): Promise<Outcome<Value>>;
  callAuthorized<Value>(call: ApiCall<Value>): Promise<Outcome<Value>>;
  openStream(call: ApiCall<never>): Promise<Outcome<HttpStream>>;
}

/** The authorization and rate limit group of one interface version. */
export interface ApiVersion {
  readonly base: string;
  readonly rateLimitGroup: RateLimitGroup;
  readonly scheme: 'Bearer' | 'Token';
  readonly tokens: TokenSource;
}

export function createAuthorizedCalls(
  transport: Transport,
  { base, rateLimitGroup, scheme, tokens }: ApiVersion,
): AuthorizedCalls {
  const sendWithToken = createTokenRetry(tokens);
  const toOutgoing = (call: ApiCall<unknown>, token?: string): OutgoingRequest => ({
    rateLimitGroup,
    name: call.path,
    request: buildHttpRequest(base, call, token === undefined ? undefined : `${scheme} ${token}`),
  });

  return {
    async callPublic(call) {
      return decodeVerdict(await transport.send(toOutgoing(call)), call);
    },
    async callAuthorized(call) {
      // A login would be wasted on a request that may not go out.
      const why = transport.checkBlocked(rateLimitGroup);
      if (why !== undefined) return failed(why);
      const sent = await sendWithToken(call.path, async (token) => ({
        verdict: await transport.send(toOutgoing(call, token)),
      }));
      if ('stream' in sent) throw new Error('a call that is no stream gave one');
      return decodeVerdict(sent.verdict, call);
    },
    async openStream(call) {
      const why = transport.checkBlocked(rateLimitGroup);
      if (why !== undefined) return failed(why);
      const sent = await sendWithToken(call.path, (token) => transport.open(toOutgoing(call, token)));
      return 'stream' in sent ? ok(sent.stream) : decodeVerdict(sent.verdict, call);
    },
  };
}
