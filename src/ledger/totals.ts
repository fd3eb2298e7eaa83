/** Adds up what ran, what it emitted and what the same energy would have emitted otherwise. Never turns an index into kilograms. */

import { createDayFormatter, type DayFormatter, findDayStart, findNextDayStart } from '../domain/local-day.ts';
import {
  computeEmissions,
  days,
  floorTo,
  type Instant,
  type Kilogram,
  type KilowattHour,
  type LbsPerMwh,
} from '../domain/units.ts';
import {
  collectRates,
  type Entry,
  getBestRate,
  type JobEntry,
  type RateRecord,
  type Rates,
  type SlotEntry,
} from './entries.ts';

/**
 * What a row is compared with. `at-once`: the job's energy at full power from the moment it was armed. `even-day`: a load without a job has no
 * such moment; it is compared with the same energy drawn evenly over the local day, as by a thermostat that knows nothing of the grid.
 */
export type Baseline = 'at-once' | 'even-day';

/** `estimate`: rates as forecast when the load ran; `provisional`: published less than 7 days ago or since changed; `settled`: unchanged for 7 days. */
export type RateStatus = 'estimate' | 'provisional' | 'settled';

export interface Total {
  readonly load: string;
  /** Local day `2026-03-01`, month `2026-03`, or `all`. */
  readonly span: string;
  readonly energy: KilowattHour;
  /** The part whose rates, and whose counterfactual's rates, are known: all kilograms speak of it alone. */
  readonly priced: KilowattHour;
  readonly emitted: Kilogram;
  /** Of the counterfactual. */
  readonly instead: Kilogram;
  /** Negative when the counterfactual would have been cleaner. */
  readonly saved: Kilogram;
  readonly baselines: readonly Baseline[];
  /** Of the least certain row; undefined when nothing is priced. */
  readonly standing?: RateStatus;
  /** Parts of the priced energy, 0 to 1. */
  readonly settledShare: number;
  readonly imputedShare: number;
  readonly models: readonly string[];
  /** Kilograms by which restatements have changed `emitted` since the first published values. */
  readonly restated: Kilogram;
  readonly jobs: number;
  readonly starts: number;
}

export interface TotalsOptions {
  readonly timezone: string;
  readonly by: 'day' | 'month' | 'all';
  readonly from?: Instant;
  /** Exclusive. */
  readonly to?: Instant;
  readonly now: Instant;
}

const SETTLED_AFTER = days(7);
const NO_KILOGRAMS = 0 as Kilogram;

interface Sum {
  energy: number;
  priced: number;
  emitted: number;
  instead: number;
  settled: number;
  imputed: number;
  restated: number;
  starts: number;
  estimate: boolean;
  readonly baselines: Set<Baseline>;
  readonly models: Set<string>;
  readonly jobs: Set<string>;
}

const createSum = (): Sum => ({
  energy: 0,
  priced: 0,
  emitted: 0,
  instead: 0,
  settled: 0,
  imputed: 0,
  restated: 0,
  starts: 0,
  estimate: false,
  baselines: new Set(),
  models: new Set(),
  jobs: new Set(),
});

const findRateRecord = (rates: Rates, at: Instant): RateRecord | undefined =>
  rates.bySlot.get(floorTo(at, rates.period));

/** Mean rate of an interval, each slot by its part; undefined when one is not known. */
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

/** Where the counterfactual of a job's next kilowatt-hours lies: right after those it has had. */
function computeAtOnceRate(rates: Rates, job: JobEntry, done: number, row: SlotEntry): LbsPerMwh | undefined {
  const time = (energy: number) => job.armedAt + (energy / job.power) * 3_600_000;
  return computeMeanRate(rates, time(done), time(done + row.energy));
}

/** Mean of the known rates of each local day, made once a day. */
function createEvenDayRate(rates: Rates, dayOf: DayFormatter): (at: Instant) => LbsPerMwh | undefined {
  const means = new Map<string, LbsPerMwh | undefined>();
  return (at) => {
    const day = dayOf(at);
    if (means.has(day)) return means.get(day);
    const end = findNextDayStart(dayOf, at);
    let sum = 0;
    let known = 0;
    for (
      let slot = floorTo(findDayStart(dayOf, at), rates.period);
      slot < end;
      slot = (slot + rates.period) as Instant
    ) {
      const rate = getBestRate(rates.bySlot.get(slot));
      if (rate === undefined) continue;
      sum += rate;
      known++;
    }
    const mean = known === 0 ? undefined : ((sum / known) as LbsPerMwh);
    means.set(day, mean);
    return mean;
  };
}

function addEmissions(sum: Sum, row: SlotEntry, record: RateRecord, instead: LbsPerMwh, now: Instant): void {
  const rate = getBestRate(record);
  if (rate === undefined) return;
  sum.priced += row.energy;
  sum.emitted += computeEmissions(row.energy, rate);
  sum.instead += computeEmissions(row.energy, instead);
  if (record.published === undefined) sum.estimate = true;
  else if (record.changedAt !== undefined && now - record.changedAt >= SETTLED_AFTER) sum.settled += row.energy;
  if (record.imputed) sum.imputed += row.energy;
  if (record.first !== undefined)
    sum.restated += computeEmissions(row.energy, rate) - computeEmissions(row.energy, record.first);
  if (record.model !== undefined) sum.models.add(record.model);
}

function buildTotal(load: string, span: string, sum: Sum): Total {
  const part = (energy: number) => (sum.priced === 0 ? 0 : energy / sum.priced);
  const settled = sum.priced > 0 && sum.settled >= sum.priced * (1 - 1e-9);
  const standing: RateStatus = sum.estimate ? 'estimate' : settled ? 'settled' : 'provisional';
  return {
    load,
    span,
    energy: sum.energy as KilowattHour,
    priced: sum.priced as KilowattHour,
    emitted: sum.emitted as Kilogram,
    instead: sum.instead as Kilogram,
    saved: sum.priced === 0 ? NO_KILOGRAMS : ((sum.instead - sum.emitted) as Kilogram),
    baselines: [...sum.baselines],
    ...(sum.priced === 0 ? {} : { standing }),
    settledShare: part(sum.settled),
    imputedShare: part(sum.imputed),
    models: [...sum.models].sort(),
    restated: sum.restated as Kilogram,
    jobs: sum.jobs.size,
    starts: sum.starts,
  };
}

const formatSpan = (by: TotalsOptions['by'], day: string) =>
  by === 'all' ? 'all' : by === 'month' ? day.slice(0, 7) : day;

/** A pause shorter than this is one run cut at a slot, not a new start. */
const SEAM_MILLISECONDS = 1_000;

/** What the rows before have left behind, and what is asked of regions more than once. */
interface TotalsWalk {
  readonly jobs: Map<string, JobEntry>;
  /** Energy each job has had. */
  readonly done: Map<string, number>;
  readonly lastEnd: Map<string, number>;
  readonly findRegionRates: (region: string) => RegionRates | undefined;
}

interface RegionRates {
  readonly rates: Rates;
  readonly even: ReturnType<typeof createEvenDayRate>;
}

const buildJobKey = ({ load, job }: { readonly load: string; readonly job?: string }) =>
  job === undefined ? undefined : `${load} ${job}`;

function createRegionLookup(entries: readonly Entry[], dayOf: DayFormatter): TotalsWalk['findRegionRates'] {
  const known = new Map<string, RegionRates | undefined>();
  return (region) => {
    if (!known.has(region)) {
      const rates = collectRates(entries, region);
      known.set(region, rates && { rates, even: createEvenDayRate(rates, dayOf) });
    }
    return known.get(region);
  };
}

/** Takes a row into the walk: where its job stood before it, and whether it is a start. */
function advanceWalk(
  { done, lastEnd }: TotalsWalk,
  row: SlotEntry,
): { readonly before: number; readonly started: boolean } {
  const key = buildJobKey(row);
  const before = key === undefined ? 0 : (done.get(key) ?? 0);
  if (key !== undefined) done.set(key, before + row.energy);
  const started = row.at - (lastEnd.get(row.load) ?? Number.NEGATIVE_INFINITY) > SEAM_MILLISECONDS;
  lastEnd.set(row.load, row.at + row.for);
  return { before, started };
}

function addRow(
  sum: Sum,
  row: SlotEntry,
  { before, started }: ReturnType<typeof advanceWalk>,
  walk: TotalsWalk,
  now: Instant,
): void {
  sum.energy += row.energy;
  if (started) sum.starts++;
  if (row.job !== undefined) sum.jobs.add(row.job);
  const region = row.region === undefined ? undefined : walk.findRegionRates(row.region);
  if (region === undefined) return;
  const job = walk.jobs.get(buildJobKey(row) ?? '');
  const instead = job === undefined ? region.even(row.at) : computeAtOnceRate(region.rates, job, before, row);
  const record = findRateRecord(region.rates, row.at);
  if (record === undefined || instead === undefined) return;
  sum.baselines.add(job === undefined ? 'even-day' : 'at-once');
  addEmissions(sum, row, record, instead, now);
}

/** One total a load and span, in the order of first appearance. A job's rows count on the day they ran. */
export function computeTotals(ledger: Iterable<Entry>, options: TotalsOptions): readonly Total[] {
  const entries = [...ledger];
  const dayOf = createDayFormatter(options.timezone);
  const walk: TotalsWalk = {
    jobs: new Map(),
    done: new Map(),
    lastEnd: new Map(),
    findRegionRates: createRegionLookup(entries, dayOf),
  };
  const { from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY } = options;
  const sums = new Map<string, { readonly load: string; readonly span: string; readonly sum: Sum }>();
  for (const entry of entries) {
    if (entry.kind === 'job') walk.jobs.set(buildJobKey(entry) ?? '', entry);
    if (entry.kind !== 'slot') continue;
    const passed = advanceWalk(walk, entry);
    if (entry.at < from || entry.at >= to) continue;
    const span = formatSpan(options.by, dayOf(entry.at));
    const id = `${entry.load} ${span}`;
    const group = sums.get(id) ?? { load: entry.load, span, sum: createSum() };
    sums.set(id, group);
    addRow(group.sum, entry, passed, walk, options.now);
  }
  return [...sums.values()].map(({ load, span, sum }) => buildTotal(load, span, sum));
}
