/** Sums the running time, energy and emissions of one load and span. */

import {
  computeEmissions,
  days,
  type Instant,
  type Kilogram,
  type KilowattHour,
  type LbsPerMwh,
} from '../domain/units.ts';
import type { Baseline, BillSums, SlotEntry, TotalSums } from './entries.ts';
import type { RowBill } from './price-history.ts';
import { getBestRate, type RateRecord } from './rates.ts';

/** A published rate that has not changed for so long counts as settled. */
const SETTLED_AFTER = days(7);

/** The rate of a row's slot, and what the same energy is compared with. */
export interface Pricing {
  readonly record: RateRecord;
  readonly baseline: Baseline;
  readonly instead: LbsPerMwh;
}

export interface LoadSums {
  /** A row without a known rate is not priced. */
  addRow(row: SlotEntry, started: boolean, pricing: Pricing | undefined): void;
  /** Of another currency than before it is left out. */
  addBill(energy: KilowattHour, bill: RowBill): void;
  addSums(sums: TotalSums): void;
  read(): TotalSums;
}

/** The two together; sums of two currencies are none, so the first stays. */
function mergeBills(before: BillSums | undefined, added: BillSums | undefined): BillSums | undefined {
  if (before === undefined || added === undefined) return before ?? added;
  if (before.currency !== added.currency) return before;
  return {
    energy: (before.energy + added.energy) as KilowattHour,
    paid: before.paid + added.paid,
    instead: before.instead + added.instead,
    currency: before.currency,
  };
}

export function createLoadSums(now: Instant): LoadSums {
  const sum = {
    ...{ energy: 0, metered: 0, unconfirmed: 0, priced: 0, emitted: 0, instead: 0 },
    ...{ settled: 0, imputed: 0, restated: 0, starts: 0 },
  };
  let estimated = false;
  let bill: BillSums | undefined;
  const baselines = new Set<Baseline>();
  const models = new Set<string>();
  const jobs = new Set<string>();

  const addPriced = ({ energy }: SlotEntry, rate: LbsPerMwh, { record, baseline, instead }: Pricing): void => {
    baselines.add(baseline);
    sum.priced += energy;
    sum.emitted += computeEmissions(energy, rate);
    sum.instead += computeEmissions(energy, instead);
    if (record.published === undefined) estimated = true;
    else if (record.changedAt !== undefined && now - record.changedAt >= SETTLED_AFTER) sum.settled += energy;
    if (record.imputed) sum.imputed += energy;
    if (record.first !== undefined)
      sum.restated += computeEmissions(energy, rate) - computeEmissions(energy, record.first);
    if (record.model !== undefined) models.add(record.model);
  };

  return {
    addRow(row, started, pricing) {
      sum.energy += row.energy;
      if (row.metered) sum.metered += row.energy;
      else if (row.unconfirmed) sum.unconfirmed += row.energy;
      if (started) sum.starts++;
      if (row.job !== undefined) jobs.add(row.job);
      const rate = getBestRate(pricing?.record);
      if (pricing !== undefined && rate !== undefined) addPriced(row, rate, pricing);
    },
    addBill(energy, { paid, instead, currency }) {
      bill = mergeBills(bill, { energy, paid, instead, currency });
    },
    addSums(sums) {
      bill = mergeBills(bill, sums.bill);
      for (const key of Object.keys(sum) as (keyof typeof sum)[]) sum[key] += sums[key];
      estimated ||= sums.estimated;
      for (const baseline of sums.baselines) baselines.add(baseline);
      for (const model of sums.models) models.add(model);
      for (const job of sums.jobs) jobs.add(job);
    },
    read: () => ({
      energy: sum.energy as KilowattHour,
      metered: sum.metered as KilowattHour,
      unconfirmed: sum.unconfirmed as KilowattHour,
      priced: sum.priced as KilowattHour,
      emitted: sum.emitted as Kilogram,
      instead: sum.instead as Kilogram,
      settled: sum.settled as KilowattHour,
      imputed: sum.imputed as KilowattHour,
      restated: sum.restated as Kilogram,
      starts: sum.starts,
      estimated,
      baselines: [...baselines],
      models: [...models].sort(),
      jobs: [...jobs],
      ...(bill === undefined ? {} : { bill }),
    }),
  };
}
