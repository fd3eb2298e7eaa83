/** What energy cost by the prices in the ledger, beside what it would have cost at once or over the day. */

import { expect, it } from 'vitest';
import { hours, type Instant, type Kilowatt, type KilowattHour, minutes } from '../../src/domain/units.ts';
import type { Entry, PriceEntry, SlotEntry } from '../../src/ledger/entries.ts';
import { formatEntries, parseLedger } from '../../src/ledger/ledger-lines.ts';
import { computeTotals } from '../../src/ledger/load-totals.ts';

const DAY = Date.UTC(2026, 2, 1) as Instant;
const at = (hour: number) => (DAY + hour * hours(1)) as Instant;

/** 0.5 until 20:00, then 0.2. */
const price = (from: number, to: number, value: number, currency = 'USD'): PriceEntry => ({
  kind: 'price',
  at: at(from),
  for: hours(to - from),
  price: value,
  currency,
});
const run = (load: string, hour: number, job?: string): Entry[] =>
  Array.from(
    { length: 12 },
    (_, i): SlotEntry => ({
      kind: 'slot',
      load,
      at: (at(hour) + i * minutes(5)) as Instant,
      for: minutes(5),
      energy: 0.5 as KilowattHour,
      metered: false,
      level: 'on',
      why: 'planned',
      basis: 'fresh-forecast',
      ...(job === undefined ? {} : { job }),
    }),
  );
const arm: Entry = { kind: 'job', load: 'car', job: 'a', armedAt: at(18), power: 6 as Kilowatt };
const PRICES = [price(0, 20, 0.5), price(20, 24, 0.2)];

function bills(entries: readonly Entry[]) {
  const { entries: read } = parseLedger(formatEntries(entries));
  const totals = computeTotals(read, { timezone: 'UTC', by: 'day', now: at(48) });
  return totals.map(({ load, bill }) => [
    load,
    bill && [bill.energy, bill.paid, bill.instead].map((value) => Number(value.toFixed(6))),
    bill?.currency,
  ]);
}

it('a job is compared with the same energy at once, a load without one with its day', () => {
  expect(bills([...PRICES, arm, ...run('car', 21, 'a')])).toEqual([['car', [6, 1.2, 3], 'USD']]);
  expect(bills([...PRICES, ...run('tank', 21)])).toEqual([['tank', [6, 1.2, 2.7], 'USD']]);
});
it('energy of levels that no device confirmed has no bill', () => {
  const unconfirmed = run('tank', 21).map((entry) =>
    entry.kind === 'slot' ? { ...entry, unconfirmed: true as const } : entry,
  );
  expect(bills([...PRICES, ...unconfirmed])).toEqual([['tank', undefined, undefined]]);
});
it('energy without a known price has no bill', () => {
  expect(bills([arm, ...run('car', 21, 'a')])).toEqual([['car', undefined, undefined]]);
  expect(bills([price(20, 24, 0.2), arm, ...run('car', 21, 'a')])).toEqual([['car', undefined, undefined]]);
});
it('a later price replaces the rest of the one before, and another currency begins anew', () => {
  expect(bills([price(0, 24, 0.5), price(20, 24, 0.2), ...run('tank', 21)])).toEqual([['tank', [6, 1.2, 2.7], 'USD']]);
  expect(bills([...PRICES, price(21, 24, 2, 'SEK'), ...run('tank', 21)])).toEqual([['tank', [6, 12, 12], 'SEK']]);
});
