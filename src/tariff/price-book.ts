/** Keeps the prices that were published: newer ones replace older ones, and ones that cannot be true are refused. */

import type { PriceSpan } from '../domain/tariff.ts';
import { days, type Instant } from '../domain/units.ts';

/** Ascending, without overlap. */
export type PriceBook = readonly PriceSpan[];

export type PriceUpdate =
  | { readonly ok: true; readonly book: PriceBook }
  | { readonly ok: false; readonly problem: string };

/** The highest price of a day of one market is never so much higher or lower than that of the day before; cents are 100 of it. */
const MAX_JUMP = 80;
const KEPT = days(2);

const findHighest = (spans: readonly PriceSpan[]) =>
  spans.reduce((highest, { price }) => Math.max(highest, Math.abs(price)), 0);

/** The prices of `book` with those of `spans` in place of what they cover. */
export function updatePrices(book: PriceBook, spans: readonly PriceSpan[], now: Instant): PriceUpdate {
  const [before, after] = [findHighest(book), findHighest(spans)];
  const ratio = before > 0 && after > 0 ? after / before : 1;
  if (ratio > MAX_JUMP || ratio < 1 / MAX_JUMP) {
    const by = Math.round(ratio > 1 ? ratio : 1 / ratio);
    return {
      ok: false,
      problem: `are ${by} times ${ratio > 1 ? 'higher' : 'lower'} than those before: their unit may have changed; restart gridtide if they are right`,
    };
  }
  const first = spans[0]?.from ?? (0 as Instant);
  const last = spans.at(-1)?.to ?? (0 as Instant);
  const kept = book.flatMap(({ from, to, price }): PriceSpan[] =>
    [
      { from, to: Math.min(to, first) as Instant, price },
      { from: Math.max(from, last) as Instant, to, price },
    ].filter((part) => part.to > part.from && part.to > now - KEPT),
  );
  return { ok: true, book: [...kept, ...spans].sort((a, b) => a.from - b.from) };
}
