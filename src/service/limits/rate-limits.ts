/** The rate limits of an account and the cooldowns after a 429, by group (specification 8). */

import type { Clock, Log, Random } from '../../domain/ports.ts';
import { type Duration, milliseconds, minutes, type Uptime } from '../../domain/units.ts';
import { type Cooldowns, createCooldowns, type RateLimitGroup } from './cooldown.ts';
import { computeDeviceLimit, createRequestWindow, type RequestWindow } from './request-window.ts';

const WINDOW = minutes(5);
const MAX_REQUESTS = 3_000;
const MAX_LOGINS = 100;

export interface RateLimits extends Omit<Cooldowns, 'remaining'> {
  /** How long until one more request of the group may be sent; 0 when now. */
  computeWait(group: RateLimitGroup): Duration;
  /** A request is sent now; call the result when its answer began, or it failed. */
  reserve(group: RateLimitGroup): (endedAt: Uptime) => void;
}

export interface RateLimitOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** How many agents share the account. */
  readonly fleet: number;
}

export function createRateLimits({ clock, random, log, fleet }: RateLimitOptions): RateLimits {
  const requests = createRequestWindow(computeDeviceLimit(MAX_REQUESTS, fleet), WINDOW);
  const logins = createRequestWindow(computeDeviceLimit(MAX_LOGINS, fleet), WINDOW);
  const windows: Readonly<Record<RateLimitGroup, readonly RequestWindow[]>> = {
    data: [requests],
    login: [requests, logins],
    v1: [requests],
  };
  const { remaining, ...cooldowns } = createCooldowns({ clock, random, log });
  return {
    ...cooldowns,
    computeWait(group) {
      const { uptime } = clock.now();
      return milliseconds(Math.max(remaining(group), ...windows[group].map((window) => window.computeWait(uptime))));
    },
    reserve(group) {
      const { uptime } = clock.now();
      const reservations = windows[group].map((window) => window.reserve(uptime));
      return (endedAt) => {
        for (const reservation of reservations) reservation.ended(endedAt);
      };
    },
  };
}
