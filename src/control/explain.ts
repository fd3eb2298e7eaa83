/** Explains a decision in one sentence for a homeowner. */

import { formatHoursMinutes } from '../domain/duration-text.ts';
import { formatMayRun, isRunning } from '../domain/levels.ts';
import { formatClockTime } from '../domain/local-time.ts';
import { chooseRateUnit, formatRate, type RateUnit } from '../domain/rate-units.ts';
import { formatMoney } from '../domain/tariff.ts';
import type { Instant } from '../domain/units.ts';
import type { Basis } from '../signal/signal-view.ts';
import type { Decision, DecisionReason } from './control-types.ts';

/** One sentence: the signal, the consequence, and until when. Times are local, with the weekday when not today. */
export function explainDecision(
  decision: Decision,
  timezone: string,
  unit: RateUnit = chooseRateUnit({ timezone }),
): string {
  const clock = (at: Instant) => formatClockTime(timezone, at, decision.at);
  const signal = formatSignalPart(decision, unit);
  const body = [
    `${formatReason(decision, clock)}${formatCurrent(decision)}`,
    formatEnding(decision, clock),
    formatJob(decision, clock),
    formatMoneyPart(decision),
    formatRefusal(decision),
  ].filter((part) => part !== '');
  return `${signal === '' ? '' : `${signal}: `}${body.join('; ')}`;
}

type FormatTime = (at: Instant) => string;

function formatSignalPart({ index, rate, basis, money }: Decision, unit: RateUnit): string {
  const words: string[] = [];
  if (index !== undefined) words.push(`index ${Math.round(index.value)}`);
  if (rate !== undefined) words.push(formatRate(rate.value, unit));
  if (money !== undefined) words.push(`${roundPrice(money.price)} ${money.currency}/kWh`);
  const remark = formatBasis(basis);
  return words.length === 0 ? '' : `${words.join(', ')}${remark}`;
}

const roundPrice = (price: number) => Number(price.toFixed(4));

function formatBasis(basis: Basis): string {
  switch (basis) {
    case 'ageing-forecast':
      return ' (from an older forecast)';
    case 'fresh-forecast':
    case 'live-index':
    case 'own-profile':
    case 'default-window':
    case 'fail-safe':
      return '';
  }
}

const formatCurrent = ({ current }: Decision) =>
  current === undefined ? '' : `, with ${current.amps} A of ${current.of} A because others need power`;

interface ReasonFacts {
  readonly decision: Decision;
  readonly clock: FormatTime;
  /** ` until 14:05`, or nothing. */
  readonly when: string;
  /** The request of the rules while a limit decides otherwise. */
  readonly wanted: string;
  /** Marks a plan made from recent days rather than from a forecast. */
  readonly from: string;
  readonly unknown: string;
}

function formatReason(decision: Decision, clock: FormatTime): string {
  const { why, wantedWhy, until } = decision;
  return REASON_TEXTS[why]({
    decision,
    clock,
    when: until === undefined ? '' : ` until ${clock(until)}`,
    wanted:
      wantedWhy === undefined ? '' : ` (wants to be ${decision.wanted}: ${formatShortReason(decision, wantedWhy)})`,
    from: decision.basis === 'own-profile' ? ', as recent days were' : '',
    // The present index may be known all the same; the sentence begins with it.
    unknown: decision.index === undefined && decision.rate === undefined ? 'no signal' : 'no forecast',
  });
}

const formatLimit = (preposition: string, { threshold }: Decision) =>
  threshold === undefined ? '' : `, ${preposition} ${threshold}`;

function formatPlannedWait({ decision, clock, from }: ReasonFacts): string {
  const { job, at } = decision;
  return job !== undefined && job.from > at
    ? `may run from ${clock(job.from)}`
    : `waiting for ${formatPlannedHours(decision)}${from}`;
}

function formatPlannedRun({ decision: { job, money }, clock, from }: ReasonFacts): string {
  if (job === undefined) return `planned for these hours${from}`;
  const best = money?.objective === 'price' ? 'cheapest' : money?.objective === 'balanced' ? 'best' : 'cleanest';
  return `planned for the ${best} hours before ${clock(job.by)}${from}`;
}

/** In the cleanest hour too a plan may wait: its whole run is cleaner later, or a newer plan was not worth its starts. */
function formatPlannedHours({ money, index }: Decision): string {
  if (money?.objective === 'price') return 'cheaper hours';
  if (index !== undefined && Math.round(index.value) === 0) return 'the hours of its plan';
  return money?.objective === 'balanced' ? 'cleaner or cheaper hours' : 'cleaner hours';
}

const formatShortReason = (decision: Decision, why: DecisionReason): string =>
  why === 'plan-waits' ? `waiting for ${formatPlannedHours(decision)}` : SHORT_REASONS[why];

const REASON_TEXTS: Record<DecisionReason, (facts: ReasonFacts) => string> = {
  safety: () => 'a safety input has tripped',
  'min-on': ({ when, wanted }) => `minimum on time${when}${wanted}`,
  'min-off': ({ when, wanted }) => `minimum off time${when}${wanted}`,
  hold: ({ when, wanted }) => `minimum state time${when}${wanted}`,
  'block-limit': ({ when }) => `maximum block time reached${when === '' ? '' : `, no new block${when}`}`,
  'start-budget': ({ decision: { until }, clock, wanted }) =>
    `start limit reached${until === undefined ? '' : `, next start at ${clock(until)}`}${wanted}`,
  'power-budget': ({ wanted }) => `waits for power that other loads use${wanted}`,
  spread: ({ decision: { until }, clock, wanted }) =>
    `starts a little later than its neighbours${until === undefined ? '' : `, at ${clock(until)}`}${wanted}`,
  override: ({ decision, when }) => `set by hand to ${decision.wanted}${when}`,
  'remote-override': ({ decision, when }) => `set remotely to ${decision.wanted}${when}`,
  paused: ({ decision }) =>
    `paused by its owner; set to its fail-safe level (${formatMayRun(decision.wanted)}) until resumed`,
  'must-run': () => 'must run now to meet its deadline',
  'max-off': ({ wanted }) => `its maximum time off is over${wanted}`,
  'last-run': ({ wanted }) => `runs until it is done, its job allows no further pause${wanted}`,
  planned: formatPlannedRun,
  'plan-waits': formatPlannedWait,
  'goal-done': () => 'its goal is met',
  'vehicle-away': () => 'no vehicle is connected',
  'vehicle-full': () => 'the vehicle takes no more',
  'not-armed': () => 'waits for an arm command',
  clean: ({ decision }) => `clean${formatLimit('at or below', decision)}`,
  between: ({ decision }) => `between the thresholds${formatLimit('above', decision)}`,
  dirty: ({ decision }) => `dirty${formatLimit('at or above', decision)}`,
  flat: () => 'all hours ahead are equally clean',
  ageing: () => 'the index is too old to start a load',
  window: ({ unknown }) => `${unknown}, its daily window is open`,
  'outside-window': ({ unknown }) => `${unknown}, its daily window is closed`,
  boot: () => 'just started, no signal yet',
  'no-data': ({ decision }) => `no signal; set to its fail-safe level (${decision.level})`,
  'untrusted-clock': ({ decision }) => `the clock of this machine is not synchronised; set to ${decision.level}`,
  'output-fault': ({ decision, when }) =>
    `the output does not confirm; set to its fail-safe level (${formatMayRun(decision.level)})${when}`,
};

/** These name their end themselves. */
const REASONS_WITH_UNTIL: readonly DecisionReason[] = [
  'min-on',
  'min-off',
  'hold',
  'block-limit',
  'start-budget',
  'spread',
  'override',
  'remote-override',
  'output-fault',
];

function formatEnding({ why, level, until, next }: Decision, clock: FormatTime): string {
  const does = isRunning(level) ? 'runs' : level === 'block' ? 'is blocked' : 'waits';
  if (REASONS_WITH_UNTIL.includes(why)) return '';
  if (why === 'no-data' || why === 'untrusted-clock' || why === 'paused') return '';
  if (next !== undefined) return `${does} until ${clock(next.at)}`;
  if (until !== undefined) return `${does} until ${clock(until)} at least`;
  return does;
}

function formatJob({ job, why }: Decision, clock: FormatTime): string {
  if (job === undefined) return '';
  const share = `${formatHoursMinutes(job.done)} of ${formatHoursMinutes(job.need)} by ${clock(job.by)}`;
  const missing = job.shortfall > 0 && why !== 'goal-done' ? `, ${formatHoursMinutes(job.shortfall)} short` : '';
  return `${share}${missing}`;
}

/** Of a job that is not done. */
function formatMoneyPart({ money, job, why }: Decision): string {
  if (money?.expected === undefined || job === undefined || why === 'goal-done') return '';
  const { cost, kg, currency } = money.expected;
  const spent = money.spent === undefined || money.spent === 0 ? '' : `${formatMoney(money.spent, currency)} so far, `;
  return `${spent}the rest costs ${formatMoney(cost, currency)}${kg === undefined ? '' : ` and emits ${kg.toFixed(1)} kg CO2`}`;
}

/** What a newer plan would have saved with the starts it adds. */
function formatRefusal({ refused, money }: Decision): string {
  if (refused === undefined) return '';
  const { starts, kg, cost } = refused;
  const saved = [
    ...(kg === undefined ? [] : [kg < 0.005 ? 'less than 0.01 kg CO2' : `${kg.toFixed(2)} kg CO2`]),
    ...(cost === undefined || money === undefined ? [] : [formatMoney(cost, money.currency)]),
  ];
  const more = `keeps its plan, a newer one starts ${starts === 1 ? 'once' : `${starts} times`} more`;
  return saved.length === 0 ? more : `${more} and saves ${saved.join(' and ')}`;
}

/** The reason of a request that a limit delays, in brackets. */
const SHORT_REASONS: Record<Exclude<DecisionReason, 'plan-waits'>, string> = {
  planned: 'planned',
  'must-run': 'the deadline is near',
  'max-off': 'its maximum time off is over',
  'goal-done': 'its goal is met',
  override: 'set by hand',
  'remote-override': 'set remotely',
  paused: 'paused by its owner',
  'no-data': 'no signal',
  'untrusted-clock': 'its clock is not synchronised',
  'output-fault': 'the output does not confirm',
  boot: 'just started',
  window: 'its daily window is open',
  'outside-window': 'its daily window is closed',
  'vehicle-away': 'no vehicle is connected',
  'vehicle-full': 'the vehicle takes no more',
  'not-armed': 'not armed',
  safety: 'safety',
  'min-on': 'min-on',
  'min-off': 'min-off',
  hold: 'hold',
  'last-run': 'last-run',
  'block-limit': 'block-limit',
  'start-budget': 'start-budget',
  'power-budget': 'power-budget',
  clean: 'clean',
  between: 'between',
  dirty: 'dirty',
  flat: 'flat',
  ageing: 'ageing',
  spread: 'spread',
};
