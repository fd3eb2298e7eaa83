/** Reads the times of the interface strictly, and writes none: a date that does not exist or has no zone is no time. */

import type { Instant } from '../units.ts';

const ISO = /^(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(?:(Z)|([+-])(\d\d):?(\d\d))$/;

/** An ISO 8601 date-time with a zone, to the millisecond; undefined for anything else, 30 February too. */
export function instantOf(text: unknown): Instant | undefined {
  const match = typeof text === 'string' && text.length <= 40 ? ISO.exec(text) : null;
  if (match === null) return undefined;
  const part = (i: number) => Number(match[i] ?? 0);
  const [year, month, day, hour, minute, second] = [part(1), part(2), part(3), part(4), part(5), part(6)];
  if (hour > 23 || minute > 59 || second > 59 || part(10) > 23 || part(11) > 59) return undefined;
  const date = Date.UTC(year, month - 1, day);
  // Date.UTC carries a 31st of a short month over into the next.
  if (month < 1 || month > 12 || day < 1 || new Date(date).getUTCDate() !== day) return undefined;
  const fraction = Math.floor(Number(`0.${match[7] ?? 0}`) * 1_000);
  const offset = (match[9] === '-' ? -1 : 1) * (part(10) * 60 + part(11));
  return (date + ((hour * 60 + minute - offset) * 60 + second) * 1_000 + fraction) as Instant;
}
