/** Decides how long each rate limit group is silent after a 429. */

import type { Clock, Log, Random } from '../../domain/ports.ts';
import { addDuration, type Duration, durationBetween, milliseconds, type Uptime } from '../../domain/units.ts';
import type { Failure } from '../failure.ts';
import { computeCooldown } from './retry-delay.ts';

/** Requests that are limited apart from each other (specification 8). */
export type RateLimitGroup = 'data' | 'login' | 'v1';

interface Cooldown {
  readonly until: Uptime;
  /** 429s since the lane was last answered. */
  readonly inARow: number;
}

export interface Cooldowns {
  /** How much longer the lane is silent; 0 when it is free. */
  remaining(lane: RateLimitGroup): Duration;
  /** A request started at `startedAt` was answered 429: the lane's failure until it is free. */
  recordThrottled(lane: RateLimitGroup, startedAt: Uptime, retryAfter: Duration | undefined): Failure;
  /** A request started at `startedAt` was answered. */
  recordAnswered(lane: RateLimitGroup, startedAt: Uptime): void;
}

export function createCooldowns({ clock, random, log }: { clock: Clock; random: Random; log: Log }): Cooldowns {
  const cooldowns = new Map<RateLimitGroup, Cooldown>();

  const remaining = (lane: RateLimitGroup): Duration => {
    const { uptime } = clock.now();
    const until = cooldowns.get(lane)?.until ?? uptime;
    return milliseconds(Math.max(0, durationBetween(uptime, until)));
  };

  return {
    remaining,
    recordThrottled(lane, startedAt, retryAfter) {
      const last = cooldowns.get(lane);
      // Those that were under way together are one 429.
      if (last !== undefined && remaining(lane) > 0 && startedAt < last.until)
        return { kind: 'throttled', retryAfter: remaining(lane) };
      const inARow = (last?.inARow ?? 0) + 1;
      const wait = computeCooldown(retryAfter, inARow, random.fraction());
      cooldowns.set(lane, { until: addDuration(clock.now().uptime, wait), inARow });
      log('info', `the service has had too many requests; the next goes out in ${Math.ceil(wait / 1_000)} s`, { lane });
      return { kind: 'throttled', retryAfter: wait };
    },
    recordAnswered(lane, startedAt) {
      const last = cooldowns.get(lane);
      if (last !== undefined && startedAt >= last.until) cooldowns.delete(lane);
    },
  };
}
