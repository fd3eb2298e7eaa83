import { describe, expect, it } from 'vitest';
import { findPriceSpan, listTablePrices, sumPrice, type TariffTable } from '../../src/domain/tariff.ts';
import { hours, type Instant } from '../../src/domain/units.ts';

const ZONE = 'America/Los_Angeles';
const at = (text: string) => Date.parse(text) as Instant;
const EVERY_MONTH = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
const SUMMER = [6, 7, 8, 9];

/** 0.62 on summer weekdays 16-21, 0.2 every night from 23 to 5, else 0.31. */
const TABLE: TariffTable = {
  rates: [
    { price: 0.62, weekdays: [1, 2, 3, 4, 5], months: SUMMER, hours: { from: 960, to: 1260 } },
    { price: 0.2, weekdays: [0, 1, 2, 3, 4, 5, 6], months: EVERY_MONTH, hours: { from: 1380, to: 300 } },
  ],
  otherwise: 0.31,
};

const spansOf = (from: string, to: string) => listTablePrices(TABLE, ZONE, { from: at(from), to: at(to) });
const shortly = (from: string, to: string) =>
  spansOf(from, to).map((span) => `${new Date(span.from).toISOString().slice(5, 16)} ${span.price}`);

describe('the prices of a table', () => {
  it('a summer weekday', () =>
    expect(shortly('2026-06-04T07:00:00Z', '2026-06-05T07:00:00Z')).toEqual([
      '06-04T07:00 0.2',
      '06-04T12:00 0.31',
      '06-04T23:00 0.62',
      '06-05T04:00 0.31',
      '06-05T06:00 0.2',
    ]));
  it('a Saturday and a winter day have no peak', () => {
    expect(shortly('2026-06-06T20:00:00Z', '2026-06-07T05:00:00Z')).toEqual(['06-06T20:00 0.31']);
    expect(shortly('2026-01-06T22:00:00Z', '2026-01-07T06:00:00Z')).toEqual(['01-06T22:00 0.31']);
  });
  it('the season changes at local midnight', () =>
    expect(shortly('2026-09-30T22:00:00Z', '2026-10-02T04:00:00Z')).toEqual([
      '09-30T22:00 0.31',
      '09-30T23:00 0.62',
      '10-01T04:00 0.31',
      '10-01T06:00 0.2',
      '10-01T12:00 0.31',
    ]));
  it('a night is an hour shorter in spring and longer in autumn', () => {
    const night = (from: string, to: string) => {
      const cheap = spansOf(from, to).filter(({ price }) => price === 0.2);
      return cheap.reduce((sum, span) => sum + span.to - span.from, 0) / hours(1);
    };
    expect(night('2026-03-07T20:00:00Z', '2026-03-08T20:00:00Z')).toBe(5);
    expect(night('2026-10-31T20:00:00Z', '2026-11-01T20:00:00Z')).toBe(7);
  });
  it('covers every moment of a year once', () => {
    const spans = spansOf('2026-01-01T00:00:00Z', '2027-01-01T00:00:00Z');
    expect(spans.every(({ from }, i) => i === 0 || spans[i - 1]?.to === from)).toBe(true);
    expect(spans.at(-1)?.to).toBe(at('2027-01-01T00:00:00Z'));
  });
  it('finds the price of a moment, and sums a stretch', () => {
    const spans = spansOf('2026-06-04T12:00:00Z', '2026-06-05T04:00:00Z');
    expect(findPriceSpan(spans, at('2026-06-04T22:59:59Z'))?.price).toBe(0.31);
    expect(findPriceSpan(spans, at('2026-06-04T23:00:00Z'))?.price).toBe(0.62);
    expect(findPriceSpan(spans, at('2026-06-05T04:00:00Z'))).toBeUndefined();
    expect(findPriceSpan(spans, at('2026-06-04T11:59:59Z'))).toBeUndefined();
    expect(sumPrice(spans, at('2026-06-04T22:00:00Z'), at('2026-06-05T00:00:00Z'))).toBeCloseTo(0.93, 12);
  });
});
