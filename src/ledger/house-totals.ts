/** The totals of a house for its watchers: the whole ledger once a local day, in between the days that still change. */

import { createDayFormatter, type DayFormatter, findDayStart } from '../domain/local-day.ts';
import { addDuration, days, hours, type Instant, subtractDuration } from '../domain/units.ts';
import { type LedgerSource, listLedgerFiles, readLedgerMonths } from './ledger-files.ts';
import { computeTotalsByMonth, type Total } from './load-totals.ts';
import type { AccountingOptions } from './savings-accounting.ts';

export interface HouseTotals {
  /** The first local day with a running time, `2026-03-01`; undefined for an empty ledger. */
  readonly since: string | undefined;
  /** One a load and span: local days since the start of the month 30 days ago, whole months before. */
  readonly spans: readonly Total[];
}

const DAYS_KEPT = days(30);

const findMonthStart = (formatDay: DayFormatter, at: Instant): Instant => {
  const dayOfMonth = Number(formatDay(at).slice(8));
  // From noon, so that a change of the clocks does not end in another day.
  const noon = addDuration(findDayStart(formatDay, at), hours(12));
  return findDayStart(formatDay, subtractDuration(noon, days(dayOfMonth - 1)));
};

/** Reads more than a few months at the first call and after each midnight alone. A rate restated for an older day counts from the next midnight on. Throws `DiskError`. */
export function createHouseTotals(source: LedgerSource, timezone: string): (now: Instant) => Promise<HouseTotals> {
  const formatDay = createDayFormatter(timezone);
  let kept: (HouseTotals & { readonly day: string }) | undefined;

  const compute = async (options: Omit<AccountingOptions, 'timezone'>) => {
    const names = listLedgerFiles(await source.list(), options.from, options.to);
    return (await computeTotalsByMonth(readLedgerMonths(source, names), { timezone, ...options })).totals;
  };
  const readWhole = async (now: Instant): Promise<HouseTotals> => {
    const from = findMonthStart(formatDay, subtractDuration(now, DAYS_KEPT));
    const months = await compute({ by: 'month', to: from, now });
    const recent = await compute({ by: 'day', from, now });
    const first = Math.min(...[...months, ...recent].map(({ at }) => at));
    return { since: first === Infinity ? undefined : formatDay(first as Instant), spans: [...months, ...recent] };
  };
  const readRecent = async ({ since, spans }: HouseTotals, now: Instant): Promise<HouseTotals> => {
    const from = findDayStart(formatDay, subtractDuration(findDayStart(formatDay, now), hours(12)));
    const recent = await compute({ by: 'day', from, now });
    const first = recent[0] === undefined ? undefined : formatDay(recent[0].at);
    return { since: since ?? first, spans: [...spans.filter(({ span }) => span < formatDay(from)), ...recent] };
  };

  return async (now) => {
    const day = formatDay(now);
    kept = { day, ...(kept?.day === day ? await readRecent(kept, now) : await readWhole(now)) };
    return kept;
  };
}
