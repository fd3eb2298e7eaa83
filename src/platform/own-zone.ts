/** Lets this process live in one time zone, whose local time Node's Date then tells for an eighth of what Intl takes. Sets TZ, once, at the start. */

import { measureBy } from '../zone.ts';

const MINUTE = 60_000;
const WINTER = Date.UTC(2026, 0, 1);
const SUMMER = Date.UTC(2026, 6, 1);

const offsetOf = (at: number) => 0 - new Date(at).getTimezoneOffset() * MINUTE;

export function liveIn(timezone: string): void {
  process.env.TZ = timezone;
  // A name that Date does not know is UTC to it, without a word: Intl is left to answer for that, and for those where it is true.
  if (offsetOf(WINTER) !== 0 || offsetOf(SUMMER) !== 0) measureBy(timezone, offsetOf);
}
