/** When a point is published, whether it was imputed at first, and when it is corrected. */

import type { SeededGrid } from './seeded-grid.ts';
import { SLOT } from './seeded-grid.ts';
import { drawFraction } from './seeded-random.ts';

const MINUTE = 60_000;
const HOUR = 3_600_000;

export interface PublishedPoint {
  readonly value: number;
  readonly lastUpdated: number;
  readonly imputed: boolean;
  /** When the point will be shown otherwise; infinite for one that is settled. */
  readonly changesAt: number;
}

/** How long after `point_time` a place publishes: most within a minute, some within the hour, a few hours at worst. */
export function computePublicationDelay(seed: number, prompt: boolean): number {
  const share = drawFraction(seed, 0);
  const within = drawFraction(seed, 1);
  if (prompt || share < 0.5) return (20 + Math.floor(within * 35)) * 1_000;
  if (share < 0.8) return (2 + Math.floor(within * 13)) * MINUTE;
  if (share < 0.95) return (30 + Math.floor(within * 30)) * MINUTE;
  return (120 + Math.floor(within * 60)) * MINUTE;
}

const RESTATED_SHARE = 0.02;
const IMPUTED_SHARE = 0.012;

/** What the service shows at `now` of the point at `time`; undefined while it is not published. */
export function findPublishedPoint(
  grid: SeededGrid,
  seed: number,
  delay: number,
  time: number,
  now: number,
): PublishedPoint | undefined {
  const first = time + delay;
  if (now < first) return undefined;
  const slot = Math.floor(time / SLOT);
  const run = Math.floor(time / (3 * HOUR));
  if (drawFraction(seed, run * 8 + 2) < IMPUTED_SHARE) {
    const filledIn = drawFraction(seed, run * 8 + 3) < 0.67;
    const known = first + (24 + Math.floor(48 * drawFraction(seed, run * 8 + 4))) * HOUR;
    const late = filledIn && now >= known;
    return {
      value: late ? grid.trueRate(slot) : grid.expectedRate(slot),
      lastUpdated: late ? known : first,
      imputed: !late,
      changesAt: filledIn && !late ? known : Number.POSITIVE_INFINITY,
    };
  }
  const settled = {
    value: grid.trueRate(slot),
    lastUpdated: first,
    imputed: false,
    changesAt: Number.POSITIVE_INFINITY,
  };
  const hour = Math.floor(time / HOUR);
  if (drawFraction(seed, hour * 8 + 5) < RESTATED_SHARE) {
    const corrected = first + (6 + Math.floor(114 * drawFraction(seed, hour * 8 + 6))) * HOUR;
    if (now >= corrected) return { ...settled, lastUpdated: corrected };
    const slip = 1 + 0.3 * (drawFraction(seed, hour * 8 + 7) - 0.5);
    return { ...settled, value: settled.value * slip, changesAt: corrected };
  }
  return settled;
}
