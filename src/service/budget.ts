/** Counts requests in an exact sliding window and decides whether one more may be sent; never waits itself. */

import { between, type Duration, milliseconds, seconds, type Uptime } from '../units.ts';

/**
 * The service counts a request when it arrives, which is some time between our sending it and its answer. So a request
 * weighs from its start until a whole window after its end: whatever the network does, the service sees no more than the limit.
 */
export interface Budget {
  /** How long until one more request fits; 0 when one fits now. */
  wait(now: Uptime): Duration;
  /** Takes one place; call `ended` once with the time the answer began, or the attempt failed. */
  take(now: Uptime): { readonly ended: (at: Uptime) => void };
}

/** While all places are under way nothing says when one ends. */
const LOOK_AGAIN = seconds(1);

export function createBudget(limit: number, window: Duration): Budget {
  /** Ends of the latest requests, oldest first from `first`, in a ring of at most `limit`. */
  const ends = new Float64Array(limit);
  let first = 0;
  let count = 0;
  let underWay = 0;

  const forget = (now: Uptime) => {
    while (count > 0 && between((ends[first] ?? 0) as Uptime, now) > window) {
      first = (first + 1) % limit;
      count -= 1;
    }
  };
  return {
    wait(now) {
      forget(now);
      if (count + underWay < limit) return milliseconds(0);
      if (count === 0) return LOOK_AGAIN;
      return milliseconds(window - between((ends[first] ?? 0) as Uptime, now) + 1);
    },
    take(now) {
      forget(now);
      if (count + underWay >= limit) throw new Error(`budget of ${limit} is used up; wait() tells`);
      underWay += 1;
      let over = false;
      return {
        ended(at) {
          if (over) return;
          over = true;
          underWay -= 1;
          ends[(first + count) % limit] = at;
          count += 1;
        },
      };
    },
  };
}

/** One device's part of an account's limit, at least one request. */
export const shareOf = (limit: number, fleet: number) => Math.max(1, Math.floor(limit / Math.max(1, fleet)));
