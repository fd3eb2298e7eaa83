/** Checks whether the wall clock can be trusted, and corrects the agent's time by the service's. */

import { formatDuration } from '../domain/duration-text.ts';
import { createPoller } from '../domain/poller.ts';
import type { Clock, Log } from '../domain/ports.ts';
import { type Duration, formatInstant, seconds } from '../domain/units.ts';
import type { ServiceClient } from '../service/client.ts';
import type { AgentClock } from './agent-clock.ts';
import type { Problems } from './problems.ts';

export interface ClockMonitorParts {
  readonly clock: AgentClock;
  readonly service: Pick<ServiceClient, 'skew'>;
  readonly problems: Problems;
  readonly log: Log;
  /** The agent's time has changed, or can be trusted from now on. */
  readonly onChange: () => void;
}

export interface ClockMonitor {
  /** Polls until the clock is synchronised. */
  start(): void;
  /** After each answer of the service: checks our clock against its `Date`. */
  checkSkew(): void;
  /** For placing data in time: trusted only while the two clocks agree. */
  readonly signalClock: Clock;
  stop(): void;
}

/** Nothing reports that a time source has set the clock: it is polled until one has. */
const TRUST_POLL_INTERVAL = seconds(10);
const CLOCK_SUBJECT = 'clock';

export function createClockMonitor({ clock, service, problems, log, onChange }: ClockMonitorParts): ClockMonitor {
  const poller = createPoller({ clock, name: 'trust', poll: async () => checkTrust() });

  const checkTrust = (): Duration | undefined => {
    const { wall, trusted } = clock.now();
    if (trusted) {
      problems.resolve(CLOCK_SUBJECT);
      onChange();
      return undefined;
    }
    problems.raise(
      CLOCK_SUBJECT,
      `this machine's clock is not synchronised and says ${formatInstant(wall)}; the signal switches no load until a time source or the service gives the time; check the network`,
      'untrusted',
    );
    return TRUST_POLL_INTERVAL;
  };

  return {
    start() {
      const wait = checkTrust();
      if (wait !== undefined) poller.pollAfter(wait);
    },
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
          `this machine's clock is ${formatSkew(conflict)} ${conflict > 0 ? 'behind' : 'ahead of'} the service's though it is synchronised; the signal switches no load until they agree; check the time source`,
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
    stop: poller.stop,
  };
}

const formatSkew = (skew: Duration) => formatDuration(seconds(Math.round(Math.abs(skew) / 1_000)));

function formatCorrection(correction: Duration): string {
  if (correction === 0) return "going by this machine's own clock again";
  return `going by the service's time, ${formatSkew(correction)} ${correction > 0 ? 'ahead of' : 'behind'} this machine's clock`;
}
