/** Builds the record of a decision (level, reason, priority, data, next change) and detects news in it. */

import type { LoadConfig } from '../domain/load-types.ts';
import { findPriceSpan } from '../domain/tariff.ts';
import { computeEnergy, type Duration, RATE_UNITS } from '../domain/units.ts';
import type { Basis } from '../signal/signal-view.ts';
import type { Decision, DecisionMoney, RulePriority } from './control-types.ts';
import type { Permitted } from './rules/interlocks.ts';
import { computeShortfall } from './rules/shortfall.ts';
import { findMinimumTimeEnd, getValidPrices, type StepContext, toWallTime } from './rules/step-context.ts';
import type { LoadState } from './state/control-state.ts';

export function buildDecision(
  context: StepContext,
  load: LoadConfig,
  state: LoadState,
  permitted: Permitted,
): Decision {
  const { request, level, interlock, current } = permitted;
  const until = permitted.until ?? request.until ?? findPresentLevelEnd(context, load, state);
  const { index, rate } = citeSignal(context);
  const { job } = state;
  const money = citeMoney(context, load, state);
  const refused = request.why === 'planned' || request.why === 'plan-waits' ? state.plan?.refused : undefined;
  return {
    load: load.name,
    at: context.now.wall,
    level,
    wanted: request.level,
    why: interlock ?? request.why,
    priority: interlock === undefined ? request.priority : getInterlockPriority(interlock),
    basis: request.basis,
    ...(current === undefined ? {} : { current }),
    ...(interlock === undefined ? {} : { wantedWhy: request.why }),
    ...(index === undefined ? {} : { index }),
    ...(request.threshold === undefined ? {} : { threshold: request.threshold }),
    ...(rate === undefined ? {} : { rate }),
    ...(until === undefined ? {} : { until }),
    ...(request.next === undefined ? {} : { next: request.next }),
    ...(job === undefined
      ? {}
      : {
          job: {
            by: job.by,
            from: job.from,
            need: job.need,
            done: job.done,
            shortfall: computeShortfall(context, load, state, job),
          },
          energy: computeEnergy(load.powerKw, job.done),
        }),
    ...(money === undefined ? {} : { money }),
    ...(refused === undefined ? {} : { refused }),
  };
}

/** The price of now, and what the job has cost and will. */
function citeMoney(context: StepContext, load: LoadConfig, { job, plan }: LoadState): DecisionMoney | undefined {
  const prices = getValidPrices(context);
  const price = prices && findPriceSpan(prices.spans, context.now.wall)?.price;
  if (prices === undefined || price === undefined || !context.now.trusted) return undefined;
  const { objective } = load;
  return {
    currency: prices.currency,
    price,
    ...(job?.bill === undefined ? {} : { spent: load.powerKw * job.bill.spent }),
    ...(job === undefined || plan?.expected === undefined ? {} : { expected: plan.expected }),
    ...(objective === undefined || objective === 'carbon' ? {} : { objective }),
  };
}

const getInterlockPriority = (interlock: Decision['why']): RulePriority =>
  interlock === 'power-budget' ? 3 : interlock === 'ageing' ? 8 : 2;

/** Until when the least time of the present level lasts, while it does. */
function findPresentLevelEnd(context: StepContext, load: LoadConfig, state: LoadState) {
  const end = findMinimumTimeEnd(load, state);
  return end === undefined || end <= context.now.uptime ? undefined : toWallTime(context, end);
}

/** The present values of the signal for people: only valid ones, of one period, and only on a trusted clock. */
function citeSignal({ view, now }: StepContext): Pick<Decision, 'index' | 'rate'> {
  if (view === undefined || !now.trusted) return {};
  const { index, rate } = view;
  const isIndexValid = index !== undefined && now.wall < index.validUntil;
  // The live index holds until its successor arrives; the rate of the next period is not the one it ranks.
  const isRateValid =
    rate !== undefined && now.wall < rate.until && !(isIndexValid && (index.at < rate.at || index.at >= rate.until));
  return {
    ...(isIndexValid ? { index: { value: index.value, age: Math.max(0, now.wall - index.at) as Duration } } : {}),
    ...(isRateValid ? { rate: { value: rate.value, units: RATE_UNITS } } : {}),
  };
}

/** Moments that differ by less than this are one moment to people. */
const SAME_TIME_TOLERANCE = 60_000;

const isSameTime = (a: number | undefined, b: number | undefined) =>
  a === b || (a !== undefined && b !== undefined && Math.abs(a - b) < SAME_TIME_TOLERANCE);

const hasShortfall = ({ job }: Decision) => job !== undefined && job.shortfall > 0;

/** A fresh forecast replaces a late live index: people need not see the difference. */
const isEquallyFresh = (a: Basis, b: Basis) => a === b || (isFresh(a) && isFresh(b));
const isFresh = (basis: Basis) => basis === 'live-index' || basis === 'fresh-forecast';

export function isSameDecision(a: Decision | undefined, b: Decision): boolean {
  return (
    a !== undefined &&
    a.level === b.level &&
    a.current?.amps === b.current?.amps &&
    a.wanted === b.wanted &&
    a.why === b.why &&
    a.wantedWhy === b.wantedWhy &&
    a.priority === b.priority &&
    isEquallyFresh(a.basis, b.basis) &&
    a.job?.by === b.job?.by &&
    (a.refused === undefined) === (b.refused === undefined) &&
    a.next?.level === b.next?.level &&
    isSameTime(a.next?.at, b.next?.at) &&
    hasShortfall(a) === hasShortfall(b)
  );
}
