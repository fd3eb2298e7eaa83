/** Computes the wait after a failure. The caller counts the failures. */

import { type Duration, days, hours, milliseconds, minutes, seconds } from '../../domain/units.ts';
import type { Failure } from '../failure.ts';

const MIN_DELAY = seconds(1);
/** A service that names an absurd wait is obeyed within this. */
const MAX_RETRY_AFTER = hours(1);

/** The wait of a `Retry-After`, within 1 s and 1 h. */
export const clampRetryAfter = (retryAfter: Duration) =>
  milliseconds(Math.min(MAX_RETRY_AFTER, Math.max(MIN_DELAY, Math.ceil(retryAfter))));

/** Full jitter: anything from 1 s to the doubled step, so that a fleet does not come back as one. */
function computeBackoff(
  step: Duration,
  cap: Duration,
  { inARow, fraction }: { inARow: number; fraction: number },
): Duration {
  const ceiling = Math.min(cap, step * 2 ** Math.min(30, Math.max(0, inARow - 1)));
  return milliseconds(Math.ceil(MIN_DELAY + fraction * Math.max(0, ceiling - MIN_DELAY)));
}

/**
 * How long to wait after `failure`. `inARow` counts the failures since the last answer, this one included;
 * `fraction` is chance in [0, 1).
 */
export function computeRetryDelay(failure: Failure, inARow: number, fraction: number): Duration {
  switch (failure.kind) {
    case 'unreachable':
    case 'no-relayed-signal':
      return computeBackoff(seconds(10), minutes(5), { inARow, fraction });
    case 'server-error':
      if (failure.retryAfter !== undefined) return clampRetryAfter(failure.retryAfter);
      return computeBackoff(seconds(10), minutes(5), { inARow, fraction });
    case 'invalid-response':
      return computeBackoff(minutes(1), hours(1), { inARow, fraction });
    case 'throttled':
      // The cooldown has spread it already.
      return clampRetryAfter(failure.retryAfter);
    case 'no-credentials':
      // The files may be there by then; looking costs no request.
      return minutes(5);
    case 'unauthorised':
      // While logins are paused a call only checks whether the credentials have changed.
      return milliseconds(Math.min(minutes(5), clampRetryAfter(failure.retryAfter ?? minutes(5))));
    case 'rejected':
    case 'invalid':
      return hours(1);
    case 'not-entitled':
    case 'outside-coverage':
    case 'forbidden':
    case 'stopped':
      return days(1);
  }
}

/**
 * How long a rate limit group is silent after a 429: at least its Retry-After and up to a tenth more, so that devices with the same
 * together; by steps without a Retry-After (the service counts over 5 minutes, specification 8), or where the last wait
 * did not help.
 */
export function computeCooldown(retryAfter: Duration | undefined, inARow: number, fraction: number): Duration {
  const computeStep = (steps: number) => computeBackoff(seconds(15), minutes(10), { inARow: steps, fraction });
  if (retryAfter === undefined) return computeStep(inARow);
  const asked = clampRetryAfter(milliseconds(retryAfter * (1 + fraction / 10)));
  return inARow > 1 && computeStep(inARow - 1) > asked ? computeStep(inARow - 1) : asked;
}
