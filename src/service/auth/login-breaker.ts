/** Decides whether a login may be tried after refusals: at most 5 an hour from the second on. A changed credential closes it at once. */

import {
  addDuration,
  type Duration,
  durationBetween,
  hours,
  milliseconds,
  minutes,
  type Uptime,
} from '../../domain/units.ts';
import type { Credentials } from '../api/query-types.ts';

/** A published incident: a client that logged in again at each refusal had its account locked. */
const MAX_FORCED_LOGINS = 5;
const FORCED_LOGIN_WINDOW = hours(1);
const MIN_LOGIN_SPACING = minutes(12);

export interface LoginBreaker {
  /** Refusals since the token or the credentials last worked, of a login or of a token just obtained. */
  readonly refusals: number;
  /** The last login: when, and with what. */
  readonly lastLogin?: Credentials & { readonly at: Uptime };
  /** Logins of the last hour that followed a refusal. */
  readonly forcedLogins: readonly Uptime[];
}

export const CLOSED_BREAKER: LoginBreaker = { refusals: 0, forcedLogins: [] };

/** The breaker as these credentials find it: others than those tried before start afresh. */
export function resetForNewCredentials(breaker: LoginBreaker, { username, password }: Credentials): LoginBreaker {
  const { lastLogin } = breaker;
  if (lastLogin === undefined || (lastLogin.username === username && lastLogin.password === password)) return breaker;
  return CLOSED_BREAKER;
}

const findRecentForcedLogins = ({ forcedLogins: forced }: LoginBreaker, now: Uptime) =>
  forced.filter((at) => durationBetween(at, now) < FORCED_LOGIN_WINDOW);

/** How long until a login may be tried; 0 when now. */
export function computeLoginWait(breaker: LoginBreaker, now: Uptime): Duration {
  if (breaker.refusals === 0) return milliseconds(0);
  const forced = findRecentForcedLogins(breaker, now);
  const oldest = forced[forced.length - MAX_FORCED_LOGINS];
  const byCount = oldest === undefined ? 0 : durationBetween(now, addDuration(oldest, FORCED_LOGIN_WINDOW));
  const bySpacing =
    breaker.refusals < 2 || breaker.lastLogin === undefined
      ? 0
      : durationBetween(now, addDuration(breaker.lastLogin.at, MIN_LOGIN_SPACING));
  return milliseconds(Math.max(0, byCount, bySpacing));
}

/** A login is sent now. */
export function recordLoginAttempt(breaker: LoginBreaker, tried: Credentials, now: Uptime): LoginBreaker {
  const forced = findRecentForcedLogins(breaker, now);
  return {
    ...breaker,
    lastLogin: { ...tried, at: now },
    forcedLogins: breaker.refusals === 0 ? forced : [...forced, now],
  };
}

/** A login, or a token, was refused. */
export const recordRefusal = (breaker: LoginBreaker): LoginBreaker => ({ ...breaker, refusals: breaker.refusals + 1 });

/** A token has opened something: the credentials are good. */
export const recordSuccess = (breaker: LoginBreaker): LoginBreaker =>
  breaker.refusals === 0 ? breaker : { ...breaker, refusals: 0 };
