/** Decides whether a login may be sent after failures: at most 120 a day while failures continue. Changed credentials start afresh. */

import {
  addDuration,
  type Duration,
  durationBetween,
  hours,
  milliseconds,
  minutes,
  seconds,
  type Uptime,
} from '../../domain/units.ts';
import type { Credentials } from '../api/query-types.ts';
import type { Failure } from '../failure.ts';
import { clampRetryAfter } from '../limits/retry-delay.ts';

/** A published incident: a client that logged in again at each refusal had its account locked. */
const MAX_FORCED_LOGINS = 5;
const FORCED_LOGIN_WINDOW = hours(1);
const MIN_SPACING_AFTER_REFUSALS = minutes(12);
const FIRST_SPACING = seconds(10);
/** 24 h in steps of this, and the first short ones, are fewer than 120. */
const MAX_SPACING = minutes(13);

export interface LoginBackoff {
  /** Logins in a row that gave no token and were not refused, and the last failure. */
  readonly failures: number;
  readonly lastFailure?: Failure;
  /** Refusals of a login or of a fresh token in a row. */
  readonly refusals: number;
  /** The last login: when, and with what. */
  readonly lastLogin?: Credentials & { readonly at: Uptime };
  /** The last logins that followed a refusal. */
  readonly forcedLogins: readonly Uptime[];
}

export const NO_LOGIN_BACKOFF: LoginBackoff = { failures: 0, refusals: 0, forcedLogins: [] };

/** Other credentials than those tried before start afresh. */
export function resetForNewCredentials(backoff: LoginBackoff, { username, password }: Credentials): LoginBackoff {
  const { lastLogin } = backoff;
  if (lastLogin === undefined || (lastLogin.username === username && lastLogin.password === password)) return backoff;
  return NO_LOGIN_BACKOFF;
}

/** The doubled step; a `Retry-After` lengthens it and never shortens it. */
function computeSpacing({ failures, refusals, lastFailure }: LoginBackoff): number {
  const inARow = Math.max(failures, refusals - 1);
  if (inARow <= 0) return 0;
  const step = Math.min(MAX_SPACING, FIRST_SPACING * 2 ** Math.min(30, inARow - 1));
  const requestedWait =
    lastFailure?.kind === 'server-error' || lastFailure?.kind === 'throttled' ? (lastFailure.retryAfter ?? 0) : 0;
  return Math.max(
    step,
    refusals < 2 ? 0 : MIN_SPACING_AFTER_REFUSALS,
    requestedWait > 0 ? clampRetryAfter(milliseconds(requestedWait)) : 0,
  );
}

/** How long until a login may be sent; 0 when now. */
export function computeLoginWait(backoff: LoginBackoff, now: Uptime): Duration {
  const { lastLogin, refusals, forcedLogins } = backoff;
  if (lastLogin === undefined) return milliseconds(0);
  const oldest = refusals === 0 ? undefined : forcedLogins.at(-MAX_FORCED_LOGINS);
  const byCount = oldest === undefined ? 0 : durationBetween(now, addDuration(oldest, FORCED_LOGIN_WINDOW));
  const bySpacing = durationBetween(now, addDuration(lastLogin.at, milliseconds(computeSpacing(backoff))));
  return milliseconds(Math.max(0, byCount, bySpacing));
}

/** A login is sent now. */
export function recordLoginAttempt(backoff: LoginBackoff, tried: Credentials, now: Uptime): LoginBackoff {
  const { refusals, forcedLogins } = backoff;
  return {
    ...backoff,
    lastLogin: { ...tried, at: now },
    forcedLogins: refusals === 0 ? forcedLogins : [...forcedLogins, now].slice(-MAX_FORCED_LOGINS),
  };
}

export const recordLoginFailure = (backoff: LoginBackoff, lastFailure: Failure): LoginBackoff => ({
  ...backoff,
  failures: lastFailure.kind === 'unauthorised' ? 0 : backoff.failures + 1,
  lastFailure,
});

/** A login gave a token, which is still to be accepted. */
export function recordLoginToken({ lastFailure: _, ...backoff }: LoginBackoff): LoginBackoff {
  return { ...backoff, failures: 0 };
}

/** A login, or a fresh token, was refused. */
export const recordRefusal = (backoff: LoginBackoff): LoginBackoff => ({ ...backoff, refusals: backoff.refusals + 1 });

/** A token has opened something: the credentials are good. */
export const recordSuccess = (backoff: LoginBackoff): LoginBackoff =>
  backoff.refusals === 0 ? backoff : { ...backoff, refusals: 0 };
