/** What a kilowatt-hour costs at which time: the rates of a tariff table as spans of time, and the price at one moment. */

import type { LocalTime, LocalWindow } from './load-types.ts';
import { toInstant, toWeekday } from './local-time.ts';
import { toLocalDay } from './time-zone.ts';
import { days, formatFixed, type Instant } from './units.ts';

/** One price from one time to the next, in the currency of its tariff for a kilowatt-hour. */
export interface PriceSpan {
  readonly from: Instant;
  readonly to: Instant;
  readonly price: number;
}

/** Prices that are known, ascending and without overlap. */
export interface Prices {
  /** Code of three letters, such as USD. */
  readonly currency: string;
  readonly spans: readonly PriceSpan[];
}

/** The price of some hours of some weekdays in some months. Hours past midnight are those of the named days. */
interface TariffRate {
  readonly price: number;
  /** 0 = Sunday. */
  readonly weekdays: readonly number[];
  /** 1 = January. */
  readonly months: readonly number[];
  /** Absent: the whole day. */
  readonly hours?: LocalWindow;
}

/** A tariff that repeats by weekday, hour and season. */
export interface TariffTable {
  readonly rates: readonly TariffRate[];
  /** Price of every hour that no rate names. */
  readonly otherwise?: number;
}

const MINUTES_PER_DAY = 1440;

/** The parts of a day that a rate covers: one, or two when its hours pass midnight. */
function listRateHours({ hours }: TariffRate): readonly (readonly [LocalTime, LocalTime])[] {
  if (hours === undefined) return [[0, MINUTES_PER_DAY]];
  if (hours.to > hours.from) return [[hours.from, hours.to]];
  return [[0, hours.to] as const, [hours.from, MINUTES_PER_DAY] as const].filter(([from, to]) => to > from);
}

/** A part of one weekday in one month, with the price of each rate that covers it: one, unless the table is mistaken. */
interface DayPart {
  readonly from: LocalTime;
  readonly to: LocalTime;
  readonly prices: readonly number[];
}

/** One day cut where any of its rates begins or ends. */
export function listDayParts({ rates, otherwise }: TariffTable, weekday: number, month: number): readonly DayPart[] {
  const parts = rates
    .filter((rate) => rate.weekdays.includes(weekday) && rate.months.includes(month))
    .flatMap((rate) => listRateHours(rate).map(([from, to]) => ({ from, to, price: rate.price })));
  const cuts = [...new Set([0, MINUTES_PER_DAY, ...parts.flatMap(({ from, to }) => [from, to])])].sort((a, b) => a - b);
  return cuts.slice(1).map((to, i) => {
    const from = cuts[i] ?? 0;
    const prices = parts.filter((part) => part.from <= from && part.to >= to).map(({ price }) => price);
    return { from, to, prices: prices.length === 0 && otherwise !== undefined ? [otherwise] : prices };
  });
}

const getMonthOfDay = (day: number) => new Date(day * days(1)).getUTCMonth() + 1;

/** The prices of a table over a stretch of time; equal neighbours are one span. */
export function listTablePrices(
  table: TariffTable,
  timezone: string,
  { from, to }: { readonly from: Instant; readonly to: Instant },
): readonly PriceSpan[] {
  const spans: PriceSpan[] = [];
  const add = (span: PriceSpan): void => {
    if (span.to <= span.from) return;
    const last = spans.at(-1);
    if (last?.to === span.from && last.price === span.price) spans[spans.length - 1] = { ...last, to: span.to };
    else spans.push(span);
  };
  for (let day = toLocalDay(timezone, from); toInstant(timezone, day, 0) < to; day++)
    for (const part of listDayParts(table, toWeekday(day), getMonthOfDay(day))) {
      const [price] = part.prices;
      if (price === undefined) continue;
      const end = part.to === MINUTES_PER_DAY ? toInstant(timezone, day + 1, 0) : toInstant(timezone, day, part.to);
      const start = toInstant(timezone, day, part.from);
      add({ from: Math.max(start, from) as Instant, to: Math.min(end, to) as Instant, price });
    }
  return spans;
}

/** The span that holds `at`. */
export function findPriceSpan(spans: readonly PriceSpan[], at: Instant): PriceSpan | undefined {
  let [low, high] = [0, spans.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((spans[middle]?.to ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  const span = spans[low];
  return span !== undefined && span.from <= at ? span : undefined;
}

/** Price times hours of a stretch of time, of what is known of it. */
export function sumPrice(spans: readonly PriceSpan[], from: Instant, to: Instant): number {
  let sum = 0;
  for (const span of spans) {
    const length = Math.min(span.to, to) - Math.max(span.from, from);
    if (length > 0) sum += (span.price * length) / 3_600_000;
  }
  return sum;
}

/** A price of a kilowatt-hour above this is in cents, or in a smaller coin still. */
export const getMaxPrice = (currency: string): number => MAX_PRICES[currency] ?? 10_000;
const MAX_PRICES: Readonly<Record<string, number>> = {
  ...Object.fromEntries(['USD', 'EUR', 'GBP', 'CHF', 'CAD', 'AUD', 'NZD', 'SGD'].map((code) => [code, 5])),
  ...Object.fromEntries(['DKK', 'SEK', 'NOK', 'PLN', 'RON', 'BGN', 'BRL', 'ILS'].map((code) => [code, 25])),
  ...Object.fromEntries(['CZK', 'MXN', 'ZAR', 'INR', 'THB', 'TRY', 'PHP'].map((code) => [code, 200])),
};

/** A sum of money with its currency: `1.24 USD`. */
export const formatMoney = (amount: number, currency: string) => `${formatFixed(amount, 2)} ${currency}`;

/** How far a table is read: longer than any job lasts, before now and after. */
const DAYS_BEFORE = 1;
const DAYS_AFTER = 10;

/** The prices of a table around a moment, made anew once a day. */
export function createTablePrices(table: TariffTable, timezone: string): (now: Instant) => readonly PriceSpan[] {
  let madeFor: number | undefined;
  let spans: readonly PriceSpan[] = [];
  return (now) => {
    const day = Math.floor(now / days(1));
    if (day === madeFor) return spans;
    madeFor = day;
    const from = ((day - DAYS_BEFORE) * days(1)) as Instant;
    spans = listTablePrices(table, timezone, { from, to: ((day + DAYS_AFTER) * days(1)) as Instant });
    return spans;
  };
}
