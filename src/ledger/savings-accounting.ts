/** Assigns each running time its rate, its counterfactual and its span, month by month. */

import { createDayFormatter, type DayFormatter, findDayStart, findNextDayStart } from '../domain/local-day.ts';
import { floorTo, type Instant, type KilowattHour, type LbsPerMwh } from '../domain/units.ts';
import { computeMeanOverStretches, listBaselineHours, type Stretch, type TimerWindow } from './baseline-hours.ts';
import type { CarriedEntry, DayEntry, Entry, JobEntry, SlotEntry, TotalSums } from './entries.ts';
import { createLoadSums, type LoadSums, type Pricing } from './load-sums.ts';
import { createPriceHistory } from './price-history.ts';
import { createRateBook, findRateRecord, getBestRate, type Rates } from './rates.ts';

export interface AccountingOptions {
  readonly timezone: string;
  readonly by: 'day' | 'month' | 'all';
  readonly from?: Instant;
  /** Exclusive. */
  readonly to?: Instant;
  readonly now: Instant;
  /** By load: what its jobs are compared with in place of the same energy at once. */
  readonly timers?: ReadonlyMap<string, TimerWindow>;
}

/** The sums of a load over a span. */
export interface AccountedSpan {
  readonly load: string;
  /** Local day `2026-03-01`, month `2026-03`, or `all`. */
  readonly span: string;
  /** Start of its first running time. */
  readonly at: Instant;
  readonly sums: TotalSums;
}

export interface SavingsAccounting {
  /** Takes in jobs and rates. Those of 40 days after a running time bear on it: learn them before it is counted. */
  learn(entries: Iterable<Entry>): void;
  /** Counts running times, in the order they were written. */
  count(entries: Iterable<Entry>): void;
  /** Lets go of the rates before `at`. */
  forgetBefore(at: Instant): void;
  /** One a load and span, in the order of first appearance. A job's rows count on the day they ran. */
  listGroups(): readonly AccountedSpan[];
  /** Where each load stands. */
  listCarried(): readonly CarriedEntry[];
}

/** Mean rate of a span, each slot by its part; undefined when one is not known. */
function computeMeanRate(rates: Rates, from: number, to: number): LbsPerMwh | undefined {
  let sum = 0;
  for (let at = from; at < to; ) {
    const end = Math.min(to, floorTo(at as Instant, rates.period) + rates.period);
    const rate = getBestRate(findRateRecord(rates, at as Instant));
    if (rate === undefined) return undefined;
    sum += rate * (end - at);
    at = end;
  }
  return to > from ? ((sum / (to - from)) as LbsPerMwh) : undefined;
}

/** Mean of the known rates of the local day that holds `at`. */
function computeDayRate(rates: Rates, dayOf: DayFormatter, at: Instant): LbsPerMwh | undefined {
  const end = findNextDayStart(dayOf, at);
  let sum = 0;
  let known = 0;
  for (let slot: number = floorTo(findDayStart(dayOf, at), rates.period); slot < end; slot += rates.period) {
    const rate = getBestRate(rates.bySlot.get(slot as Instant));
    if (rate === undefined) continue;
    sum += rate;
    known++;
  }
  return known === 0 ? undefined : ((sum / known) as LbsPerMwh);
}

/** Makes each day's mean once. */
function createDayRates(formatDay: DayFormatter, dayOf: DayFormatter) {
  const means = new Map<string, LbsPerMwh | undefined>();
  return (region: string, rates: Rates, at: Instant): LbsPerMwh | undefined => {
    const key = `${dayOf(at)} ${region}`;
    if (!means.has(key)) means.set(key, computeDayRate(rates, formatDay, at));
    return means.get(key);
  };
}

/** A pause shorter than this is one run cut at a slot, not a new start. */
const SEAM_MILLISECONDS = 1_000;

/** Where each load and job stood before a running time. */
function createRunLog() {
  const ends = new Map<string, Instant>();
  const done = new Map<string, Map<string, number>>();
  const jobsOf = (load: string) => {
    const jobs = done.get(load) ?? new Map<string, number>();
    done.set(load, jobs);
    return jobs;
  };
  return {
    /** The energy its job had had, and whether the load was off before. */
    advance({ load, job, at, for: length, energy }: SlotEntry): { readonly before: number; readonly started: boolean } {
      const jobs = jobsOf(load);
      const before = job === undefined ? 0 : (jobs.get(job) ?? 0);
      if (job !== undefined) jobs.set(job, before + energy);
      const started = at - (ends.get(load) ?? Number.NEGATIVE_INFINITY) > SEAM_MILLISECONDS;
      ends.set(load, (at + length) as Instant);
      return { before, started };
    },
    resume({ load, end, done: carried }: CarriedEntry): void {
      ends.set(load, end);
      for (const [job, energy] of Object.entries(carried)) jobsOf(load).set(job, energy);
    },
    listCarried: (): readonly CarriedEntry[] =>
      [...ends].map(([load, end]) => ({
        kind: 'carried',
        load,
        end,
        done: Object.fromEntries(jobsOf(load)) as Record<string, KilowattHour>,
      })),
  };
}

/** The local day of instants that mostly come in order: its name is made once a day. */
function createDayCache(dayOf: DayFormatter): DayFormatter {
  let known = { from: 0, to: 0, day: '' };
  return (at) => {
    if (at < known.from || at >= known.to)
      known = { from: findDayStart(dayOf, at), to: findNextDayStart(dayOf, at), day: dayOf(at) };
    return known.day;
  };
}

const formatSpan = (by: AccountingOptions['by'], day: string) =>
  by === 'all' ? 'all' : by === 'month' ? day.slice(0, 7) : day;

/** The sums by load and span. */
function createGroups({ by, now, from = -Infinity as Instant, to = Infinity as Instant }: AccountingOptions) {
  const groups = new Map<
    string,
    { readonly load: string; readonly span: string; readonly at: Instant; sum: LoadSums }
  >();
  return {
    /** Undefined outside the range. */
    open(load: string, day: string, at: Instant): LoadSums | undefined {
      if (at < from || at >= to) return undefined;
      const span = formatSpan(by, day);
      const key = `${load} ${span}`;
      const group = groups.get(key) ?? { load, span, at, sum: createLoadSums(now) };
      groups.set(key, group);
      return group.sum;
    },
    list: () => [...groups.values()].map(({ sum, ...group }) => ({ ...group, sums: sum.read() })),
  };
}

/** Nobody saw the load run: no saving is claimed, neither of carbon nor of money. */
const isUnseen = (row: SlotEntry) => row.unconfirmed && !row.metered;

const buildJobKey = ({ load, job }: { readonly load: string; readonly job?: string }) => `${load} ${job}`;

export function createSavingsAccounting(options: AccountingOptions): SavingsAccounting {
  const dayOf = createDayCache(createDayFormatter(options.timezone));
  const book = createRateBook();
  const findDayRate = createDayRates(createDayFormatter(options.timezone), dayOf);
  const jobs = new Map<string, JobEntry>();
  const log = createRunLog();
  const groups = createGroups(options);

  const prices = createPriceHistory(dayOf, createDayFormatter(options.timezone));
  const listHours = (row: SlotEntry, before: number): readonly Stretch[] | undefined => {
    const job = row.job === undefined ? undefined : jobs.get(buildJobKey(row));
    return job && listBaselineHours(job, { before, energy: row.energy }, options.timers?.get(row.load));
  };
  const priceRow = (row: SlotEntry, hours: readonly Stretch[] | undefined): Pricing | undefined => {
    if (isUnseen(row)) return undefined;
    const rates = row.region === undefined ? undefined : book.find(row.region);
    if (rates === undefined || row.region === undefined) return undefined;
    const record = findRateRecord(rates, row.at);
    const instead =
      hours === undefined
        ? findDayRate(row.region, rates, row.at)
        : computeMeanOverStretches(hours, (from, to) => computeMeanRate(rates, from, to));
    if (record === undefined || instead === undefined) return undefined;
    const ofJob = options.timers?.has(row.load) ? 'timer' : 'at-once';
    return { record, instead: instead as LbsPerMwh, baseline: hours === undefined ? 'even-day' : ofJob };
  };
  const countRow = (row: SlotEntry): void => {
    const { before, started } = log.advance(row);
    const sum = groups.open(row.load, dayOf(row.at), row.at);
    if (sum === undefined) return;
    const hours = listHours(row, before);
    sum.addRow(row, started, priceRow(row, hours));
    const bill = isUnseen(row) ? undefined : prices.billRow(row, hours);
    if (bill !== undefined) sum.addBill(row.energy, bill);
  };
  const countDay = (entry: DayEntry): void => groups.open(entry.load, entry.day, entry.at)?.addSums(entry);

  return {
    learn(entries) {
      for (const entry of entries) {
        if (entry.kind === 'job') jobs.set(buildJobKey(entry), entry);
        else if (entry.kind === 'price') prices.learn(entry);
        else book.add(entry);
      }
    },
    count(entries) {
      for (const entry of entries) {
        if (entry.kind === 'slot') countRow(entry);
        if (entry.kind === 'day') countDay(entry);
        if (entry.kind === 'carried') log.resume(entry);
      }
    },
    forgetBefore(at) {
      book.forgetBefore(at);
      prices.forgetBefore(at);
    },
    listGroups: groups.list,
    listCarried: log.listCarried,
  };
}
