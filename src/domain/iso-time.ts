/** Parses ISO times strictly: a date that does not exist, or a time without a zone, is refused. */

import type { Instant } from './units.ts';

/** Longer than any spelling of a time. */
const MAX_LENGTH = 40;
const ISO_PATTERN = /^.{10}[T ].{5}(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)$/;

/** The digits from `from` to before `to` as a number; NaN when one of them is none. A month of history has 18,000 times: no regular expression here. */
function parseDigits(text: string, from: number, to: number): number {
  let n = 0;
  for (let i = from; i < to; i++) {
    const digit = text.charCodeAt(i) - 48;
    if (!(digit >= 0 && digit <= 9)) return Number.NaN;
    n = n * 10 + digit;
  }
  return n;
}

const isLeapYear = (year: number) => (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
const countDaysInMonth = (month: number, year: number) =>
  month === 2 ? (isLeapYear(year) ? 29 : 28) : month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;

const isWithin = (n: number, low: number, high: number) => n >= low && n <= high;

/** `YYYY-MM-DD?HH:MM` at the start of the text, as UTC; NaN when it is no moment of the calendar. */
function parseDateAndMinute(text: string): number {
  const [year, month, day] = [parseDigits(text, 0, 4), parseDigits(text, 5, 7), parseDigits(text, 8, 10)];
  const [hour, minute] = [parseDigits(text, 11, 13), parseDigits(text, 14, 16)];
  // `Date.UTC` reads the years before 100 as years of the last century.
  const isDate = year >= 100 && isWithin(month, 1, 12) && isWithin(day, 1, countDaysInMonth(month, year));
  const isSpelled = text[4] === '-' && text[7] === '-' && text[13] === ':';
  if (!isDate || !isSpelled || !isWithin(hour, 0, 23) || !isWithin(minute, 0, 59)) return Number.NaN;
  return Date.UTC(year, month - 1, day, hour, minute);
}

/** Minutes east of UTC by the end of the text; NaN without a zone. */
function parseZoneMinutes(text: string): number {
  if (text.endsWith('Z') || text.endsWith('+00:00')) return 0;
  const [, sign, hours, minutes] = /([+-])(\d\d):?(\d\d)$/.exec(text) ?? [];
  if (!isWithin(Number(hours), 0, 23) || !isWithin(Number(minutes), 0, 59)) return Number.NaN;
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
}

/** Milliseconds that the text adds to its minute. */
function parseSecondsPart(text: string): number {
  if (text[16] !== ':') return 0;
  const seconds = parseDigits(text, 17, 19);
  if (!isWithin(seconds, 0, 59)) return Number.NaN;
  const fraction = text[19] === '.' ? Number.parseFloat(text.slice(19)) : 0;
  return seconds * 1_000 + Math.floor(fraction * 1_000);
}

/** The service writes `2026-03-01T07:05:00+00:00`; every other spelling is checked whole. */
const isServiceSpelling = (text: string) =>
  text.length === 25 && text[10] === 'T' && text[16] === ':' && text.endsWith('+00:00');

/** An ISO 8601 date-time with a zone, to the millisecond; undefined for anything else, 30 February too. */
export function parseInstant(text: unknown): Instant | undefined {
  if (typeof text !== 'string' || text.length > MAX_LENGTH || !(isServiceSpelling(text) || ISO_PATTERN.test(text)))
    return undefined;
  const at = parseDateAndMinute(text) + parseSecondsPart(text) - parseZoneMinutes(text) * 60_000;
  return Number.isNaN(at) ? undefined : (at as Instant);
}
