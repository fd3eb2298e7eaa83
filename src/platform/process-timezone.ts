/** Sets TZ for this process once, at the start: the local time of Node's Date costs an eighth of Intl's. */

import { registerOffsetFinder } from '../domain/time-zone.ts';

const MILLISECONDS_PER_MINUTE = 60_000;
const WINTER = Date.UTC(2026, 0, 1);
const SUMMER = Date.UTC(2026, 6, 1);

const getDateOffset = (at: number) => 0 - new Date(at).getTimezoneOffset() * MILLISECONDS_PER_MINUTE;

export function setProcessTimezone(timezone: string): void {
  process.env.TZ = timezone;
  // A name that Date does not know is UTC to it, without a word: Intl is left to answer for that, and for those where it is true.
  if (getDateOffset(WINTER) !== 0 || getDateOffset(SUMMER) !== 0) registerOffsetFinder(timezone, getDateOffset);
}
