/** Converts between instants and local times of day, with the gaps and doubled hours of daylight saving. */

import type { LocalTime, LocalWindow, WeekTimes } from './load-types.ts';
import { formatLocalTime } from './text-format.ts';
import { formatLocalDate, getZoneOffset, toLocalDay } from './time-zone.ts';
import { days, type Instant } from './units.ts';

const MINUTE = 60_000;
const DAY = days(1) as number;
/** Every change of offset in use falls on a quarter hour of UTC. */
const QUARTER_HOUR = 15 * MINUTE;

/** Minutes after local midnight at `at`. */
export const toLocalTime = (timezone: string, at: Instant): LocalTime =>
  Math.floor((((at + getZoneOffset(timezone, at)) % DAY) + DAY) / MINUTE) % 1440;

/** 0 is Sunday. 1970-01-01 was a Thursday. */
export const toWeekday = (day: number) => (((day + 4) % 7) + 7) % 7;

/** The instant of a local time. A missing time is the first instant after the gap, a doubled one the first of the two. */
export function toInstant(timezone: string, day: number, time: LocalTime): Instant {
  const local = day * DAY + time * MINUTE;
  const candidates = [getZoneOffset(timezone, local - DAY), getZoneOffset(timezone, local + DAY)].map(
    (offset) => local - offset,
  );
  const matching = candidates.filter((at) => at + getZoneOffset(timezone, at) === local);
  if (matching.length > 0) return Math.min(...matching) as Instant;
  return findEndOfGap(timezone, Math.min(...candidates), Math.max(...candidates));
}

/** Between `before` and `after` the offset changes once: the quarter hour where it does. */
function findEndOfGap(timezone: string, before: number, after: number): Instant {
  const old = getZoneOffset(timezone, before);
  let low = Math.floor(before / QUARTER_HOUR);
  let high = Math.ceil(after / QUARTER_HOUR);
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (getZoneOffset(timezone, middle * QUARTER_HOUR) === old) low = middle;
    else high = middle;
  }
  return (high * QUARTER_HOUR) as Instant;
}

/** The first weekly deadline later than `now`, or undefined when no weekday has one. */
export function findNextDeadline(timezone: string, by: WeekTimes, now: Instant): Instant | undefined {
  const today = toLocalDay(timezone, now);
  for (let day = today - 1; day <= today + 8; day++) {
    const time = by[toWeekday(day)];
    if (time === undefined) continue;
    const at = toInstant(timezone, day, time);
    if (at > now) return at;
  }
  return undefined;
}

/** The last weekly deadline before `at`, or undefined when no weekday has one. */
export function findPreviousDeadline(timezone: string, by: WeekTimes, at: Instant): Instant | undefined {
  const today = toLocalDay(timezone, at);
  for (let day = today + 1; day >= today - 8; day--) {
    const time = by[toWeekday(day)];
    if (time === undefined) continue;
    const deadline = toInstant(timezone, day, time);
    if (deadline < at) return deadline;
  }
  return undefined;
}

/** The last time the local clock showed `time` before `at`. */
export function findPreviousOccurrence(timezone: string, time: LocalTime, at: Instant): Instant {
  const today = toLocalDay(timezone, at);
  for (let day = today + 1; day > today - 2; day--) {
    const occurrence = toInstant(timezone, day, time);
    if (occurrence < at) return occurrence;
  }
  return toInstant(timezone, today - 2, time);
}

/** Whether `now` lies in a daily window, and when that changes next. A window of equal ends is the whole day. */
export function checkWindow(timezone: string, window: LocalWindow, now: Instant) {
  const today = toLocalDay(timezone, now);
  const daysAcross = window.to <= window.from ? 1 : 0;
  for (let day = today - 1; day <= today + 2; day++) {
    const from = toInstant(timezone, day, window.from);
    const to = toInstant(timezone, day + daysAcross, window.to);
    if (now < from) return { inside: false, changesAt: from };
    if (now < to) return { inside: true, changesAt: to };
  }
  return { inside: false, changesAt: toInstant(timezone, today + 3, window.from) };
}

const WEEKDAY_NAMES = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'] as const;

/** `07:00` on the day of `from`, else with the weekday before it. */
export function formatClockTime(timezone: string, at: Instant, from: Instant): string {
  const text = formatLocalTime(toLocalTime(timezone, at));
  const day = toLocalDay(timezone, at);
  return day === toLocalDay(timezone, from) ? text : `${WEEKDAY_NAMES[toWeekday(day)]} ${text}`;
}

/** `2026-03-01 07:05`. */
export const formatLocalDateTime = (timezone: string, at: Instant): string =>
  `${formatLocalDate(timezone, at)} ${formatLocalTime(toLocalTime(timezone, at))}`;
