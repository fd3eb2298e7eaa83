/** Decides how long to wait before each next request of signal data. Never asks, and never knows what a request costs. */

import { type Duration, days, floorTo, type Instant, milliseconds, minutes } from '../units.ts';
import type { Moment } from '../world.ts';
import type { Held } from './held.ts';

/** `forecast` and `live-index` come each period of the service; `map` and `access` rarely. */
export type Ask = 'forecast' | 'live-index' | 'map' | 'access';

/** The last request of one kind. */
export interface Asked {
  readonly at: Moment;
  /** Given after a failure: how long to leave it alone from `at` on. */
  readonly wait?: Duration;
}

/** Until the service has told its period. */
const ASSUMED_PERIOD = minutes(5);
/** Published values are there a little after their period begins. */
const PUBLICATION = milliseconds(5_000);
/** Devices spread over half a period: at most twice the mean load on the service. */
const SPREAD = 0.5;
/** At least once a month (specification 8); with a margin for a month of outages. */
const MAP_RENEWAL = days(27);
const ACCESS_RENEWAL = days(1);

function periodOf(held: Held, ask: 'forecast' | 'live-index'): Duration {
  const period = ask === 'forecast' ? held.forecast?.generatedPeriod : held.live?.period;
  return period !== undefined && period >= minutes(1) ? period : ASSUMED_PERIOD;
}

/** From `now` to this device's moment in the next period that has not been asked for. */
function untilNextIssue(period: Duration, askedAt: Instant, now: Instant, phase: number): Duration {
  const offset = PUBLICATION + phase * SPREAD * period;
  const next = floorTo((askedAt - offset) as Instant, period) + period + offset;
  return milliseconds(Math.max(0, next - now));
}

/**
 * How long from `now` until the next request of this kind; 0 means at once. `phase` in [0, 1) is the device's own and stable.
 * Index and forecast of one period share their moment, so that one token of 30 minutes serves both: two logins an hour at most.
 */
export function nextAsk(ask: Ask, held: Held, asked: Asked | undefined, now: Moment, phase: number): Duration {
  if (asked === undefined) return milliseconds(0);
  const since = now.uptime - asked.at.uptime;
  if (asked.wait !== undefined) return milliseconds(Math.max(0, asked.wait - since));
  switch (ask) {
    case 'map':
      return milliseconds(Math.max(0, MAP_RENEWAL - since));
    case 'access':
      return milliseconds(Math.max(0, ACCESS_RENEWAL - since));
    case 'forecast':
    case 'live-index': {
      const period = periodOf(held, ask);
      // The wall clock may have jumped since: what counts is when the request was by today's clock.
      const next = untilNextIssue(period, (now.wall - since) as Instant, now.wall, phase);
      return milliseconds(Math.min(next, 2 * period));
    }
  }
}
