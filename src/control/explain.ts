/** A decision in words a homeowner reads; adds nothing to it. */

import { isRunning } from '../domain/levels.ts';
import { formatClockTime } from '../domain/local-time.ts';
import type { Duration, Instant } from '../domain/units.ts';
import type { Basis } from '../signal/signal-view.ts';
import type { Decision, DecisionReason } from './control-types.ts';

/** One sentence: what the signal says, what follows, and until when. Times are local, with the weekday when not today. */
export function explainDecision(decision: Decision, timezone: string): string {
  const clock = (at: Instant) => formatClockTime(timezone, at, decision.at);
  const signal = formatSignalPart(decision);
  const body = [formatReason(decision, clock), formatEnding(decision, clock), formatJob(decision, clock)].filter(
    (part) => part !== '',
  );
  return `${signal === '' ? '' : `${signal}: `}${body.join('; ')}`;
}

type FormatTime = (at: Instant) => string;

function formatSignalPart({ index, rate, basis }: Decision): string {
  const words: string[] = [];
  if (index !== undefined) words.push(`index ${Math.round(index.value)}`);
  if (rate !== undefined) words.push(`${Math.round(rate.value)} lb/MWh`);
  const remark = formatBasis(basis);
  return words.length === 0 ? '' : `${words.join(', ')}${remark}`;
}

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

function formatReason(decision: Decision, clock: FormatTime): string {
  const { why, wantedWhy: wish, threshold: limit, until } = decision;
  const from = decision.basis === 'own-profile' ? ' by what recent days were like' : '';
  const wanted = wish === undefined ? '' : ` (wants to be ${decision.wanted}: ${formatShortReason(wish)})`;
  const when = until === undefined ? '' : ` until ${clock(until)}`;
  // An index of now is known all the same, and said before.
  const unknown = decision.index === undefined && decision.rate === undefined ? 'no signal' : 'no forecast';
  switch (why) {
    case 'safety':
      return 'a safety input has tripped';
    case 'min-on':
      return `has to run${when} before it may stop${wanted}`;
    case 'min-off':
      return `has to rest${when} before it may start${wanted}`;
    case 'hold':
      return `keeps its signal${when}, as the heat pump needs it${wanted}`;
    case 'block-limit':
      return `may not be blocked any longer${when === '' ? '' : `, not again${when}`}`;
    case 'start-budget':
      return `has used up its starts${when === '' ? '' : `, the next is free at ${clock(until as Instant)}`}${wanted}`;
    case 'power-budget':
      return `waits for power that other loads use${wanted}`;
    case 'spread':
      return `starts a little later than its neighbours${until === undefined ? '' : `, at ${clock(until)}`}${wanted}`;
    case 'override':
      return `set by hand to ${decision.wanted}${when}`;
    case 'remote-override':
      return `set from afar to ${decision.wanted}${when}`;
    case 'must-run':
      return 'can wait no longer for its deadline';
    case 'last-run':
      return `goes on until it is done, for it has no pause left${wanted}`;
    case 'planned':
      return `planned for these hours${from}`;
    case 'plan-waits':
      if (decision.job !== undefined && decision.job.from > decision.at)
        return `may run from ${clock(decision.job.from)}`;
      return `cleaner hours are to come${from}`;
    case 'goal-done':
      return 'has what it needs';
    case 'not-armed':
      return 'waits to be armed';
    case 'clean':
      return `clean${limit === undefined ? '' : `, at or below ${limit}`}`;
    case 'between':
      return `between the thresholds${limit === undefined ? '' : `, above ${limit}`}`;
    case 'dirty':
      return `dirty${limit === undefined ? '' : `, at or above ${limit}`}`;
    case 'flat':
      return 'all hours ahead are alike';
    case 'ageing':
      return 'no newer index has come, an old one starts nothing';
    case 'window':
      return `${unknown} is known, its daily window is open`;
    case 'outside-window':
      return `${unknown} is known, its daily window is closed`;
    case 'boot':
      return 'just started, nothing is known yet';
    case 'no-data':
      return `no signal is known; released to its fail-safe (${decision.level})`;
    case 'untrusted-clock':
      return `the clock cannot be trusted; set to ${decision.level}`;
    case 'output-fault':
      return `the output does not follow; told its fail-safe (${decision.level})${when}`;
  }
}

/** Guards have said until when themselves. */
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
  if (why === 'no-data' || why === 'untrusted-clock') return '';
  if (next !== undefined) return `${does} until ${clock(next.at)}`;
  if (until !== undefined) return `${does} until ${clock(until)} at least`;
  return does;
}

function formatJob({ job, why }: Decision, clock: FormatTime): string {
  if (job === undefined) return '';
  const share = `${formatHoursMinutes(job.done)} of ${formatHoursMinutes(job.need)} by ${clock(job.by)}`;
  const missing =
    job.shortfall > 0 && why !== 'goal-done' ? `, ${formatHoursMinutes(job.shortfall)} will be missing` : '';
  return `${share}${missing}`;
}

/** `1 h 20 min`, rounded to the minute, never `0 min` of something. */
export function formatHoursMinutes(length: Duration): string {
  const total = Math.round(length / 60_000);
  if (total === 0) return length > 0 ? 'under 1 min' : '0 min';
  const [hours, minutes] = [Math.floor(total / 60), total % 60];
  if (hours === 0) return `${minutes} min`;
  return minutes === 0 ? `${hours} h` : `${hours} h ${minutes} min`;
}

function formatShortReason(why: DecisionReason): string {
  switch (why) {
    case 'planned':
      return 'planned';
    case 'plan-waits':
      return 'cleaner hours are to come';
    case 'must-run':
      return 'the deadline is near';
    case 'goal-done':
      return 'it has what it needs';
    case 'override':
      return 'set by hand';
    case 'remote-override':
      return 'set from afar';
    case 'no-data':
      return 'no signal is known';
    case 'untrusted-clock':
      return 'the clock cannot be trusted';
    case 'output-fault':
      return 'the output does not follow';
    case 'boot':
      return 'just started';
    case 'window':
      return 'its daily window is open';
    case 'outside-window':
      return 'its daily window is closed';
    case 'not-armed':
      return 'not armed';
    case 'safety':
    case 'min-on':
    case 'min-off':
    case 'hold':
    case 'last-run':
    case 'block-limit':
    case 'start-budget':
    case 'power-budget':
    case 'clean':
    case 'between':
    case 'dirty':
    case 'flat':
    case 'ageing':
    case 'spread':
      return why;
  }
}
