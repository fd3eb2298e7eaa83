/** Which local day and month an instant belongs to, and when that day begins. Knows nothing of the device's own zone. */

import { days, hours, type Instant } from '../units.ts';

/** `2026-03-01` in one zone; months are its first seven letters. */
export type DayOf = (at: Instant) => string;

const QUARTER = 900_000;

/** Zones change their offset on the quarter hour, so one look a quarter of an hour is enough. */
export function dayIn(timezone: string): DayOf {
  const format = new Intl.DateTimeFormat('en-CA', {
    timeZone: timezone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  });
  const known = new Map<number, string>();
  return (at) => {
    const quarter = Math.floor(at / QUARTER);
    const held = known.get(quarter);
    if (held !== undefined) return held;
    if (known.size > 20_000) known.clear();
    const day = format.format(new Date(quarter * QUARTER));
    known.set(quarter, day);
    return day;
  };
}

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
