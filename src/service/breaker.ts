/** Decides whether a login may be tried after refusals: at most 5 an hour from the second on. A changed credential closes it at once. */

import { after, between, type Duration, hours, milliseconds, minutes, type Uptime } from '../units.ts';
import type { Credentials } from './queries.ts';

/** A published incident: a client that logged in again at each refusal had its account locked. */
const MOST_FORCED = 5;
const WINDOW = hours(1);
const SPACING = minutes(12);

export interface Breaker {
  /** Refusals since the token or the credentials last worked, of a login or of a token just obtained. */
  readonly refusals: number;
  /** The last login: when, and with what. */
  readonly tried?: Credentials & { readonly at: Uptime };
  /** Logins of the last hour that followed a refusal. */
  readonly forced: readonly Uptime[];
}

export const closedBreaker: Breaker = { refusals: 0, forced: [] };

/** The breaker as these credentials find it: others than those tried before start afresh. */
export function breakerFor(breaker: Breaker, { username, password }: Credentials): Breaker {
  const { tried } = breaker;
  if (tried === undefined || (tried.username === username && tried.password === password)) return breaker;
  return closedBreaker;
}

const recent = ({ forced }: Breaker, now: Uptime) => forced.filter((at) => between(at, now) < WINDOW);

/** How long until a login may be tried; 0 when now. */
export function loginWait(breaker: Breaker, now: Uptime): Duration {
  if (breaker.refusals === 0) return milliseconds(0);
  const forced = recent(breaker, now);
  const oldest = forced[forced.length - MOST_FORCED];
  const byCount = oldest === undefined ? 0 : between(now, after(oldest, WINDOW));
  const bySpacing =
    breaker.refusals < 2 || breaker.tried === undefined ? 0 : between(now, after(breaker.tried.at, SPACING));
  return milliseconds(Math.max(0, byCount, bySpacing));
}

/** A login is sent now. */
export function loginTried(breaker: Breaker, tried: Credentials, now: Uptime): Breaker {
  const forced = recent(breaker, now);
  return { ...breaker, tried: { ...tried, at: now }, forced: breaker.refusals === 0 ? forced : [...forced, now] };
}

/** A login, or a token, was refused. */
export const refused = (breaker: Breaker): Breaker => ({ ...breaker, refusals: breaker.refusals + 1 });

/** A token has opened something: the credentials are good. */
export const proven = (breaker: Breaker): Breaker => (breaker.refusals === 0 ? breaker : { ...breaker, refusals: 0 });
