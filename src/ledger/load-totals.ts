/** Energy, emissions and savings per load and span. */

import { type Instant, type Kilogram, subtractDuration } from '../domain/units.ts';
import type { Baseline, BillSums, Entry, TotalSums } from './entries.ts';
import { type LedgerMonth, READ_BACK } from './ledger-files.ts';
import { type AccountedSpan, type AccountingOptions, createSavingsAccounting } from './savings-accounting.ts';

/** `estimate`: rates as forecast when the load ran; `provisional`: published less than 7 days ago or since changed; `settled`: unchanged for 7 days. */
type RateStatus = 'estimate' | 'provisional' | 'settled';

export interface Total
  extends Pick<
    TotalSums,
    'energy' | 'metered' | 'unconfirmed' | 'priced' | 'emitted' | 'instead' | 'restated' | 'starts'
  > {
  readonly load: string;
  /** Local day `2026-03-01`, month `2026-03`, or `all`. */
  readonly span: string;
  /** Start of its first running time. */
  readonly at: Instant;
  /** Negative when the counterfactual would have been cleaner. */
  readonly saved: Kilogram;
  readonly baselines: readonly Baseline[];
  /** Of the least certain row; undefined when nothing is priced. */
  readonly standing?: RateStatus;
  /** Parts of the priced energy, 0 to 1. */
  readonly settledShare: number;
  readonly imputedShare: number;
  readonly models: readonly string[];
  readonly jobs: number;
  /** Absent: no price is known. */
  readonly bill?: BillSums;
}

function findStatus({ estimated, priced, settled }: TotalSums): RateStatus {
  if (estimated) return 'estimate';
  return settled >= priced * (1 - 1e-9) ? 'settled' : 'provisional';
}

function buildTotal({ load, span, at, sums }: AccountedSpan): Total {
  const { energy, metered, unconfirmed, priced, emitted, instead, restated, baselines, models, jobs, starts } = sums;
  const shareOf = (part: number) => (priced === 0 ? 0 : part / priced);
  return {
    load,
    span,
    at,
    energy,
    metered,
    unconfirmed,
    priced,
    emitted,
    instead,
    saved: (priced === 0 ? 0 : instead - emitted) as Kilogram,
    baselines,
    ...(priced === 0 ? {} : { standing: findStatus(sums) }),
    settledShare: shareOf(sums.settled),
    imputedShare: shareOf(sums.imputed),
    models,
    restated,
    jobs: jobs.length,
    starts,
    ...(sums.bill === undefined ? {} : { bill: sums.bill }),
  };
}

/** The totals of entries that are all at hand. */
export function computeTotals(entries: Iterable<Entry>, options: AccountingOptions): readonly Total[] {
  const accounting = createSavingsAccounting(options);
  accounting.learn(entries);
  accounting.count(entries);
  return accounting.listGroups().map(buildTotal);
}

/** A running time is priced by its own month and the two after it, in which its rates are published and restated. */
const MONTHS_AHEAD = 2;

export interface LedgerTotals {
  readonly totals: readonly Total[];
  readonly damaged: number;
  readonly foreign: number;
  /** Zones whose days the sums of old months are of. */
  readonly timezones: ReadonlySet<string>;
}

/** The totals of a ledger of any length, with only a few months in memory at a time. */
export async function computeTotalsByMonth(
  months: AsyncIterable<LedgerMonth>,
  options: AccountingOptions,
): Promise<LedgerTotals> {
  const accounting = createSavingsAccounting(options);
  const waiting: Pick<LedgerMonth, 'from' | 'entries'>[] = [];
  const timezones = new Set<string>();
  const lost = { damaged: 0, foreign: 0 };
  const countOldest = () => {
    const month = waiting.shift();
    if (month === undefined) return;
    accounting.forgetBefore(subtractDuration(month.from, READ_BACK));
    accounting.count(month.entries);
  };
  for await (const month of months) {
    lost.damaged += month.damaged;
    lost.foreign += month.foreign;
    const { timezone } = month.entries.header ?? {};
    if (timezone !== undefined) timezones.add(timezone);
    accounting.learn(month.entries);
    // Rates are not kept beyond their month, because most entries are rates.
    waiting.push({ from: month.from, entries: month.entries.withoutRates() });
    if (waiting.length > MONTHS_AHEAD) countOldest();
  }
  while (waiting.length > 0) countOldest();
  return { totals: accounting.listGroups().map(buildTotal), ...lost, timezones };
}
