/** Measures the difference between the service's clock and our wall clock. */

import type { ClockReading } from '../../domain/ports.ts';
import { type Duration, type Instant, milliseconds } from '../../domain/units.ts';

/** The median of this many answers: one delayed answer does not move it. */
const SAMPLE_COUNT = 3;
/** A Date header outside these years is a fault of the server: by it every forecast would be out of date. */
const EARLIEST_DATE = Date.UTC(2020, 0);
const LATEST_DATE = Date.UTC(2100, 0);
/** A Date header is cut to whole seconds: the truth lies half of one later on average. */
const DATE_TRUNCATION = 500;

export interface ClockSkew {
  record(date: Instant | undefined, before: ClockReading, estimate: ClockReading): void;
  /** Service minus wall clock; undefined before the first answer. */
  estimate(now: ClockReading): Duration | undefined;
}

export function createClockSkew(): ClockSkew {
  /** Service time minus uptime, newest last: a step of our wall clock leaves it as it is. */
  let samples: readonly number[] = [];
  return {
    record(date, before, now) {
      if (date === undefined || date < EARLIEST_DATE || date >= LATEST_DATE) return;
      const middle = (before.uptime + now.uptime) / 2;
      samples = [...samples, date + DATE_TRUNCATION - middle].slice(-SAMPLE_COUNT);
    },
    estimate({ wall, uptime }) {
      const sorted = [...samples].sort((a, b) => a - b);
      const median = sorted[Math.floor((sorted.length - 1) / 2)];
      return median === undefined ? undefined : milliseconds(median + uptime - wall);
    },
  };
}
