/** Puts a decision in words a homeowner reads. */

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
  const { why, wantedWhy, threshold: limit, until } = decision;
  const from = decision.basis === 'own-profile' ? ', as recent days were' : '';
  const wanted = wantedWhy === undefined ? '' : ` (wants to be ${decision.wanted}: ${formatShortReason(wantedWhy)})`;
  const when = until === undefined ? '' : ` until ${clock(until)}`;
  // The present index may be known all the same; the sentence begins with it.
  const unknown = decision.index === undefined && decision.rate === undefined ? 'no signal' : 'no forecast';
  switch (why) {
    case 'safety':
      return 'a safety input has tripped';
    case 'min-on':
      return `minimum on time${when}${wanted}`;
    case 'min-off':
      return `minimum off time${when}${wanted}`;
    case 'hold':
      return `minimum state time${when}${wanted}`;
    case 'block-limit':
      return `maximum block time reached${when === '' ? '' : `, no new block${when}`}`;
    case 'start-budget':
      return `start limit reached${until === undefined ? '' : `, next start at ${clock(until)}`}${wanted}`;
    case 'power-budget':
      return `waits for power that other loads use${wanted}`;
    case 'spread':
      return `starts a little later than its neighbours${until === undefined ? '' : `, at ${clock(until)}`}${wanted}`;
    case 'override':
      return `set by hand to ${decision.wanted}${when}`;
    case 'remote-override':
      return `set remotely to ${decision.wanted}${when}`;
    case 'must-run':
      return 'must run now to meet its deadline';
    case 'max-off':
      return `its maximum time off is over${wanted}`;
    case 'last-run':
      return `runs until it is done, its job allows no further pause${wanted}`;
    case 'planned':
      return `planned for these hours${from}`;
    case 'plan-waits':
      if (decision.job !== undefined && decision.job.from > decision.at)
        return `may run from ${clock(decision.job.from)}`;
      return `waiting for cleaner hours${from}`;
    case 'goal-done':
      return 'its goal is met';
    case 'not-armed':
      return 'waits for an arm command';
    case 'clean':
      return `clean${limit === undefined ? '' : `, at or below ${limit}`}`;
    case 'between':
      return `between the thresholds${limit === undefined ? '' : `, above ${limit}`}`;
    case 'dirty':
      return `dirty${limit === undefined ? '' : `, at or above ${limit}`}`;
    case 'flat':
      return 'all hours ahead are equally clean';
    case 'ageing':
      return 'the index is too old to start a load';
    case 'window':
      return `${unknown}, its daily window is open`;
    case 'outside-window':
      return `${unknown}, its daily window is closed`;
    case 'boot':
      return 'just started, no signal yet';
    case 'no-data':
      return `no signal; set to its fail-safe level (${decision.level})`;
    case 'untrusted-clock':
      return `the clock of this device is not synchronised; set to ${decision.level}`;
    case 'output-fault':
      return `the output does not confirm; set to its fail-safe level (${decision.level})${when}`;
  }
}

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
  if (why === 'no-data' || why === 'untrusted-clock') return '';
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
      return 'waiting for cleaner hours';
    case 'must-run':
      return 'the deadline is near';
    case 'max-off':
      return 'its maximum time off is over';
    case 'goal-done':
      return 'its goal is met';
    case 'override':
      return 'set by hand';
    case 'remote-override':
      return 'set remotely';
    case 'no-data':
      return 'no signal';
    case 'untrusted-clock':
      return 'its clock is not synchronised';
    case 'output-fault':
      return 'the output does not confirm';
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
