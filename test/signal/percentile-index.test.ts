/** The percentile of the present value, by hand. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Instant, minutes } from '../../src/domain/units.ts';
import { computeLocalIndex, rankAhead } from '../../src/signal/percentile-index.ts';
import { atSampleHour, hourlyPoints } from './signal-samples.ts';

const HOUR = minutes(60);
const points = (values: readonly number[], from = 0) =>
  values.map((value, h) => ({ at: atSampleHour(from + h), value }));
const day = (value: number) => new Array<number>(24).fill(value);
/** The first value, then the rest of 24 hours. */
const against = (present: number, rest: readonly number[]) => points([present, ...rest]);

describe('the index of a forecast', () => {
  const rest = [...new Array<number>(10).fill(1), ...new Array<number>(5).fill(2), ...new Array<number>(8).fill(3)];
  //  case                       points                         strict        weak           mid            pool  quality     flat
  const rows = [
    ['cleanest of all', against(0, rest), 0, 100 / 24, 50 / 24, 24, 'full', false],
    ['ties share their rank', against(2, rest), 1000 / 24, 1600 / 24, 1300 / 24, 24, 'full', false],
    ['dirtiest of all', against(9, rest), 2300 / 24, 100, 2350 / 24, 24, 'full', false],
    ['negative and zero count', against(-5, [...day(0)].slice(1)), 0, 100 / 24, 50 / 24, 24, 'full', false],
    ['a flat grid says nothing', points(day(7)), 0, 100, 50, 24, 'full', true],
    ['21 hours are full', points(day(1).slice(0, 21)), 0, 100, 50, 21, 'full', true],
    ['20 hours are degraded', points(day(1).slice(0, 20)), 0, 100, 50, 20, 'degraded', true],
    ['18 hours are degraded', points(day(1).slice(0, 18)), 0, 100, 50, 18, 'degraded', true],
    ['17 hours are none', points(day(1).slice(0, 17)), undefined, undefined, undefined, 17, 'none', false],
    ['no value for now', points(day(1).slice(1), 1), undefined, undefined, undefined, 23, 'none', false],
    ['the 25th hour is outside', points([5, ...day(9), 0]), 0, 100 / 24, 50 / 24, 24, 'full', false],
    ['the past is outside', points([0, 5, ...day(9)], -1), 0, 100 / 24, 50 / 24, 24, 'full', false],
    ['NaN is no value', against(2, [...rest.slice(1), Number.NaN]), 900 / 23, 1500 / 23, 1200 / 23, 23, 'full', false],
    [
      'the last of a repeated point wins',
      [...against(2, rest), { at: atSampleHour(0), value: 9 }],
      2300 / 24,
      100,
      2350 / 24,
      24,
      'full',
      false,
    ],
  ] as const;
  it.each(rows)('%s', (_, given, strict, weak, mid, pool, quality, flat) => {
    const index = computeLocalIndex(given, HOUR, atSampleHour(0.5));
    expect(index).toMatchObject({ pointTime: atSampleHour(0), pool, quality, flat });
    for (const [value, wanted] of [
      [index.strict, strict],
      [index.weak, weak],
      [index.mid, mid],
    ] as const)
      if (wanted === undefined) expect(value).toBeUndefined();
      else expect(value).toBeCloseTo(wanted, 12);
  });

  it('does not depend on the order of the points', () => {
    const forward = hourlyPoints(0, [3, 1, 2, ...day(2)]);
    expect(computeLocalIndex(forward.toReversed(), minutes(5), atSampleHour(0))).toEqual(
      computeLocalIndex(forward, minutes(5), atSampleHour(0)),
    );
  });

  it.each([
    [0, 0],
    [0.999, 0],
    [1, 1],
  ])('%s h lies in the slot of %s h', (now, slot) =>
    expect(computeLocalIndex(points([...day(1), 1]), HOUR, atSampleHour(now) as Instant).pointTime).toBe(
      atSampleHour(slot),
    ),
  );
});

describe('the ranks ahead', () => {
  const value = fc.oneof(
    { weight: 12, arbitrary: fc.integer({ min: -3, max: 5 }) },
    { weight: 6, arbitrary: fc.double({ min: -9, max: 9, noNaN: true }) },
    fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY),
  );
  it('are the index of each hour of the same forecast, as far as it reaches', () =>
    fc.assert(
      fc.property(
        fc.array(value, { maxLength: 60 }),
        fc.constantFrom('strict' as const, 'mid' as const, 'weak' as const),
        (values, ties) => {
          const wanted = values.slice(0, Math.max(0, values.length - 17)).map((_, hour) => {
            const index = computeLocalIndex(points(values), HOUR, atSampleHour(hour));
            return index.flat ? Number.NaN : (index[ties] ?? Number.NaN);
          });
          expect(rankAhead(values, HOUR, ties)).toEqual(wanted);
        },
      ),
    ));
});
