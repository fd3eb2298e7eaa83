/** The prices that the ledger holds, and what energy cost by them. */

import type { DayFormatter } from '../domain/local-day.ts';
import { findDayStart, findNextDayStart } from '../domain/local-day.ts';
import { findPriceSpan, type PriceSpan, sumPrice } from '../domain/tariff.ts';
import type { Instant } from '../domain/units.ts';
import { computeMeanOverStretches, type Stretch } from './baseline-hours.ts';
import type { PriceEntry, SlotEntry } from './entries.ts';

/** What a running time cost, and what the same energy would have cost instead. */
export interface RowBill {
  readonly paid: number;
  readonly instead: number;
  readonly currency: string;
}

export interface PriceHistory {
  learn(entry: PriceEntry): void;
  /** Lets go of the prices before `at`. */
  forgetBefore(at: Instant): void;
  /** Undefined where a price is not known. `hours`: when its job would have drawn the energy; without a job, evenly over its day. */
  billRow(row: SlotEntry, hours: readonly Stretch[] | undefined): RowBill | undefined;
}

/** Later entries replace the part of earlier ones that they cover. */
function addPrice(spans: PriceSpan[], { at, for: length, price }: PriceEntry): void {
  const span = { from: at, to: (at + length) as Instant, price };
  for (let last = spans.at(-1); last !== undefined && last.to > span.from; last = spans.at(-1)) {
    spans.pop();
    if (last.from >= span.from) continue;
    spans.push({ ...last, to: span.from });
    break;
  }
  spans.push(span);
}

export function createPriceHistory(dayOf: DayFormatter, formatDay: DayFormatter): PriceHistory {
  let spans: PriceSpan[] = [];
  let currency = '';
  let dayPrices = new Map<string, number | undefined>();

  const meanPrice = (from: number, to: number, needsAll: boolean): number | undefined => {
    const known = spans.filter((span) => span.to > from && span.from < to);
    const length = known.reduce((sum, span) => sum + Math.min(span.to, to) - Math.max(span.from, from), 0);
    if (length <= 0 || (needsAll && length < to - from - 1)) return undefined;
    return (sumPrice(known, from as Instant, to as Instant) * 3_600_000) / length;
  };
  const meanOfDay = (at: Instant): number | undefined => {
    const day = dayOf(at);
    if (!dayPrices.has(day))
      dayPrices.set(day, meanPrice(findDayStart(formatDay, at), findNextDayStart(formatDay, at), false));
    return dayPrices.get(day);
  };

  return {
    learn(entry) {
      // Sums of two currencies are none: another one begins anew.
      if (entry.currency !== currency) spans = [];
      currency = entry.currency;
      addPrice(spans, entry);
      dayPrices = new Map();
    },
    forgetBefore(at) {
      spans = spans.filter(({ to }) => to > at);
    },
    billRow({ at, energy }, hours) {
      const price = findPriceSpan(spans, at)?.price;
      if (price === undefined) return undefined;
      const instead =
        hours === undefined ? meanOfDay(at) : computeMeanOverStretches(hours, (from, to) => meanPrice(from, to, true));
      return instead === undefined ? undefined : { paid: price * energy, instead: instead * energy, currency };
    },
  };
}
