/** Decides how long each rate limit group is silent after a 429. */

import type { Clock, Log, Random } from '../../domain/ports.ts';
import { addDuration, type Duration, durationBetween, milliseconds, type Uptime } from '../../domain/units.ts';
import type { Failure } from '../failure.ts';
import { computeCooldown } from './retry-delay.ts';

/** Requests that are limited apart from each other (specification 8). */
export type RateLimitGroup = 'data' | 'login' | 'v1';

interface Cooldown {
  readonly until: Uptime;
  /** 429s since the group was last answered. */
  readonly inARow: number;
}

export interface Cooldowns {
  /** How much longer the group is silent; 0 when it is free. */
  remaining(group: RateLimitGroup): Duration;
  /** A request started at `startedAt` was answered 429: the failure of the group until it is free. */
  recordThrottled(group: RateLimitGroup, startedAt: Uptime, retryAfter: Duration | undefined): Failure;
  /** A request started at `startedAt` was answered. */
  recordAnswered(group: RateLimitGroup, startedAt: Uptime): void;
}

export function createCooldowns({ clock, random, log }: { clock: Clock; random: Random; log: Log }): Cooldowns {
  const cooldowns = new Map<RateLimitGroup, Cooldown>();

  const remaining = (group: RateLimitGroup): Duration => {
    const { uptime } = clock.now();
    const until = cooldowns.get(group)?.until ?? uptime;
    return milliseconds(Math.max(0, durationBetween(uptime, until)));
  };

  return {
    remaining,
    recordThrottled(group, startedAt, retryAfter) {
      const last = cooldowns.get(group);
      // Those that were under way together are one 429.
      if (last !== undefined && remaining(group) > 0 && startedAt < last.until)
        return { kind: 'throttled', retryAfter: remaining(group) };
      const inARow = (last?.inARow ?? 0) + 1;
      const wait = computeCooldown(retryAfter, inARow, random.fraction());
      cooldowns.set(group, { until: addDuration(clock.now().uptime, wait), inARow });
      log('info', `the service has had too many requests; the next goes out in ${Math.ceil(wait / 1_000)} s`, {
        group,
      });
      return { kind: 'throttled', retryAfter: wait };
    },
    recordAnswered(group, startedAt) {
      const last = cooldowns.get(group);
      if (last !== undefined && startedAt >= last.until) cooldowns.delete(group);
    },
  };
}
