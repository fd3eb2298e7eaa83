/** Which published rates are asked for, and what of the answer is kept. */

import { describe, expect, it } from 'vitest';
import type { Entry } from '../../src/ledger/entries.ts';
import { settlement, unsettled } from '../../src/ledger/settle.ts';
import type { History } from '../../src/service/answers.ts';
import { days, minutes } from '../../src/units.ts';
import { at, hour, seen, settled } from './samples.ts';

const DAY = 24;
const ran: readonly Entry[] = [...seen(0, [500, 600]), ...hour(1)];
const published = settled(-DAY, new Array<number>(30).fill(500), 6);

describe('the question', () => {
  //  case                          entries                    now        start       updated since
  it.each([
    ['nothing ran', seen(0, [500]), 3, undefined, undefined],
    ['never asked', ran, 6, 1 - DAY, undefined],
    // An hour before the last answer: a rate published while it was under way was never asked for again.
    ['asked before', [...ran, published], 30, 1 - DAY, 5],
    ['unchanged for 7 days', [...ran, published], 6 + 7 * DAY, undefined, undefined],
    ['restated meanwhile', [...ran, published, settled(1, [450], 100)], 8 * DAY, 1 - DAY, 99],
    ['never more than 31 days', ran, 60 * DAY, 29 * DAY, undefined],
  ] as const)('%s', (_, entries, now, start, since) => {
    const range = unsettled(entries, 'CAISO_NORTH', at(now));
    if (start === undefined) return expect(range).toBeUndefined();
    expect(range).toEqual({
      region: 'CAISO_NORTH',
      start: at(start),
      end: at(now),
      ...(since === undefined ? {} : { updatedSince: at(since) }),
    });
    expect(at(now) - at(start)).toBeLessThanOrEqual(days(32));
  });
});

describe('the answer', () => {
  const answer = (values: readonly number[], change: Partial<History> = {}): History => ({
    region: 'CAISO_NORTH',
    signalType: 'co2_moer',
    units: 'lbs_co2_per_mwh',
    period: minutes(5),
    model: '2026-01-01',
    warnings: [],
    refusedPoints: 0,
    points: values.map((value, i) => ({ at: at(i / 12), value, imputed: false })),
    ...change,
  });
  it.each([
    ['all is new', answer([1, 2, 3]), 3],
    ['one is restated', answer([500, 500, 510]), 1],
    ['nothing is new', answer([500, 500, 500]), undefined],
    ['an index is no rate', answer([1, 2, 3], { units: 'percentile' }), undefined],
    ['another region', answer([500], { region: 'PSCO' }), 1],
  ] as const)('%s', (_, given, points) =>
    expect(settlement([...ran, published], given, at(30))?.points.length).toBe(points),
  );
});
