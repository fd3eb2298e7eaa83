/** Foretells values from what the device itself has seen at the same time of day. Never reads a forecast; gives nothing before three days are known. */

import { days, type Instant } from '../units.ts';
import { type Archive, covers, valueAt } from './archive.ts';

const DAY = days(1);
/** Each day back counts this much less: better on the recorded months than a plain mean of 7 days, and quicker to follow the season. */
const FADING = 0.85;
const SPAN = 14;
const USABLE = days(3);
/** An archive without news for longer than this says nothing any more. */
const STALE = days(14);

export const slotsPerDay = ({ period }: Archive): number => Math.max(1, Math.round(DAY / period));

/** The fading mean of the values seen at the same time of day up to two weeks before; NaN when none was. */
export function usualAt(archive: Archive, slot: number): number {
  const perDay = slotsPerDay(archive);
  const late = Math.max(1, Math.ceil((slot - archive.newest) / perDay));
  let sum = 0;
  let weights = 0;
  let weight = 1;
  for (let day = 0; day < SPAN; day++) {
    const value = valueAt(archive, slot - (late + day) * perDay);
    if (!Number.isNaN(value)) {
      sum += weight * value;
      weights += weight;
    }
    weight *= FADING;
  }
  return weights === 0 ? Number.NaN : sum / weights;
}

/** One day of usual values from a slot on. NaN where no day had one. */
export function usualDay(archive: Archive, slot: number): Float64Array {
  const day = new Float64Array(slotsPerDay(archive));
  for (let i = 0; i < day.length; i++) day[i] = usualAt(archive, slot + i);
  return day;
}

/** Until when the archive may foretell, from three days of values on; undefined when it may not at `now`. */
export function usableUntil(archive: Archive, now: Instant): Instant | undefined {
  const until = ((archive.newest + 1) * archive.period + STALE) as Instant;
  if (archive.newest < 0 || until <= now || !covers(archive, STALE, USABLE)) return undefined;
  return until;
}
