/** When the region is asked for again. */

import { describe, expect, it } from 'vitest';
import { addDuration, days, hours, type Instant, subtractDuration } from '../../src/domain/units.ts';
import { isCheckOverdue, type RefreshState, scheduleMapRefresh } from '../../src/region/refresh-policy.ts';
import { NOW } from './region-setup.ts';

const state = (more: Partial<RefreshState>): RefreshState => ({ device: 'cellar', now: NOW, failures: 0, ...more });
const inDays = (instant: Instant) => (instant - NOW) / 86_400_000;

describe('when to look again', () => {
  it('at once when never looked', () => expect(scheduleMapRefresh(state({}))).toEqual({ at: NOW, why: 'first' }));

  it('within 28 days of any look, at the same moments after any restart', () => {
    const moments = new Set<number>();
    for (let day = 0; day < 28; day++) {
      const next = scheduleMapRefresh(state({ checkedAt: subtractDuration(NOW, days(day)) }));
      expect(next.why).toBe('regular');
      expect(next.at - subtractDuration(NOW, days(day))).toBeLessThanOrEqual(days(28));
      expect(next.at - subtractDuration(NOW, days(day))).toBeGreaterThan(0);
      moments.add(next.at % days(28));
    }
    expect(moments.size).toBe(1);
  });

  it('a fleet is spread over the month', () => {
    const perDay = new Array<number>(28).fill(0);
    for (let i = 0; i < 2_800; i++) {
      const day = Math.floor(inDays(scheduleMapRefresh(state({ device: `device-${i}`, checkedAt: NOW })).at));
      perDay[day] = (perDay[day] ?? 0) + 1;
    }
    expect(Math.min(...perDay)).toBeGreaterThan(50);
    expect(Math.max(...perDay)).toBeLessThan(170);
  });

  it('a look in the future was made by a wrong clock and does not count', () =>
    expect(scheduleMapRefresh(state({ checkedAt: addDuration(NOW, days(400)) })).why).toBe('first'));

  const refused = { since: NOW, why: 'region-refused' } as const;
  it('within the hour when the region is refused, spread over devices', () => {
    const checkedAt = subtractDuration(NOW, hours(25));
    const moments = ['a', 'b', 'c', 'd'].map((device) =>
      scheduleMapRefresh(state({ device, checkedAt, early: refused })),
    );
    for (const { at, why } of moments) {
      expect(why).toBe('region-refused');
      expect(at - NOW).toBeLessThan(hours(1));
    }
    expect(new Set(moments.map(({ at }) => at)).size).toBe(4);
  });

  it('not sooner than a day after the last look', () =>
    expect(scheduleMapRefresh(state({ checkedAt: subtractDuration(NOW, hours(2)), early: refused })).at).toBe(
      addDuration(NOW, hours(22)),
    ));

  it('a refusal from before the last look is settled', () => {
    const early = { since: subtractDuration(NOW, days(4)), why: 'region-not-in-access' } as const;
    expect(scheduleMapRefresh(state({ checkedAt: subtractDuration(NOW, days(3)), early })).why).toBe('regular');
  });

  //  failures, hours until the next try
  it.each([
    [1, 1],
    [2, 2],
    [3, 4],
    [5, 16],
    [6, 24],
    [1_000, 24],
  ])('after %d failures in a row, %d hours later', (failures, wait) =>
    expect(scheduleMapRefresh(state({ failures, failedAt: NOW }))).toEqual({
      at: addDuration(NOW, hours(wait)),
      why: 'retry',
    }),
  );

  it.each([
    [undefined, true],
    [subtractDuration(NOW, days(30)), false],
    [subtractDuration(NOW, days(32)), true],
  ])('overdue after a month', (checkedAt, expected) => expect(isCheckOverdue(checkedAt, NOW)).toBe(expected));
});
