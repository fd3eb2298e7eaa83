/** The costs of a job by the tariff, and their weight in its plan beside the signal. */

import type { LoadConfig } from '../../domain/load-types.ts';
import { type PriceSpan, sumPrice } from '../../domain/tariff.ts';
import { days, type Instant, RATE_UNITS } from '../../domain/units.ts';
import type { Horizon } from '../../signal/signal-view.ts';
import type { JobPlan, PlannedRun } from './slot-plan.ts';

/** Prices with the weight they have in a plan, in the horizon's unit for one of the currency a kilowatt-hour. */
export interface JobPricing {
  readonly spans: readonly PriceSpan[];
  readonly worth: number;
}

/** Price times hours, for a load of one kilowatt. */
export interface JobBill {
  /** What the job has cost so far. */
  readonly spent: number;
  /** The least the whole job was seen to allow, where its bill is bounded. */
  readonly cheapest?: number;
}

const KILOGRAMS_PER_POUND = 0.45359237;
/** A tonne is 1,000 kg, a megawatt-hour 1,000 kWh. */
const PER_TONNE_AND_KWH = 1e6;
/** Emissions decide among equal prices alone. */
const PRICE_FIRST_TIMES = 1e4;

/** The mean price of each slot; of unknown ones that of the same time a day before, else the mean of those known. */
export function listSlotPrices(
  spans: readonly PriceSpan[],
  { from, period }: Pick<Horizon, 'from' | 'period'>,
  count: number,
): Float64Array {
  const prices = new Float64Array(count);
  const perDay = Math.round(days(1) / period);
  let [next, sum, known] = [0, 0, 0];
  for (let slot = 0; slot < count; slot++) {
    const start = from + slot * period;
    while ((spans[next]?.to ?? Number.POSITIVE_INFINITY) <= start) next++;
    const price = computeMeanPrice(spans, next, start, start + period);
    if (price !== undefined) {
      sum += price;
      known++;
    }
    prices[slot] = price ?? prices[slot - perDay] ?? Number.NaN;
  }
  const mean = known === 0 ? 0 : sum / known;
  return prices.map((price) => (Number.isNaN(price) ? mean : price));
}

function computeMeanPrice(spans: readonly PriceSpan[], first: number, from: number, to: number): number | undefined {
  const span = spans[first];
  if (span === undefined) return undefined;
  if (span.from <= from && span.to >= to) return span.price;
  const within = spans.slice(first).filter((one) => one.from < to);
  const length = within.reduce((total, one) => total + Math.min(one.to, to) - Math.max(one.from, from), 0);
  return length <= 0 ? undefined : (sumPrice(within, from as Instant, to as Instant) * 3_600_000) / length;
}

/** Price times hours of the runs, for a load of one kilowatt; unknown prices as `listSlotPrices` has them. */
export function computeBill(runs: readonly PlannedRun[], horizon: Horizon, spans: readonly PriceSpan[]): number {
  const { from, period } = horizon;
  const last = runs.at(-1);
  if (last === undefined) return 0;
  const prices = listSlotPrices(spans, horizon, Math.max(0, Math.ceil((last.to - from) / period)));
  let sum = 0;
  for (const run of runs)
    for (let slot = Math.max(0, Math.floor((run.from - from) / period)); from + slot * period < run.to; slot++) {
      const start = from + slot * period;
      const length = Math.min(run.to, start + period) - Math.max(run.from, start);
      sum += ((prices[slot] ?? 0) * length) / 3_600_000;
    }
  return sum;
}

/** How a load weighs its bill. */
type PriceGoal =
  | { readonly kind: 'price' }
  | { readonly kind: 'worth'; readonly worth: number }
  | { readonly kind: 'bounded'; readonly maxDearer: number };

/** Undefined for a load that plans by emissions alone. A price of carbon needs rates: with an index alone the bill is bounded. */
export function getPriceGoal(load: LoadConfig, { units }: Horizon): PriceGoal | undefined {
  const { objective = 'carbon', carbonPrice, maxDearer = 0 } = load;
  if (objective === 'carbon') return undefined;
  if (objective === 'price') return { kind: 'price' };
  if (carbonPrice === undefined || units !== RATE_UNITS) return { kind: 'bounded', maxDearer };
  return { kind: 'worth', worth: PER_TONNE_AND_KWH / (KILOGRAMS_PER_POUND * carbonPrice) };
}

/** Weights that may be tried, least first, each as a multiple of mean value over mean price; then price first. */
const WORTHS = [0.05, 0.1, 0.18, 0.25, 0.35, 0.5, 0.7, 1, 1.4, 2, 4] as const;

interface BoundedSearch {
  readonly horizon: Horizon;
  readonly spans: readonly PriceSpan[];
  /** What the rest of the job may come to. */
  readonly limit: number;
  /** Such a multiple: with less of it money would go where it saves little carbon. */
  readonly leastWorth: number;
  readonly planAt: (pricing: JobPricing) => JobPlan | undefined;
}

interface PricedJob {
  readonly pricing?: JobPricing;
  readonly bill: JobBill;
}

export interface PricedHours extends Omit<BoundedSearch, 'limit' | 'leastWorth'> {
  /** The rest of the job's time. */
  readonly from: Instant;
  readonly to: Instant;
  /** What the jobs before have left. */
  readonly saved: number;
  /** The prices are those of the plan before. */
  readonly isKnown: boolean;
}

/** How the prices enter a job's plan, and its bill as it stands. Prices that are all one decide nothing. */
export function priceJob(goal: PriceGoal | undefined, before: JobBill, hours: PricedHours): PricedJob {
  const { horizon, spans, planAt, saved, isKnown } = hours;
  if (goal === undefined) return { bill: before };
  if (isFlat(hours) && (goal.kind !== 'bounded' || before.cheapest !== undefined)) return { bill: before };
  if (goal.kind === 'worth') return { pricing: { spans, worth: goal.worth }, bill: before };
  const byPrice = { spans, worth: PRICE_FIRST_TIMES * computeWorthUnit(horizon, spans) };
  if (goal.kind === 'price') return { pricing: byPrice, bill: before };
  const cheapest =
    isKnown && before.cheapest !== undefined ? before.cheapest : findCheapestBill(before, byPrice, hours);
  if (cheapest === undefined) return { pricing: byPrice, bill: before };
  const bill = { ...before, cheapest };
  const bound = computeBound(goal.maxDearer, cheapest);
  if (bound === 0) return { pricing: byPrice, bill };
  const limit = cheapest + (1 + LENT_JOBS) * bound + saved - before.spent;
  const adapted = (START_WORTH / goal.maxDearer) * Math.exp(-saved / bound / ADAPTING_JOBS);
  const leastWorth = Math.min(PRICE_FIRST_TIMES, adapted);
  return { pricing: findBoundedPricing({ horizon, spans, planAt, limit, leastWorth }), bill };
}

const isFlat = ({ spans, from, to }: PricedHours): boolean => {
  const within = spans.filter((span) => span.to > from && span.from < to);
  return within.every(({ price }) => price === within[0]?.price);
};

/** Of the whole job; newer prices may make it less, hours that have passed never make it more. */
function findCheapestBill(before: JobBill, byPrice: JobPricing, { horizon, spans, planAt }: PricedHours) {
  const plan = planAt(byPrice);
  if (plan === undefined) return before.cheapest;
  return Math.min(before.cheapest ?? Number.POSITIVE_INFINITY, before.spent + computeBill(plan.runs, horizon, spans));
}

/** Less than the owner allows: a plan that cannot be kept costs a little more. */
const AIMED_SHARE = 0.9;
const computeBound = (maxDearer: number, cheapest: number) => AIMED_SHARE * maxDearer * Math.abs(cheapest);

/**
 * One weight for all jobs saves the most carbon for the money, so the weight follows the account: what jobs leave of their bounds lowers it
 * for those to come, e-fold for so many whole bounds, until they use what they are allowed. For a bound of 2 % it
 * begins at half of mean value over mean price, near the best of four recorded months.
 */
const ADAPTING_JOBS = 20;
const START_WORTH = 0.01;
/** Jobs whose unused bounds are kept: what winter leaves buys clean hours in spring. */
const KEPT_JOBS = 60;
/** Bounds of jobs to come that one may use beyond the account. */
const LENT_JOBS = 5;

/** What the jobs before have left of their bounds, below 0 when they cost more, with the one that has ended. A nearly free one does not empty the account. */
export function settleBill(saved: number, { maxDearer = 0 }: LoadConfig, { spent, cheapest }: JobBill): number {
  if (cheapest === undefined) return saved;
  const bound = computeBound(maxDearer, cheapest);
  const most = KEPT_JOBS * bound;
  return Math.min(Math.max(most, saved), Math.max(Math.min(-most, saved), saved + bound - (spent - cheapest)));
}

/** The least weight whose plan keeps within the limit: a greater one never makes the bill greater. */
function findBoundedPricing({ horizon, spans, limit, leastWorth, planAt }: BoundedSearch): JobPricing {
  const unit = computeWorthUnit(horizon, spans);
  const worths = [leastWorth, ...WORTHS.filter((worth) => worth > leastWorth)];
  const isWithin = (worth: number): boolean => {
    const plan = planAt({ spans, worth: worth * unit });
    return plan === undefined || computeBill(plan.runs, horizon, spans) <= limit;
  };
  let [low, high]: [number, number] = isWithin(leastWorth) ? [0, 0] : [1, worths.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isWithin(worths[middle] ?? 0)) high = middle;
    else low = middle + 1;
  }
  return { spans, worth: (worths[low] ?? PRICE_FIRST_TIMES) * unit };
}

function computeWorthUnit({ values }: Horizon, spans: readonly PriceSpan[]): number {
  const value = computeMeanMagnitude(values);
  const price = computeMeanMagnitude(spans.map((span) => span.price));
  return price === 0 ? 0 : Math.max(value, 1e-6) / price;
}

/** The mean size of what is known of a list; 0 of an empty one. */
export function computeMeanMagnitude(values: readonly number[]): number {
  let sum = 0;
  let count = 0;
  for (const value of values)
    if (!Number.isNaN(value)) {
      sum += Math.abs(value);
      count++;
    }
  return count === 0 ? 0 : sum / count;
}
