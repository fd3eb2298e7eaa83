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

/** How often a call is tried; once where nothing was ever answered, so that a wrong address is told at once. */
function mostTries(failure: Failure, isAnswering: boolean): number {
  if (failure.kind === 'throttled') return failure.retryAfter > LONGEST_WAIT ? 1 : MOST_WAITS;
  if (failure.kind === 'unwell') return MOST_TRIES;
  const isLink = failure.kind === 'unreachable' && ['no-connection', 'cut-short'].includes(failure.reason);
  return isLink && isAnswering ? MOST_TRIES : 1;
}

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
    for (let tries = 1; ; tries++) {
      if (signal.aborted) return failed({ kind: 'stopped' });
      const outcome = await ask();
      if (outcome.ok) isAnswering = true;
      if (outcome.ok || tries >= mostTries(outcome.failure, isAnswering)) return outcome;
      const wait = afterFailure(outcome.failure, tries, random.fraction());
      waits(wait, outcome.failure);
      await pause(clock, wait, signal);
    }
  };
}
