/** The polls of each signal source: the last one, its failures, the account's entitlements, and the wait until the next. */

import type { ClockReading, Random } from '../domain/ports.ts';
import { type Duration, days } from '../domain/units.ts';
import type { Failure } from '../service/failure.ts';
import { computeRetryDelay } from '../service/limits/retry-delay.ts';
import { type LastPoll, scheduleNextPoll } from '../signal/poll-schedule.ts';
import type { SignalData } from '../signal/signal-store.ts';

export const SIGNAL_SOURCES = ['live-index', 'forecast'] as const;
export type SignalSource = (typeof SIGNAL_SOURCES)[number];

export interface PollState {
  getWait(source: SignalSource, data: SignalData, now: ClockReading): Duration;
  /** A request begins, or has ended in `failure`. */
  recordRequest(source: SignalSource, now: ClockReading): void;
  recordAnswer(source: SignalSource, failure: Failure | undefined, now: ClockReading): void;
  /** For another region: polls both sources after `wait`, also closed ones. */
  restart(wait: Duration, now: ClockReading): void;
  /** A closed source is polled once a day, an opened one at once. False when the gate was so already. */
  setGate(source: SignalSource, gate: 'open' | 'closed', now: ClockReading): boolean;
  /** Asks at once, unless the source is closed. */
  pollNow(source: SignalSource): void;
}

/** A closed source is still tried so often: the access description may not be readable, or list other than the service opens. */
const CLOSED_PROBE_INTERVAL = days(1);

export function createPollState(random: Random, phase: number): PollState {
  const last = new Map<SignalSource, LastPoll>();
  const failures = new Map<SignalSource, number>();
  const closed = new Set<SignalSource>();
  return {
    getWait: (source, data, now) => scheduleNextPoll(source, data, last.get(source), now, phase),
    recordRequest: (source, at) => void last.set(source, { at }),
    recordAnswer(source, failure, at) {
      const inARow = failure === undefined ? 0 : (failures.get(source) ?? 0) + 1;
      failures.set(source, inARow);
      if (failure !== undefined) last.set(source, { at, wait: computeRetryDelay(failure, inARow, random.fraction()) });
    },
    restart(wait, at) {
      closed.clear();
      for (const source of SIGNAL_SOURCES) last.set(source, { at, wait });
    },
    setGate(source, gate, at) {
      if ((gate === 'closed') === closed.has(source)) return false;
      if (gate === 'closed') {
        closed.add(source);
        last.set(source, { at, wait: CLOSED_PROBE_INTERVAL });
      } else {
        closed.delete(source);
        last.delete(source);
      }
      return true;
    },
    pollNow(source) {
      if (!closed.has(source)) last.delete(source);
    },
  };
}
