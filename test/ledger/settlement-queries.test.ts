/** Which published rates are asked for, and what of the answer is kept. */

import { describe, expect, it } from 'vitest';
import { days, minutes } from '../../src/domain/units.ts';
import type { Entry } from '../../src/ledger/entries.ts';
import { buildSettledEntry, findUnsettledRange } from '../../src/ledger/settlement-queries.ts';
import type { History } from '../../src/service/api/response-types.ts';
import { ledgerInstant, seenEntries, settledEntry, slotEntries } from './ledger-samples.ts';

const DAY = 24;
const ran: readonly Entry[] = [...seenEntries(0, [500, 600]), ...slotEntries(1)];
const published = settledEntry(-DAY, new Array<number>(30).fill(500), 6);

describe('the question', () => {
  //  case                          entries                    now        start       updated since
  it.each([
    ['nothing ran', seenEntries(0, [500]), 3, undefined, undefined],
    ['never asked', ran, 6, 1 - DAY, undefined],
    // An hour before the last answer: a rate published while it was under way was never asked for again.
    ['asked before', [...ran, published], 30, 1 - DAY, 5],
    ['unchanged for 7 days', [...ran, published], 6 + 7 * DAY, undefined, undefined],
    ['restated meanwhile', [...ran, published, settledEntry(1, [450], 100)], 8 * DAY, 1 - DAY, 99],
    ['never more than 31 days', ran, 60 * DAY, 29 * DAY, undefined],
  ] as const)('%s', (_, entries, now, start, since) => {
    const range = findUnsettledRange(entries, 'CAISO_NORTH', ledgerInstant(now));
    if (start === undefined) return expect(range).toBeUndefined();
    expect(range).toEqual({
      region: 'CAISO_NORTH',
      start: ledgerInstant(start),
      end: ledgerInstant(now),
      ...(since === undefined ? {} : { updatedSince: ledgerInstant(since) }),
    });
    expect(ledgerInstant(now) - ledgerInstant(start)).toBeLessThanOrEqual(days(32));
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
    points: values.map((value, i) => ({ at: ledgerInstant(i / 12), value, imputed: false })),
    ...change,
  });
  it.each([
    ['all is new', answer([1, 2, 3]), 3],
    ['one is restated', answer([500, 500, 510]), 1],
    ['nothing is new', answer([500, 500, 500]), undefined],
    ['an index is no rate', answer([1, 2, 3], { units: 'percentile' }), undefined],
    ['another region', answer([500], { region: 'PSCO' }), 1],
  ] as const)('%s', (_, given, points) =>
    expect(buildSettledEntry([...ran, published], given, ledgerInstant(30))?.points.length).toBe(points),
  );
});
