/** Decides when to log in and which token a request carries: one login at a time, within the back-off. */

import type { Clock, Log } from '../../domain/ports.ts';
import { addDuration, type Duration, minutes, subtractDuration, type Uptime } from '../../domain/units.ts';
import { decodeToken } from '../api/decode-account.ts';
import { failed, ok } from '../api/decode-body.ts';
import type { Credentials } from '../api/query-types.ts';
import type { Login } from '../api/response-types.ts';
import type { Failure, Outcome } from '../failure.ts';
import type { FinalVerdict } from '../transport/transport.ts';
import {
  computeLoginWait,
  NO_LOGIN_BACKOFF,
  recordLoginAttempt,
  recordLoginFailure,
  recordLoginToken,
  recordRefusal,
  recordSuccess,
  resetForNewCredentials,
} from './login-backoff.ts';

/** Specification 3: a token is valid for 30 minutes; it is renewed when a request is due and less than a minute is left. */
const TOKEN_LIFETIME = minutes(30);
const RENEWAL_MARGIN = minutes(1);

export interface Session {
  /** A token to send; from a new login when there is none or it expires soon. */
  obtainToken(): Promise<Outcome<string>>;
  /** The service refused `token`: another one, by one new login that all callers share. */
  replaceToken(token: string): Promise<Outcome<string>>;
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

const toUnauthorised = (cause: string, retryAfter: Duration) => ({
  kind: 'unauthorised' as const,
  cause,
  ...(retryAfter > 0 ? { retryAfter } : {}),
});

/** Logs in when the back-off allows it, and counts the results of the logins. */
class LoginGate {
  private backoff = NO_LOGIN_BACKOFF;
  private readonly options: SessionOptions;

  constructor(options: SessionOptions) {
    this.options = options;
  }

  async login(): Promise<Outcome<AccessToken>> {
    const { clock, credentials, send, checkBlocked } = this.options;
    const pair = await credentials();
    if (pair === undefined) return failed({ kind: 'no-credentials' });
    if (pair.username.includes(':'))
      return failed({ kind: 'forbidden', cause: 'a user name with a colon cannot be sent to /login' });
    this.backoff = resetForNewCredentials(this.backoff, pair);
    const { uptime } = clock.now();
    const blocked = checkBlocked() ?? this.findWait(uptime);
    if (blocked !== undefined) return failed(blocked);
    this.backoff = recordLoginAttempt(this.backoff, pair, uptime);
    const token = this.readToken(await send(pair));
    if (!token.ok) {
      if (token.failure.kind !== 'stopped') this.backoff = recordLoginFailure(this.backoff, token.failure);
      return token;
    }
    this.backoff = recordLoginToken(this.backoff);
    // Counted from before it was requested: never longer than the service counts.
    return ok({ text: token.value.token, expires: addDuration(uptime, TOKEN_LIFETIME) });
  }

  countRefusal(): void {
    this.backoff = recordRefusal(this.backoff);
  }

  countSuccess(): void {
    this.backoff = recordSuccess(this.backoff);
  }

  /** The failure of the last login again while the next may not be sent. */
  private findWait(now: Uptime): Failure | undefined {
    const wait = computeLoginWait(this.backoff, now);
    if (wait <= 0) return undefined;
    const { lastFailure } = this.backoff;
    if (lastFailure === undefined)
      return { ...toUnauthorised('the last tokens opened nothing', wait), rejected: 'fresh-token' };
    if (lastFailure.kind === 'unauthorised') return toUnauthorised('the last logins were refused', wait);
    return lastFailure.kind === 'throttled' || lastFailure.kind === 'server-error'
      ? { ...lastFailure, retryAfter: wait }
      : lastFailure;
  }

  private readToken(verdict: FinalVerdict): Outcome<{ readonly token: string }> {
    // At the login itself a 403 means the same as a 401.
    if (verdict.kind === 'token-refused') return failed(this.recordRefusedLogin(verdict.cause));
    if (verdict.kind === 'failed' && verdict.failure.kind === 'not-entitled')
      return failed(this.recordRefusedLogin(verdict.failure.message));
    return verdict.kind === 'failed' ? failed(verdict.failure) : decodeToken(verdict.body);
  }

  private recordRefusedLogin(cause: string): Failure {
    const { clock, log } = this.options;
    this.countRefusal();
    const { refusals } = this.backoff;
    log('info', `the service rejected the login (${cause}); check the user name and password`, { refusals });
    return toUnauthorised(cause, computeLoginWait(this.backoff, clock.now().uptime));
  }
}

export function createSession(options: SessionOptions): Session {
  const { clock } = options;
  const gate = new LoginGate(options);
  let current: AccessToken | undefined;
  let pendingLogin: Promise<Outcome<AccessToken>> | undefined;

  async function loginOnce(): Promise<Outcome<AccessToken>> {
    const fresh = await gate.login();
    if (fresh.ok) current = fresh.value;
    return fresh;
  }

  /** One login, however many ask for it. */
  function renewToken(): Promise<Outcome<AccessToken>> {
    pendingLogin ??= loginOnce().finally(() => {
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
      if (pendingLogin === undefined) gate.countRefusal();
      return toTokenText(await renewToken());
    },
    confirmToken: () => gate.countSuccess(),
    async login() {
      const fresh = await renewToken();
      return fresh.ok ? ok({ token: fresh.value.text, expiresIn: TOKEN_LIFETIME }) : fresh;
    },
  };
}
