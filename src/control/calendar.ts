/** Which instant a local time of day is, and the reverse; knows gaps and doubled hours, never what time it is now. */

import type { LocalTime, LocalWindow, WeekTimes } from '../config/config.ts';
import { days, type Instant } from '../units.ts';
import { localDay, offsetAt } from '../zone.ts';

const MINUTE = 60_000;
const DAY = days(1) as number;
/** Every change of offset in use falls on a quarter hour of UTC. */
const QUARTER = 15 * MINUTE;

/** Minutes after local midnight at `at`. */
export const localTime = (timezone: string, at: Instant): LocalTime =>
  Math.floor((((at + offsetAt(timezone, at)) % DAY) + DAY) / MINUTE) % 1440;

/** 0 is Sunday. 1970-01-01 was a Thursday. */
export const weekdayOf = (day: number) => (((day + 4) % 7) + 7) % 7;

/** The instant of a local time. A missing time is the first instant after the gap, a doubled one the first of the two. */
export function instantOf(timezone: string, day: number, time: LocalTime): Instant {
  const local = day * DAY + time * MINUTE;
  const candidates = [offsetAt(timezone, local - DAY), offsetAt(timezone, local + DAY)].map((offset) => local - offset);
  const real = candidates.filter((at) => at + offsetAt(timezone, at) === local);
  if (real.length > 0) return Math.min(...real) as Instant;
  return endOfGap(timezone, Math.min(...candidates), Math.max(...candidates));
}

/** Between `before` and `after` the offset changes once: the quarter hour where it does. */
function endOfGap(timezone: string, before: number, after: number): Instant {
  const old = offsetAt(timezone, before);
  let low = Math.floor(before / QUARTER);
  let high = Math.ceil(after / QUARTER);
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(timezone, middle * QUARTER) === old) low = middle;
    else high = middle;
  }
  return (high * QUARTER) as Instant;
}

/** The first weekly deadline later than `now`, or undefined when no weekday has one. */
export function nextDeadline(timezone: string, by: WeekTimes, now: Instant): Instant | undefined {
  const today = localDay(timezone, now);
  for (let day = today - 1; day <= today + 8; day++) {
    const time = by[weekdayOf(day)];
    if (time === undefined) continue;
    const at = instantOf(timezone, day, time);
    if (at > now) return at;
  }
  return undefined;
}

/** The last weekly deadline before `at`, or undefined when no weekday has one. */
export function lastDeadline(timezone: string, by: WeekTimes, at: Instant): Instant | undefined {
  const today = localDay(timezone, at);
  for (let day = today + 1; day >= today - 8; day--) {
    const time = by[weekdayOf(day)];
    if (time === undefined) continue;
    const before = instantOf(timezone, day, time);
    if (before < at) return before;
  }
  return undefined;
}

/** The last time the local clock showed `time` before `at`. */
export function lastAt(timezone: string, time: LocalTime, at: Instant): Instant {
  const today = localDay(timezone, at);
  for (let day = today + 1; day > today - 2; day--) {
    const before = instantOf(timezone, day, time);
    if (before < at) return before;
  }
  return instantOf(timezone, today - 2, time);
}

/** Whether `now` lies in a daily window, and when that changes next. A window of equal ends is the whole day. */
export function windowAt(timezone: string, window: LocalWindow, now: Instant) {
  const today = localDay(timezone, now);
  const spill = window.to <= window.from ? 1 : 0;
  for (let day = today - 1; day <= today + 2; day++) {
    const from = instantOf(timezone, day, window.from);
    const to = instantOf(timezone, day + spill, window.to);
    if (now < from) return { inside: false, changesAt: from };
    if (now < to) return { inside: true, changesAt: to };
  }
  return { inside: false, changesAt: instantOf(timezone, today + 3, window.from) };
}

const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'] as const;

/** `07:00` on the day of `from`, else with the weekday before it. */
export function clockTime(timezone: string, at: Instant, from: Instant): string {
  const time = localTime(timezone, at);
  const text = `${String(Math.floor(time / 60)).padStart(2, '0')}:${String(time % 60).padStart(2, '0')}`;
  const day = localDay(timezone, at);
  return day === localDay(timezone, from) ? text : `${WEEKDAYS[weekdayOf(day)]} ${text}`;
}
