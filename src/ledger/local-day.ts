/** Which local day and month an instant belongs to, and when that day begins. Knows nothing of the device's own zone. */

import { days, hours, type Instant } from '../units.ts';
import { localDate } from '../zone.ts';

/** `2026-03-01` in one zone; months are its first seven letters. */
export type DayOf = (at: Instant) => string;

const QUARTER = 900_000;

export const dayIn =
  (timezone: string): DayOf =>
  (at) =>
    localDate(timezone, at);

/** First instant of the local day that holds `at`, to the quarter hour. */
export function dayStart(dayOf: DayOf, at: Instant): Instant {
  const day = dayOf(at);
  let late = Math.floor(at / QUARTER);
  let early = late - Math.ceil(hours(26) / QUARTER);
  while (late - early > 1) {
    const middle = Math.floor((late + early) / 2);
    if (dayOf((middle * QUARTER) as Instant) === day) late = middle;
    else early = middle;
  }
  return (late * QUARTER) as Instant;
}

/** First instant of the local day after the one that holds `at`. */
export const nextDayStart = (dayOf: DayOf, at: Instant): Instant =>
  dayStart(dayOf, (dayStart(dayOf, at) + days(1) + hours(3)) as Instant);
