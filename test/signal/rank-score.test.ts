/** The distances that ranks hide. */

import { describe, expect, it } from 'vitest';
import type { Percentile } from '../../src/domain/units.ts';
import { toRankScore } from '../../src/signal/rank-score.ts';

const of = (rank: number) => toRankScore(rank as Percentile);

describe('stretched ranks', () => {
  it.each([
    // rank  stretched
    [50, 50],
    [25, 39.0139],
    [75, 60.9861],
    [1, 4.0488],
    [99, 95.9512],
    // The very ends are finite and positive: a plan sums them.
    [0, 4.0488],
    [100, 95.9512],
  ])('%d is %d', (rank, value) => expect(of(rank)).toBeCloseTo(value, 3));

  it('ten ranks near an end are worth more than ten in the middle', () =>
    expect(of(12) - of(2)).toBeGreaterThan(3 * (of(55) - of(45))));

  it('keep their order', () => {
    const ranks = Array.from({ length: 98 }, (_, i) => of(i + 1));
    expect(ranks).toEqual([...ranks].sort((a, b) => a - b));
    expect(new Set(ranks).size).toBe(98);
  });
});
