/** Reads and writes numbers, times of day, daily windows and weekdays as people type them, and quotes a text safely. */

import type { LocalTime, LocalWindow, WeekTimes } from './load-types.ts';

/** Names become topics, file names and identifiers: an alphabet that needs no quoting anywhere. */
export const NAME_PATTERN = /^[a-z0-9_-]{1,64}$/;
export const LOCAL_TIME_PATTERN = /^([01]?\d|2[0-3]):([0-5]\d)$/;
export const LOCAL_WINDOW_PATTERN = /^((?:[01]?\d|2[0-3]):[0-5]\d)\s*-\s*((?:[01]?\d|2[0-3]):[0-5]\d)$/;
export const WEEKDAY_KEYS: readonly string[] = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
export const DAY_KEY_PATTERN = /^(?:daily|(?:sun|mon|tue|wed|thu|fri|sat)(?:-(?:sun|mon|tue|wed|thu|fri|sat))?)$/;

const MONTH_NAMES = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const ONE_MONTH = `(?:${MONTH_NAMES.join('|')})`;
export const MONTH_KEY_PATTERN = new RegExp(`^(?:all|${ONE_MONTH}(?:-${ONE_MONTH})?)$`);

const DECIMAL_PATTERN = /^[+-]?(?:\d+\.?\d*|\.\d+)$/;

/** A number in digits with at most a sign and a point; undefined for any other spelling, such as `0x10`, `1e1` or nothing. */
export function parseDecimal(text: string): number | undefined {
  const n = DECIMAL_PATTERN.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(n) ? n : undefined;
}

/** What to write instead of `7,2`; empty for any other text. */
export const hintDecimalPoint = (text: string) =>
  /^\s*[+-]?\d+,\d+\D*$/.test(text) ? `; write a decimal point: ${text.trim().replace(',', '.')}` : '';

/** Whether a text was UTF-16 before it was read as UTF-8. */
export const wasUtf16 = (text: string) => /^(?:\uFFFD{2}|[\s\S]{0,3}\0)/.test(text);

/** Minutes after midnight of `07:00`; undefined when it is no time of a day. */
export function parseLocalTime(text: string): LocalTime | undefined {
  const parts = LOCAL_TIME_PATTERN.exec(text);
  return parts === null ? undefined : Number(parts[1]) * 60 + Number(parts[2]);
}

export const formatLocalTime = (at: LocalTime) =>
  `${String(Math.floor(at / 60)).padStart(2, '0')}:${String(at % 60).padStart(2, '0')}`;

/** `01:00-05:00`; undefined when it is no window or an empty one. */
export function parseLocalWindow(text: string): LocalWindow | undefined {
  const parts = LOCAL_WINDOW_PATTERN.exec(text);
  const from = parseLocalTime(parts?.[1] ?? '');
  const to = parseLocalTime(parts?.[2] ?? '');
  return from === undefined || to === undefined || from === to ? undefined : { from, to };
}

/** Minutes from one local time to the next occurrence of another: a whole day when they are equal. */
export const countMinutesUntil = (from: LocalTime, to: LocalTime) => ((to - from + 1439) % 1440) + 1;

/** The days a key such as `mon-fri`, `sat` or `daily` names, 0 = Sunday; undefined when it names none. */
export function parseWeekdays(key: string): readonly number[] | undefined {
  if (!DAY_KEY_PATTERN.test(key)) return undefined;
  if (key === 'daily') return [0, 1, 2, 3, 4, 5, 6];
  const [first = '', last = first] = key.split('-');
  const from = WEEKDAY_KEYS.indexOf(first);
  const to = WEEKDAY_KEYS.indexOf(last);
  return Array.from({ length: ((to - from + 7) % 7) + 1 }, (_, i) => (from + i) % 7);
}

/** The months that a key such as `jun-sep`, `dec` or `all` names, 1 = January; undefined when it names none. */
export function parseMonths(key: string): readonly number[] | undefined {
  if (!MONTH_KEY_PATTERN.test(key)) return undefined;
  if (key === 'all') return MONTH_NAMES.map((_, i) => i + 1);
  const [first = '', last = first] = key.split('-');
  const from = MONTH_NAMES.indexOf(first);
  const count = ((MONTH_NAMES.indexOf(last) - from + 12) % 12) + 1;
  return Array.from({ length: count }, (_, i) => ((from + i) % 12) + 1);
}

export const formatMonth = (month: number) => MONTH_NAMES[month - 1] ?? '';

/** The same time on each of the days, or the result of `timeOn` for each. */
export const buildWeekTimes = (timeOn: (day: number) => LocalTime | undefined): WeekTimes => [
  timeOn(0),
  timeOn(1),
  timeOn(2),
  timeOn(3),
  timeOn(4),
  timeOn(5),
  timeOn(6),
];

/** The text as an error quotes it: cut after `longest` characters, and without characters that could act on a terminal. */
export const toSafeText = (text: string, longest: number) =>
  `${text.slice(0, longest)}${text.length > longest ? '…' : ''}`.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, '?');
