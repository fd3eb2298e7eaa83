/** Decides when to log in and which token a request carries: one login at a time, inside the token's life, never against the breaker. */

import { after, before, type Duration, minutes, type Uptime } from '../units.ts';
import type { Clock, Log } from '../world.ts';
import { decodeToken } from './account-answers.ts';
import type { Login } from './answers.ts';
import { breakerFor, closedBreaker, loginTried, loginWait, proven, refused } from './breaker.ts';
import { failed, ok } from './decoding.ts';
import type { Failure, Outcome } from './failure.ts';
import type { Credentials } from './queries.ts';
import type { Concluded } from './transport.ts';

/** Specification 3: a token lives 30 minutes; it is renewed when a request is due and less than a minute is left. */
const LIFE = minutes(30);
const LEFT = minutes(1);

export interface Session {
  /** A token to send; from a new login when none is held or its life ends. */
  token(): Promise<Outcome<string>>;
  /** The service refused `token`: another one, by one new login that all callers share. */
  another(token: string): Promise<Outcome<string>>;
  /** `token` opened something. */
  worked(): void;
  login(): Promise<Outcome<Login>>;
}

export interface SessionOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly credentials: () => Promise<Credentials | undefined>;
  /** Sends one login. */
  readonly send: (credentials: Credentials) => Promise<Concluded>;
  /** Why no login may be sent now, if so. */
  readonly blocked: () => Failure | undefined;
}

interface Token {
  readonly text: string;
  readonly expires: Uptime;
}

const refusal = (cause: string, retryAfter?: Duration): Failure => ({
  kind: 'unauthorised',
  cause,
  ...(retryAfter === undefined ? {} : { retryAfter }),
});

export function createSession({ clock, log, credentials, send, blocked }: SessionOptions): Session {
  let held: Token | undefined;
  let breaker = closedBreaker;
  let underWay: Promise<Outcome<Token>> | undefined;

  function refusedLogin(cause: string): Failure {
    breaker = refused(breaker);
    const wait = loginWait(breaker, clock.now().uptime);
    log('info', `the service refused the login (${cause}); check the user name and password`, {
      refusals: breaker.refusals,
    });
    return refusal(cause, wait > 0 ? wait : undefined);
  }

  async function loginNow(): Promise<Outcome<Token>> {
    const pair = await credentials();
    if (pair === undefined) return failed({ kind: 'no-credentials' });
    if (pair.username.includes(':'))
      return failed({ kind: 'forbidden', cause: 'a user name with a colon cannot be sent to /login' });
    breaker = breakerFor(breaker, pair);
    const { uptime } = clock.now();
    const wait = loginWait(breaker, uptime);
    if (wait > 0) return failed(refusal('the last logins were refused', wait));
    const why = blocked();
    if (why !== undefined) return failed(why);
    breaker = loginTried(breaker, pair, uptime);
    const verdict = await send(pair);
    // At the login itself a 403 says the same as a 401.
    if (verdict.kind === 'token-refused') return failed(refusedLogin(verdict.cause));
    if (verdict.kind === 'failed' && verdict.failure.kind === 'gated')
      return failed(refusedLogin(verdict.failure.message));
    if (verdict.kind === 'failed') return failed(verdict.failure);
    const read = decodeToken(verdict.body);
    if (!read.ok) return read;
    // Counted from before it was asked for: never longer than the service counts.
    held = { text: read.value.token, expires: after(uptime, LIFE) };
    return ok(held);
  }

  /** One login, however many ask for it. */
  function renewed(): Promise<Outcome<Token>> {
    underWay ??= loginNow().finally(() => {
      underWay = undefined;
    });
    return underWay;
  }

  const textOf = (outcome: Outcome<Token>) => (outcome.ok ? ok(outcome.value.text) : outcome);

  return {
    async token() {
      const { uptime } = clock.now();
      if (held !== undefined && uptime <= before(held.expires, LEFT)) return ok(held.text);
      const fresh = await renewed();
      // A login that fails early leaves the last minute of the old token.
      if (!fresh.ok && held !== undefined && clock.now().uptime < held.expires) return ok(held.text);
      return textOf(fresh);
    },
    async another(token) {
      if (held !== undefined && held.text !== token) return ok(held.text);
      if (underWay === undefined) breaker = refused(breaker);
      return textOf(await renewed());
    },
    worked() {
      breaker = proven(breaker);
    },
    async login() {
      const fresh = await renewed();
      return fresh.ok ? ok({ token: fresh.value.text, expiresIn: LIFE }) : fresh;
    },
  };
}
