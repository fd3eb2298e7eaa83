/** Foretells values from what the device itself has seen at the same time of day. Never reads a forecast; gives nothing before three days are known. */

import { days, type Instant } from '../units.ts';
import { type Archive, coverage, slotOf, valueAt } from './archive.ts';

const DAY = days(1);
const SPAN = 7;
const USABLE = days(3);
/** An archive without news for longer than this says nothing any more. */
const STALE = days(14);

/** Until when the archive may foretell; undefined when fewer than three days of values are known. */
export function profileValidUntil(archive: Archive): Instant | undefined {
  if (archive.newest < 0 || coverage(archive, STALE) < USABLE) return undefined;
  return ((archive.newest + 1) * archive.period + STALE) as Instant;
}

/** The mean of up to seven values seen at the same time of day, the latest first; NaN when none was. */
function sameTimeMean(archive: Archive, slot: number, perDay: number): number {
  let sum = 0;
  let found = 0;
  const late = Math.max(1, Math.ceil((slot - archive.newest) / perDay));
  const oldest = archive.newest - archive.ring.length;
  for (let past = slot - late * perDay; past > oldest && found < SPAN; past -= perDay) {
    const value = valueAt(archive, past);
    if (Number.isNaN(value)) continue;
    sum += value;
    found++;
  }
  return found === 0 ? Number.NaN : sum / found;
}

/** `count` values from the slot that holds `from`. NaN where no day had one; all NaN while the archive is too young. */
export function profile(archive: Archive, from: Instant, count: number): number[] {
  const perDay = Math.round(DAY / archive.period);
  const first = slotOf(archive, from);
  const means = Array.from({ length: Math.min(count, perDay) }, (_, i) => sameTimeMean(archive, first + i, perDay));
  return Array.from({ length: count }, (_, i) => means[i % perDay] ?? Number.NaN);
}

/** The archive as the ladder asks it: usable from three days of values on. */
export const usable = (archive: Archive, now: Instant): Instant | undefined => {
  const until = profileValidUntil(archive);
  return until !== undefined && until > now ? until : undefined;
};
