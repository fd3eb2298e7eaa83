/** The JSON documents for those who watch: forecast, history, plan and totals. */

import type { RefusedChange } from '../control/control-types.ts';
import type { LoadPlan, LoadState } from '../control/state/control-state.ts';
import { convertRate, type RateUnit } from '../domain/rate-units.ts';
import type { Prices } from '../domain/tariff.ts';
import { type Duration, formatInstant, type Instant, inMinutes, RATE_UNITS } from '../domain/units.ts';
import type { Total } from '../ledger/load-totals.ts';
import type { Horizon } from '../signal/signal-view.ts';

export const formatTimeOrNull = (at: Instant | undefined) => (at === undefined ? null : formatInstant(at));

export const roundTo = (value: number, digits: number) => Number(value.toFixed(digits));

/** Rates in the owner's unit; another signal keeps the unit of the service. */
function convertSeries(values: readonly number[], units: string, unit: RateUnit) {
  const isRate = units === RATE_UNITS;
  return {
    units: isRate ? unit : units,
    // A thousand values each five minutes: `roundTo` goes through a text.
    values: values.map((value) =>
      Number.isFinite(value) ? Math.round((isRate ? convertRate(value, unit) : value) * 10) / 10 : null,
    ),
  };
}

/** `…/forecast` */
export function buildForecastPayload(horizon: Horizon, region: string | undefined, unit: RateUnit) {
  const { basis, from, period, profileFrom, generatedAt, validUntil } = horizon;
  return {
    region: region ?? null,
    basis,
    generatedAt: formatInstant(generatedAt),
    validUntil: formatInstant(validUntil),
    from: formatInstant(from),
    periodSeconds: period / 1_000,
    profileFrom: profileFrom === undefined ? null : formatInstant(profileFrom),
    ...convertSeries(horizon.values, horizon.units, unit),
  };
}

/** Values seen, one a period from `from` on; NaN where none was. */
export interface SeenValues {
  readonly region: string;
  readonly units: string;
  readonly from: Instant;
  readonly period: Duration;
  readonly values: readonly number[];
}

/** `…/history` */
export function buildHistoryPayload({ region, units, from, period, values }: SeenValues, unit: RateUnit) {
  return {
    region,
    from: formatInstant(from),
    periodSeconds: period / 1_000,
    ...convertSeries(values, units, unit),
  };
}

/** `…/prices` */
export function buildPricesPayload({ currency, spans }: Prices) {
  const last = spans.at(-1);
  return {
    currency,
    validUntil: last === undefined ? null : formatInstant(last.to),
    spans: spans.map(({ from, to, price }) => ({
      start: formatInstant(from),
      end: formatInstant(to),
      price: roundTo(price, 5),
    })),
  };
}

/** The present job of a load and its schedule. */
type PlanFacts = Pick<LoadState, 'job' | 'plan'>;

/** Of a load without a goal, if the rates come as forecast. */
export interface ExpectedRun {
  /** Absent: it runs already. */
  readonly from?: Instant;
  /** Absent: it runs at the end of what the forecast ranks. */
  readonly to?: Instant;
}

/** And what its owner has set. */
export interface ControlFacts extends PlanFacts, Pick<LoadState, 'paused' | 'thresholds'> {
  readonly expected?: readonly ExpectedRun[];
}

/** Runs that are of the present job. */
export const listPlannedRuns = ({ job, plan }: Partial<PlanFacts>): LoadPlan['runs'] =>
  job === undefined || plan?.by !== job.by ? [] : plan.runs;

/** `…/loads/<load>/plan`. Progress is in the document of the load, so that this one changes with the plan alone. */
export function buildPlanPayload(load: string, facts: PlanFacts & Pick<ControlFacts, 'expected'>, powerKw: number) {
  const { job, plan, expected = [] } = facts;
  const runs = listPlannedRuns(facts);
  return {
    load,
    madeAt: plan === undefined ? null : formatInstant(plan.madeAt),
    basis: plan === undefined ? null : plan.fromProfile ? 'own-profile' : 'forecast',
    from: job === undefined ? null : formatInstant(job.from),
    by: job === undefined ? null : formatInstant(job.by),
    validUntil: job === undefined ? null : formatInstant(job.by),
    needMinutes: job === undefined ? null : roundTo(inMinutes(job.need), 1),
    mustRun: job?.forcedByDeadline ?? false,
    refused: plan?.refused === undefined ? null : buildRefusalPayload(plan.refused),
    runs: runs.map(({ from, to }) => ({ start: formatInstant(from), end: formatInstant(to), kw: powerKw })),
    expected: expected.map(({ from, to }) => ({
      start: formatTimeOrNull(from),
      end: formatTimeOrNull(to),
      kw: powerKw,
    })),
  };
}

/** The newer plan that was not worth the starts it added, and what it would have saved. */
const buildRefusalPayload = ({ at, starts, kg, cost }: RefusedChange) => ({
  time: formatInstant(at),
  starts,
  kg: kg === undefined ? null : roundTo(kg, 3),
  cost: cost === undefined ? null : roundTo(cost, 4),
});

export interface TotalsFacts {
  readonly at: Instant;
  /** End of the local day. */
  readonly validUntil: Instant;
  /** Local, `2026-03-01`. */
  readonly today: string;
  /** The first local day of the ledger; undefined while it is empty. */
  readonly since: string | undefined;
  /** One a load and span: local days, `2026-03-01`, the latest 30 at least; whole months before, `2026-01`. */
  readonly spans: readonly Total[];
}

const DAYS_SHOWN = 30;

/** Of the energy whose price is known, in the newest currency; null without a tariff. */
function sumBills(totals: readonly Total[]) {
  const bills = totals.flatMap(({ bill }) => bill ?? []);
  const currency = bills.at(-1)?.currency;
  if (currency === undefined) return null;
  const own = bills.filter((bill) => bill.currency === currency);
  const sum = (value: (bill: (typeof own)[number]) => number) => own.reduce((all, bill) => all + value(bill), 0);
  const [paid, instead] = [sum((bill) => bill.paid), sum((bill) => bill.instead)];
  return {
    currency,
    energyKwh: roundTo(
      sum(({ energy }) => energy),
      3,
    ),
    paid: roundTo(paid, 3),
    instead: roundTo(instead, 3),
    saved: roundTo(instead - paid, 3),
  };
}

function sumTotals(totals: readonly Total[]) {
  const sum = (value: (total: Total) => number) => totals.reduce((all, total) => all + value(total), 0);
  const priced = sum((total) => total.priced);
  return {
    energyKwh: roundTo(
      sum(({ energy }) => energy),
      3,
    ),
    kg: roundTo(
      sum(({ emitted }) => emitted),
      3,
    ),
    insteadKg: roundTo(
      sum(({ instead }) => instead),
      3,
    ),
    savedKg: roundTo(
      sum(({ saved }) => saved),
      3,
    ),
    pricedKwh: roundTo(priced, 3),
    settledShare: priced === 0 ? 0 : roundTo(sum((total) => total.settledShare * total.priced) / priced, 3),
    starts: sum(({ starts }) => starts),
    bill: sumBills(totals),
  };
}

const sumSpans = (totals: readonly Total[], today: string) => ({
  today: sumTotals(totals.filter(({ span }) => span === today)),
  month: sumTotals(totals.filter(({ span }) => span.startsWith(today.slice(0, 7)))),
  all: sumTotals(totals),
});

/** `…/totals` */
export function buildTotalsPayload({ at, validUntil, today, since, spans }: TotalsFacts, loads: readonly string[]) {
  const days = [...new Set(spans.map(({ span }) => span))].filter((span) => span.length === today.length).sort();
  return {
    time: formatInstant(at),
    validUntil: formatInstant(validUntil),
    since: since ?? null,
    ...sumSpans(spans, today),
    loads: Object.fromEntries(
      loads.map((load) => [
        load,
        sumSpans(
          spans.filter((total) => total.load === load),
          today,
        ),
      ]),
    ),
    days: days.slice(-DAYS_SHOWN).map((day) => {
      const { energyKwh, kg, savedKg } = sumTotals(spans.filter(({ span }) => span === day));
      return { day, energyKwh, kg, savedKg };
    }),
  };
}

export type TotalsPayload = ReturnType<typeof buildTotalsPayload>;
