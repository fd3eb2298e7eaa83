/** Counts requests in an exact sliding window and decides whether one more may be sent. */

import { type Duration, durationBetween, milliseconds, seconds, type Uptime } from '../../domain/units.ts';

/**
 * The service counts a request when it arrives, which is some time between our sending it and its answer. So a request
 * weighs from its start until a whole window after its end: whatever the network does, the service sees no more than the limit.
 */
export interface RequestWindow {
  /** How long until one more request fits; 0 when one fits now. */
  computeWait(now: Uptime): Duration;
  /** Takes one place; call `ended` once with the time the answer began, or the attempt failed. */
  reserve(now: Uptime): { readonly ended: (at: Uptime) => void };
}

/** While all places are in use by pending requests, the end of none is known. */
const RECHECK_DELAY = seconds(1);

export function createRequestWindow(limit: number, window: Duration): RequestWindow {
  /** Ends of the latest requests, oldest first from `first`, in a ring of at most `limit`. */
  const ends = new Float64Array(limit);
  let first = 0;
  let count = 0;
  let inFlight = 0;

  const dropExpired = (now: Uptime) => {
    while (count > 0 && durationBetween((ends[first] ?? 0) as Uptime, now) > window) {
      first = (first + 1) % limit;
      count -= 1;
    }
  };
  return {
    computeWait(now) {
      dropExpired(now);
      if (count + inFlight < limit) return milliseconds(0);
      if (count === 0) return RECHECK_DELAY;
      return milliseconds(window - durationBetween((ends[first] ?? 0) as Uptime, now) + 1);
    },
    reserve(now) {
      dropExpired(now);
      if (count + inFlight >= limit) throw new Error(`budget of ${limit} is used up; wait() tells`);
      inFlight += 1;
      let isReleased = false;
      return {
        ended(at) {
          if (isReleased) return;
          isReleased = true;
          inFlight -= 1;
          ends[(first + count) % limit] = at;
          count += 1;
        },
      };
    },
  };
}

/** One device's part of an account's limit, at least one request. */
export const computeDeviceLimit = (limit: number, fleet: number) => Math.max(1, Math.floor(limit / Math.max(1, fleet)));
