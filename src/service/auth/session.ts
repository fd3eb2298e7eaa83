/** Decides when to log in and which token a request carries: one login at a time, inside the token's life, never against the breaker. */

import type { Clock, Log } from '../../domain/ports.ts';
import { addDuration, type Duration, minutes, subtractDuration, type Uptime } from '../../domain/units.ts';
import { decodeToken } from '../api/decode-account.ts';
import { failed, ok } from '../api/decode-body.ts';
import type { Credentials } from '../api/query-types.ts';
import type { Login } from '../api/response-types.ts';
import type { Failure, Outcome } from '../failure.ts';
import type { FinalVerdict } from '../transport/transport.ts';
import {
  CLOSED_BREAKER,
  computeLoginWait,
  recordLoginAttempt,
  recordRefusal,
  recordSuccess,
  resetForNewCredentials,
} from './login-breaker.ts';

/** Specification 3: a token lives 30 minutes; it is renewed when a request is due and less than a minute is left. */
const TOKEN_LIFETIME = minutes(30);
const RENEWAL_MARGIN = minutes(1);

export interface Session {
  /** A token to send; from a new login when none is held or its life ends. */
  obtainToken(): Promise<Outcome<string>>;
  /** The service refused `token`: another one, by one new login that all callers share. */
  replaceToken(obtainToken: string): Promise<Outcome<string>>;
  /** `token` opened something. */
  confirmToken(): void;
  login(): Promise<Outcome<Login>>;
}

export interface SessionOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly credentials: () => Promise<Credentials | undefined>;
  /** Sends one login. */
  readonly send: (credentials: Credentials) => Promise<FinalVerdict>;
  /** Why no login may be sent now, if so. */
  readonly checkBlocked: () => Failure | undefined;
}

interface AccessToken {
  readonly text: string;
  readonly expires: Uptime;
}

const toUnauthorised = (cause: string, retryAfter?: Duration): Failure => ({
  kind: 'unauthorised',
  cause,
  ...(retryAfter === undefined ? {} : { retryAfter }),
});

export function createSession({ clock, log, credentials, send, checkBlocked }: SessionOptions): Session {
  let current: AccessToken | undefined;
  let breaker = CLOSED_BREAKER;
  let pendingLogin: Promise<Outcome<AccessToken>> | undefined;

  function recordRefusedLogin(cause: string): Failure {
    breaker = recordRefusal(breaker);
    const wait = computeLoginWait(breaker, clock.now().uptime);
    log('info', `the service refused the login (${cause}); check the user name and password`, {
      refusals: breaker.refusals,
    });
    return toUnauthorised(cause, wait > 0 ? wait : undefined);
  }

  async function loginNow(): Promise<Outcome<AccessToken>> {
    const pair = await credentials();
    if (pair === undefined) return failed({ kind: 'no-credentials' });
    if (pair.username.includes(':'))
      return failed({ kind: 'forbidden', cause: 'a user name with a colon cannot be sent to /login' });
    breaker = resetForNewCredentials(breaker, pair);
    const { uptime } = clock.now();
    const wait = computeLoginWait(breaker, uptime);
    if (wait > 0) return failed(toUnauthorised('the last logins were refused', wait));
    const why = checkBlocked();
    if (why !== undefined) return failed(why);
    breaker = recordLoginAttempt(breaker, pair, uptime);
    const verdict = await send(pair);
    // At the login itself a 403 says the same as a 401.
    if (verdict.kind === 'token-refused') return failed(recordRefusedLogin(verdict.cause));
    if (verdict.kind === 'failed' && verdict.failure.kind === 'not-entitled')
      return failed(recordRefusedLogin(verdict.failure.message));
    if (verdict.kind === 'failed') return failed(verdict.failure);
    const read = decodeToken(verdict.body);
    if (!read.ok) return read;
    // Counted from before it was asked for: never longer than the service counts.
    current = { text: read.value.token, expires: addDuration(uptime, TOKEN_LIFETIME) };
    return ok(current);
  }

  /** One login, however many ask for it. */
  function renewToken(): Promise<Outcome<AccessToken>> {
    pendingLogin ??= loginNow().finally(() => {
      pendingLogin = undefined;
    });
    return pendingLogin;
  }

  const toTokenText = (outcome: Outcome<AccessToken>) => (outcome.ok ? ok(outcome.value.text) : outcome);

  return {
    async obtainToken() {
      const { uptime } = clock.now();
      if (current !== undefined && uptime <= subtractDuration(current.expires, RENEWAL_MARGIN)) return ok(current.text);
      const fresh = await renewToken();
      // A login that fails early leaves the last minute of the old token.
      if (!fresh.ok && current !== undefined && clock.now().uptime < current.expires) return ok(current.text);
      return toTokenText(fresh);
    },
    async replaceToken(token) {
      if (current !== undefined && current.text !== token) return ok(current.text);
      if (pendingLogin === undefined) breaker = recordRefusal(breaker);
      return toTokenText(await renewToken());
    },
    confirmToken() {
      breaker = recordSuccess(breaker);
    },
    async login() {
      const fresh = await renewToken();
      return fresh.ok ? ok({ token: fresh.value.text, expiresIn: TOKEN_LIFETIME }) : fresh;
    },
  };
}
