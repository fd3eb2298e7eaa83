/** Watches whether the wall clock can be gone by, and says so; moves no clock but the agent's own correction. */

import { formatDuration } from '../domain/duration-text.ts';
import type { Cancel, Clock, Log } from '../domain/ports.ts';
import { addDuration, type Duration, formatInstant, seconds } from '../domain/units.ts';
import type { ServiceClient } from '../service/client.ts';
import type { AgentClock } from './agent-clock.ts';
import type { Problems } from './problems.ts';

export interface ClockMonitorParts {
  readonly clock: AgentClock;
  readonly service: Pick<ServiceClient, 'skew'>;
  readonly problems: Problems;
  readonly log: Log;
  /** The time the agent goes by is another one, or may be gone by from now on. */
  readonly onChange: () => void;
}

export interface ClockMonitor {
  /** Until somebody vouches for the clock. */
  start(): void;
  /** After each answer of the service: what it says of the time. */
  checkSkew(): void;
  /** For placing data: two clocks that disagree place none. */
  readonly signalClock: Clock;
  stop(): void;
}

/** Nothing tells when a time source has set the clock, so it is looked at this often until one has. */
const TRUST_POLL_INTERVAL = seconds(10);
const CLOCK_SUBJECT = 'clock';

export function createClockMonitor({ clock, service, problems, log, onChange }: ClockMonitorParts): ClockMonitor {
  let pollTimer: Cancel | undefined;
  let stopped = false;

  const pollTrust = (): void => {
    if (stopped) return;
    const { wall, uptime, trusted } = clock.now();
    if (trusted) {
      problems.resolve(CLOCK_SUBJECT);
      onChange();
      return;
    }
    problems.raise(
      CLOCK_SUBJECT,
      `nothing vouches for this device's clock, which says ${formatInstant(wall)}; the signal drives nothing until a time source or the service tells the time; check the network`,
      'untrusted',
    );
    pollTimer = clock.wakeAt(addDuration(uptime, TRUST_POLL_INTERVAL), 'trust', pollTrust);
  };

  return {
    start: pollTrust,
    checkSkew() {
      const skew = service.skew();
      if (skew === undefined) return;
      const wasConflict = clock.skewConflict() !== undefined;
      const hasTimeChanged = clock.applySkew(skew);
      const conflict = clock.skewConflict();
      if (conflict === undefined) problems.resolve(CLOCK_SUBJECT);
      else
        problems.raise(
          CLOCK_SUBJECT,
          `this device's clock is ${formatSkew(conflict)} ${conflict > 0 ? 'behind' : 'ahead of'} the service's though it is synchronised; the signal drives nothing until they agree; check the time source`,
        );
      if (hasTimeChanged) log('info', formatCorrection(clock.correction()));
      if (hasTimeChanged || wasConflict !== (conflict !== undefined)) onChange();
    },
    signalClock: {
      ...clock,
      now: () => {
        const moment = clock.now();
        return { ...moment, trusted: moment.trusted && clock.skewConflict() === undefined };
      },
    },
    stop() {
      stopped = true;
      pollTimer?.();
    },
  };
}

const formatSkew = (skew: Duration) => formatDuration(seconds(Math.round(Math.abs(skew) / 1_000)));

function formatCorrection(correction: Duration): string {
  if (correction === 0) return "going by this device's own clock again";
  return `going by the service's time, ${formatSkew(correction)} ${correction > 0 ? 'ahead of' : 'behind'} this device's clock`;
}
