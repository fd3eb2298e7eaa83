/** Decides how long each lane stays silent after a 429; sends nothing. */

import { after, between, type Duration, milliseconds, type Uptime } from '../units.ts';
import type { Clock, Log, Random } from '../world.ts';
import { after429 } from './after-failure.ts';
import type { Failure } from './failure.ts';

/** Requests that are limited apart from each other (specification 8). */
export type Lane = 'data' | 'login' | 'v1';

interface Hold {
  readonly until: Uptime;
  /** 429s since the lane was last answered. */
  readonly inARow: number;
}

export interface Holds {
  /** How much longer the lane is silent; 0 when it is free. */
  left(lane: Lane): Duration;
  /** A request started at `startedAt` was answered 429: the lane's failure until it is free. */
  throttled(lane: Lane, startedAt: Uptime, retryAfter: Duration | undefined): Failure;
  /** A request started at `startedAt` was answered. */
  answered(lane: Lane, startedAt: Uptime): void;
}

export function createHolds({ clock, random, log }: { clock: Clock; random: Random; log: Log }): Holds {
  const holds = new Map<Lane, Hold>();

  const left = (lane: Lane): Duration => {
    const { uptime } = clock.now();
    const until = holds.get(lane)?.until ?? uptime;
    return milliseconds(Math.max(0, between(uptime, until)));
  };

  return {
    left,
    throttled(lane, startedAt, retryAfter) {
      const last = holds.get(lane);
      // Those that were under way together are one 429.
      if (last !== undefined && left(lane) > 0 && startedAt < last.until)
        return { kind: 'throttled', retryAfter: left(lane) };
      const inARow = (last?.inARow ?? 0) + 1;
      const wait = after429(retryAfter, inARow, random.fraction());
      holds.set(lane, { until: after(clock.now().uptime, wait), inARow });
      log('info', `the service has had too many requests; the next goes out in ${Math.ceil(wait / 1_000)} s`, { lane });
      return { kind: 'throttled', retryAfter: wait };
    },
    answered(lane, startedAt) {
      const last = holds.get(lane);
      if (last !== undefined && startedAt >= last.until) holds.delete(lane);
    },
  };
}
