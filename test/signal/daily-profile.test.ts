/** What the device foretells from what it has seen. */

import { describe, expect, it } from 'vitest';
import { minutes } from '../../src/domain/units.ts';
import { buildDailyProfile, findProfileEnd, getProfileValue } from '../../src/signal/daily-profile.ts';
import { createValueHistory, getSeenValue, recordValues } from '../../src/signal/value-history.ts';
import { atSampleHour, hourlyPoints } from './signal-samples.ts';

const FIVE = minutes(5);
const SLOT0 = atSampleHour(0) / FIVE;
const archived = (days: number, value: (day: number, hour: number) => number) =>
  recordValues(
    createValueHistory(FIVE),
    hourlyPoints(
      -24 * days,
      Array.from({ length: 24 * days }, (_, h) => value(Math.floor(h / 24) - days, h % 24)),
    ),
    atSampleHour(0),
  );

describe('the archive', () => {
  it('forgets what is older than it is long, and gaps are unknown', () => {
    const four = archived(35, (_, hour) => hour);
    const later = recordValues(four, [{ at: atSampleHour(24), value: 5 }], atSampleHour(24));
    expect([later.newestSlot - four.newestSlot, later.ring.length]).toEqual([289, 28 * 288]);
    expect([...later.ring].filter((value) => Number.isNaN(value)).length).toBe(288);
  });
  it.each([
    [60, 30],
    [65, Number.NaN],
  ])('of values %i minutes apart holds %d half an hour after the first', (apart, between) => {
    const points = [0, apart].map((minute) => ({ at: atSampleHour(minute / 60), value: minute }));
    const joined = recordValues(createValueHistory(FIVE), points, atSampleHour(24));
    expect([0, 30, apart].map((minute) => getSeenValue(joined, SLOT0 + minute / 5))).toEqual([0, between, apart]);
  });
  it('of values each half hour foretells each slot', () => {
    const halves = Array.from({ length: 5 * 48 }, (_, i) => ({ at: atSampleHour(i / 2), value: i % 48 }));
    const day = buildDailyProfile(recordValues(createValueHistory(FIVE), halves, atSampleHour(120)), SLOT0 + 5 * 288);
    expect(day.every((value, i) => i >= 282 || Math.abs(value - i / 6) < 1e-4)).toBe(true);
    expect(day.some(Number.isNaN)).toBe(false);
  });
  it('after two months of silence the days before it count as the last ones, each at its time of day', () => {
    const spring = archived(10, (_, hour) => 100 * hour);
    const summer = recordValues(spring, [{ at: atSampleHour(24 * 60 + 3), value: 7 }], atSampleHour(24 * 60 + 3));
    expect(getProfileValue(summer, SLOT0 + 60 * 288 + 12 * 9)).toBeCloseTo(900, 9);
    expect(findProfileEnd(summer, atSampleHour(24 * 60 + 3))).toBeDefined();
  });
  it('takes nothing of the future, nothing that is no number', () => {
    const empty = createValueHistory(FIVE);
    expect(
      recordValues(
        empty,
        [
          { at: atSampleHour(1), value: 5 },
          { at: atSampleHour(0), value: Number.NaN },
        ],
        atSampleHour(0.5),
      ),
    ).toBe(empty);
  });
  it('an old value never overwrites the slot that has taken its place', () => {
    const full = archived(28, () => 1);
    expect(recordValues(full, [{ at: atSampleHour(-24 * 28 - 1), value: 9 }], atSampleHour(0)).ring).toEqual(full.ring);
  });
});

describe('the profile', () => {
  it('is the same time of day as it was, for one day', () => {
    const values = buildDailyProfile(
      archived(7, (_, hour) => 100 * hour),
      SLOT0 + 36,
    );
    expect([values.length, ...[0, 12, 287].map((i) => Number((values[i] ?? 0).toFixed(9)))]).toEqual([
      288, 300, 400, 200,
    ]);
  });
  it('the last days count most', () => {
    const [yesterday, before, sum] = [1, 0.85, 1 + 0.85 + 0.85 ** 2];
    const risen = archived(3, (day) => (day === -1 ? 100 : day === -2 ? 50 : 0));
    expect(getProfileValue(risen, SLOT0)).toBeCloseTo((100 * yesterday + 50 * before) / sum, 4);
  });
  it('beyond the next day it knows no more', () => {
    const week = archived(7, (day, hour) => 10 * hour + day);
    expect(getProfileValue(week, SLOT0 + 288 + 40)).toBe(getProfileValue(week, SLOT0 + 40));
  });
  //  days seen   asked after (days)   usable
  it.each([
    [2.9, 0, false],
    [3, 0, true],
    [7, 7, true],
    [7, 13.9, true],
    [7, 14.1, false],
  ])('%s days seen, asked %s days later: %s', (seen, later, wanted) =>
    expect(
      findProfileEnd(
        archived(seen, () => 1),
        atSampleHour(24 * later),
      ) !== undefined,
    ).toBe(wanted),
  );
});
