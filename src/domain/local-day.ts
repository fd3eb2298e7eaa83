/** The local day and month of an instant, and the start of a day. */

import { formatLocalDate } from './time-zone.ts';
import { days, hours, type Instant } from './units.ts';

/** `2026-03-01` in one zone; months are its first seven letters. */
export type DayFormatter = (at: Instant) => string;

const QUARTER_HOUR = 900_000;

export const createDayFormatter =
  (timezone: string): DayFormatter =>
  (at) =>
    formatLocalDate(timezone, at);

/** First instant of the local day that contains `at`, to the quarter hour. */
export function findDayStart(formatDay: DayFormatter, at: Instant): Instant {
  const day = formatDay(at);
  let late = Math.floor(at / QUARTER_HOUR);
  let early = late - Math.ceil(hours(26) / QUARTER_HOUR);
  while (late - early > 1) {
    const middle = Math.floor((late + early) / 2);
    if (formatDay((middle * QUARTER_HOUR) as Instant) === day) late = middle;
    else early = middle;
  }
  return (late * QUARTER_HOUR) as Instant;
}

/** First instant of the local day after the one that contains `at`. */
export const findNextDayStart = (formatDay: DayFormatter, at: Instant): Instant =>
  findDayStart(formatDay, (findDayStart(formatDay, at) + days(1) + hours(3)) as Instant);
