/** Measures how far the service's clock is from our wall clock; decides nothing about which of them is right. */

import { type Duration, type Instant, milliseconds } from '../units.ts';
import type { Moment } from '../world.ts';

/** The median of this many answers: one delayed answer does not move it. */
const SAMPLES = 3;
/** A Date header is cut to whole seconds: the truth lies half of one later on average. */
const HALF_SECOND = 500;

export interface Skew {
  seen(date: Instant | undefined, before: Moment, now: Moment): void;
  /** Service minus wall clock; undefined before the first answer. */
  now(now: Moment): Duration | undefined;
}

export function createSkew(): Skew {
  /** Service time minus uptime, newest last: a step of our wall clock leaves it as it is. */
  let samples: readonly number[] = [];
  return {
    seen(date, before, now) {
      if (date === undefined) return;
      const middle = (before.uptime + now.uptime) / 2;
      samples = [...samples, date + HALF_SECOND - middle].slice(-SAMPLES);
    },
    now({ wall, uptime }) {
      const sorted = [...samples].sort((a, b) => a - b);
      const median = sorted[Math.floor((sorted.length - 1) / 2)];
      return median === undefined ? undefined : milliseconds(median + uptime - wall);
    },
  };
}
