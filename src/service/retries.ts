/** Repeats a call of many through failures that pass by themselves: decides how often, and waits in between. For a GET only: repeating one is safe. */

import { after, type Duration, minutes } from '../units.ts';
import type { Clock, Random } from '../world.ts';
import { afterFailure } from './after-failure.ts';
import { failed } from './decoding.ts';
import type { Failure, Outcome } from './failure.ts';

const MOST_TRIES = 5;
const MOST_WAITS = 20;
/** A window of the budget and a bare 429 are waited out; who is sent away for longer is told so. */
const LONGEST_WAIT = minutes(15);

/** What a call has met so far; being held back says nothing of the link, nor the link of the budget. */
interface Met {
  readonly troubles: number;
  readonly waits: number;
}

/** Whether the call is tried again; without a connection only where something was ever answered, so that a wrong address is told at once. */
function isWorthATry(failure: Failure, { troubles, waits }: Met, isAnswering: boolean): boolean {
  if (failure.kind === 'throttled') return waits < MOST_WAITS && failure.retryAfter <= LONGEST_WAIT;
  if (troubles >= MOST_TRIES) return false;
  if (failure.kind !== 'unreachable') return failure.kind === 'unwell';
  return failure.reason === 'cut-short' || (failure.reason === 'no-connection' && isAnswering);
}

const withOne = ({ troubles, waits }: Met, { kind }: Failure): Met =>
  kind === 'throttled' ? { troubles, waits: waits + 1 } : { troubles: troubles + 1, waits };

/** Resolves after `wait`, or at once when `signal` is aborted. */
function pause(clock: Clock, wait: Duration, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resume) => {
    const done = () => {
      cancel();
      signal.removeEventListener('abort', done);
      resume();
    };
    const cancel = clock.wakeAt(after(clock.now().uptime, wait), 'retry', done);
    signal.addEventListener('abort', done, { once: true });
  });
}

export interface RetryParts {
  readonly clock: Clock;
  readonly random: Random;
  /** Ends waits and tries. */
  readonly signal: AbortSignal;
  /** Told before each wait. */
  readonly waits: (wait: Duration, failure: Failure) => void;
}

export type Retry = <Answer>(ask: () => Promise<Outcome<Answer>>) => Promise<Outcome<Answer>>;

/** For the calls of one reading: what one of them was answered counts for the others. */
export function createRetry({ clock, random, signal, waits }: RetryParts): Retry {
  let isAnswering = false;
  return async (ask) => {
    for (let met: Met = { troubles: 0, waits: 0 }; ; ) {
      if (signal.aborted) return failed({ kind: 'stopped' });
      const outcome = await ask();
      if (outcome.ok) {
        isAnswering = true;
        return outcome;
      }
      met = withOne(met, outcome.failure);
      if (!isWorthATry(outcome.failure, met, isAnswering)) return outcome;
      const inARow = outcome.failure.kind === 'throttled' ? met.waits : met.troubles;
      const wait = afterFailure(outcome.failure, inARow, random.fraction());
      waits(wait, outcome.failure);
      await pause(clock, wait, signal);
    }
  };
}
