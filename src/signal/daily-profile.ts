/** Predicts values from the device's own history at the same time of day, once it covers three days. */

import { days, type Instant } from '../domain/units.ts';
import { hasCoverage, seenValueAt, type ValueHistory } from './value-history.ts';

const DAY = days(1);
/** Each day back counts this much less: better on the recorded months than a plain mean of 7 days, and quicker to follow the season. */
const DAILY_FADING = 0.85;
const PROFILE_DAYS = 14;
const LEAST_COVERAGE = days(3);
/** An archive without news for longer than this says nothing any more. */
const MAX_PROFILE_AGE = days(14);

const countSlotsPerDay = ({ period }: ValueHistory): number => Math.max(1, Math.round(DAY / period));

/** The fading mean of the values seen at the same time of day up to two weeks before; NaN when none was. */
export function profileValueAt(history: ValueHistory, slot: number): number {
  const perDay = countSlotsPerDay(history);
  const daysBack = Math.max(1, Math.ceil((slot - history.newestSlot) / perDay));
  let sum = 0;
  let weights = 0;
  let weight = 1;
  for (let day = 0; day < PROFILE_DAYS; day++) {
    const value = seenValueAt(history, slot - (daysBack + day) * perDay);
    if (!Number.isNaN(value)) {
      sum += weight * value;
      weights += weight;
    }
    weight *= DAILY_FADING;
  }
  return weights === 0 ? Number.NaN : sum / weights;
}

/** One day of usual values from a slot on. NaN where no day had one. */
export function buildDailyProfile(history: ValueHistory, slot: number): Float64Array {
  const day = new Float64Array(countSlotsPerDay(history));
  for (let i = 0; i < day.length; i++) day[i] = profileValueAt(history, slot + i);
  return day;
}

/** Until when the archive may foretell, from three days of values on; undefined when it may not at `now`. */
export function profileUsableUntil(history: ValueHistory, now: Instant): Instant | undefined {
  const until = ((history.newestSlot + 1) * history.period + MAX_PROFILE_AGE) as Instant;
  if (history.newestSlot < 0 || until <= now || !hasCoverage(history, MAX_PROFILE_AGE, LEAST_COVERAGE))
    return undefined;
  return until;
}
