/** The messages of price topics in the shapes that evcc and Home Assistant integrations publish, and what is refused. */

import { describe, expect, it } from 'vitest';
import type { PriceSpan } from '../../src/domain/tariff.ts';
import { hours, type Instant } from '../../src/domain/units.ts';
import { parsePriceFile, parsePriceMessage } from '../../src/tariff/parse-prices.ts';
import { updatePrices } from '../../src/tariff/price-book.ts';

const at = (hour: number) => (Date.UTC(2026, 2, 1) + hour * hours(1)) as Instant;
const span = (from: number, to: number, price: number): PriceSpan => ({ from: at(from), to: at(to), price });
const iso = (hour: number) => new Date(at(hour)).toISOString();
const TWO_HOURS = [span(0, 1, 0.25), span(1, 2, 0.31)];

const parse = (document: unknown, currency = 'EUR') =>
  parsePriceMessage(typeof document === 'string' ? document : JSON.stringify(document), currency);
const items = (start: string, end: string, price: string, factor = 1) =>
  TWO_HOURS.map((one, i) => ({ [start]: iso(i), [end]: iso(i + 1), [price]: one.price * factor }));

describe('a message of a price topic', () => {
  it.each([
    ['evcc, forecast/grid', items('start', 'end', 'value')],
    ['evcc before, with price', items('start', 'end', 'price')],
    ['evcc of late, in seconds', TWO_HOURS.map((one, i) => [at(i) / 1_000, at(i + 1) / 1_000, one.price])],
    ['the REST answer of evcc', { result: { rates: items('start', 'end', 'value') } }],
    [
      'Nord Pool',
      {
        attributes: {
          currency: 'EUR',
          unit: 'kWh',
          today: [25, 31],
          raw_today: items('start', 'end', 'value'),
          raw_tomorrow: [],
        },
      },
    ],
    ['Nord Pool in cents', { price_in_cents: true, raw_today: items('start', 'end', 'value', 100) }],
    ['EPEX Spot', { unit_of_measurement: 'EUR/kWh', data: items('start_time', 'end_time', 'price_per_kwh') }],
    ['Octopus Energy', { rates: items('start', 'end', 'value_inc_vat').reverse() }],
    ['Amber', { forecasts: items('start_time', 'end_time', 'per_kwh') }],
    [
      'Tibber, without ends',
      { today: TWO_HOURS.map((one, i) => ({ startsAt: iso(i), total: one.price })), tomorrow: [] },
    ],
    ['ENTSO-E', { prices: TWO_HOURS.map((one, i) => ({ time: iso(i).replace('T', ' '), price: String(one.price) })) }],
    ['a dictionary of times', { attributes: { [iso(0)]: 0.25, [iso(1)]: 0.31 } }],
    ['for a megawatt-hour', { unit: 'EUR/MWh', prices: items('start', 'end', 'value', 1_000) }],
    ['in cents by its unit', { unit_of_measurement: 'ct/kWh', prices: items('start', 'end', 'value', 100) }],
  ])('of %s', (_, document) => {
    const parsed = parse(document);
    expect(parsed).toMatchObject({ ok: true });
    const spans = parsed.ok ? parsed.spans : [];
    expect(spans.map(({ from, to, price }) => [from, to, Number(price.toFixed(9))])).toEqual(
      TWO_HOURS.map(({ from, to, price }) => [from, to, price]),
    );
  });
  it('negative prices are prices', () =>
    expect(parse([{ start: iso(0), end: iso(1), value: -0.05 }])).toEqual({ ok: true, spans: [span(0, 1, -0.05)] }));

  it.each([
    ['cents without a unit', items('start', 'end', 'value', 100), 'hold 25 EUR for a kilowatt-hour, above 5'],
    [
      'another currency',
      { currency: 'SEK', prices: TWO_HOURS },
      'are in SEK, and the tariff is in EUR; set tariff.currency',
    ],
    [
      'another currency in its unit',
      { unit_of_measurement: 'SEK/kWh', prices: items('start', 'end', 'value') },
      'are in SEK, and the tariff is in EUR; set tariff.currency',
    ],
    ['the present price alone', '0.31', 'are one number, and a plan needs hours ahead'],
    ['no JSON', 'unavailable', 'are not JSON; expected a list such as'],
    ['no list', { state: 'unknown' }, 'name no hour with its price'],
    ['another unit', { unit: 'EUR', prices: items('start', 'end', 'value') }, 'have the unit "EUR"; expected EUR/kWh'],
    ['times without a zone', [{ start: '2026-03-01T00:00:00', value: 0.3 }], 'name no hour with its price'],
    ['megabytes', ' '.repeat(300_000), 'are larger than 256 KiB'],
    ['deep nesting', '['.repeat(100_000), 'are not JSON'],
  ])('with %s is refused in words', (_, document, sentence) => {
    const parsed = parse(document);
    expect(parsed.ok ? '' : parsed.problem).toContain(sentence);
  });
});

describe('a file of prices', () => {
  it('has lines of start,price, with a head or without', () => {
    expect(parsePriceFile(`start,price\n${iso(0)},0.25\n${iso(1)},0.31\n`, 'EUR')).toEqual({
      ok: true,
      spans: TWO_HOURS,
    });
    expect(parsePriceFile(`${iso(0)},0.25\r\n${iso(1)},0.31`, 'EUR')).toEqual({ ok: true, spans: TWO_HOURS });
    expect(parsePriceFile(`${iso(0)},${iso(2)},0.25`, 'EUR')).toEqual({ ok: true, spans: [span(0, 2, 0.25)] });
  });
  it('is refused with its first wrong line', () => {
    expect(parsePriceFile(`start,price\n${iso(0)},0.25\nnoon,0.3`, 'EUR')).toMatchObject({
      problem: 'have a line 3 that is not start,price: "noon,0.3"',
    });
    expect(parsePriceFile('start,price\n', 'EUR')).toMatchObject({ problem: expect.stringContaining('have no line') });
  });
});

describe('the prices that are kept', () => {
  const update = (book: readonly PriceSpan[], spans: readonly PriceSpan[]) => updatePrices(book, spans, at(0));
  it('are replaced where new ones come, and dropped after two days', () => {
    const book = [span(-60, -50, 0.2), span(-1, 2, 0.2), span(2, 6, 0.3)];
    expect(update(book, [span(1, 3, 0.4)])).toEqual({
      ok: true,
      book: [span(-1, 1, 0.2), span(1, 3, 0.4), span(3, 6, 0.3)],
    });
  });
  it('are kept when new ones are a hundredfold', () => {
    expect(update([span(0, 2, 0.03)], [span(2, 4, 3)])).toMatchObject({
      ok: false,
      problem: expect.stringMatching(/^are 100 times higher than those before: their unit may have changed/),
    });
    expect(update([span(0, 2, 3)], [span(2, 4, 0.03)])).toMatchObject({ ok: false });
    expect(update([span(0, 2, 0.1)], [span(2, 4, 0.9)])).toMatchObject({ ok: true });
  });
});
