/** Decides when to poll next for a forecast or a live index. */

import type { ClockReading } from '../domain/ports.ts';
import { type Duration, floorTo, type Instant, milliseconds, minutes } from '../domain/units.ts';
import type { SignalData } from './signal-store.ts';

/** The last request of one kind. */
export interface LastPoll {
  readonly at: ClockReading;
  /** Given after a failure: how long to leave it alone from `at` on. */
  readonly wait?: Duration;
}

/** Until the service has told its period. */
const ASSUMED_PERIOD = minutes(5);
/** Published values are there a little after their period begins. */
const PUBLICATION_DELAY = milliseconds(5_000);
/** Agents spread over half a period: at most twice the mean load on the service. */
const PHASE_SHARE = 0.5;

type PollKind = 'forecast' | 'live-index';

function getPollInterval(signal: SignalData, kind: PollKind): Duration {
  const period = kind === 'forecast' ? signal.forecast?.generatedPeriod : signal.liveIndex?.period;
  return period !== undefined && period >= minutes(1) ? period : ASSUMED_PERIOD;
}

/** From `now` to this agent's moment in the next period that has not been asked for. */
function computeTimeUntilIssue(period: Duration, polledAt: Instant, now: Instant, phase: number): Duration {
  const offset = PUBLICATION_DELAY + phase * PHASE_SHARE * period;
  const next = floorTo((polledAt - offset) as Instant, period) + period + offset;
  return milliseconds(Math.max(0, next - now));
}

/**
 * How long from `now` until the next request of this kind; 0 means at once. `phase` in [0, 1) is the agent's own and stable.
 * Index and forecast of one period share their moment, so that one token of 30 minutes serves both: two logins an hour at most.
 */
export function scheduleNextPoll(
  kind: PollKind,
  signal: SignalData,
  last: LastPoll | undefined,
  now: ClockReading,
  phase: number,
): Duration {
  if (last === undefined) return milliseconds(0);
  const since = now.uptime - last.at.uptime;
  if (last.wait !== undefined) return milliseconds(Math.max(0, last.wait - since));
  const period = getPollInterval(signal, kind);
  // The wall clock may have jumped since: what counts is when the request was by today's clock.
  const next = computeTimeUntilIssue(period, (now.wall - since) as Instant, now.wall, phase);
  return milliseconds(Math.min(next, 2 * period));
}
