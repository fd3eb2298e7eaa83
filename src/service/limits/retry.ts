/** Repeats a GET with waits through temporary failures. */

import { waitAbortable } from '../../domain/abortable-wait.ts';
import type { Clock, Random } from '../../domain/ports.ts';
import { type Duration, minutes } from '../../domain/units.ts';
import { failed } from '../api/decode-body.ts';
import type { Failure, Outcome } from '../failure.ts';
import { computeRetryDelay } from './retry-delay.ts';

const MAX_FAILURES = 5;
const MAX_WAITS = 20;
/** A window of the rate limit and a bare 429 are waited out; a longer wait is reported. */
const MAX_WAIT = minutes(15);

/** Rate-limit waits and other failures count apart, because they have different causes. */
interface RetryCounts {
  readonly failures: number;
  readonly waits: number;
}

/** A body that is no JSON: cut off on the way more often than written so. */
const isBrokenBody = (failure: Failure) => failure.kind === 'invalid-response' && failure.where === 'body';
/** It passes as quickly as a connection that broke. */
const CUT_SHORT: Failure = { kind: 'unreachable', reason: 'cut-short', cause: 'a broken body' };

/** Whether to try again; after a failed connection only where the service has answered before, so that a wrong address is reported at once. */
function shouldRetry(failure: Failure, { failures, waits }: RetryCounts, isAnswering: boolean): boolean {
  if (failure.kind === 'throttled') return waits < MAX_WAITS && failure.retryAfter <= MAX_WAIT;
  if (failures >= MAX_FAILURES) return false;
  if (isBrokenBody(failure)) return true;
  if (failure.kind !== 'unreachable') return failure.kind === 'server-error';
  return failure.reason === 'cut-short' || (failure.reason === 'no-connection' && isAnswering);
}

const countFailure = ({ failures, waits }: RetryCounts, { kind }: Failure): RetryCounts =>
  kind === 'throttled' ? { failures, waits: waits + 1 } : { failures: failures + 1, waits };

export interface RetryParts {
  readonly clock: Clock;
  readonly random: Random;
  /** Ends waits and tries. */
  readonly signal: AbortSignal;
  /** Told before each wait. */
  readonly onWait: (wait: Duration, failure: Failure) => void;
}

export type Retry = <Answer>(ask: () => Promise<Outcome<Answer>>) => Promise<Outcome<Answer>>;

/** For the calls of one reading: what one of them was answered counts for the others. */
export function createRetry({ clock, random, signal, onWait }: RetryParts): Retry {
  let isAnswering = false;
  return async (request) => {
    for (let counts: RetryCounts = { failures: 0, waits: 0 }; ; ) {
      if (signal.aborted) return failed({ kind: 'stopped' });
      const outcome = await request();
      if (outcome.ok) {
        isAnswering = true;
        return outcome;
      }
      counts = countFailure(counts, outcome.failure);
      if (!shouldRetry(outcome.failure, counts, isAnswering)) return outcome;
      const inARow = outcome.failure.kind === 'throttled' ? counts.waits : counts.failures;
      const cause = isBrokenBody(outcome.failure) ? CUT_SHORT : outcome.failure;
      const wait = computeRetryDelay(cause, inARow, random.fraction());
      onWait(wait, outcome.failure);
      await waitAbortable({ clock, wait, name: 'retry', signal });
    }
  };
}
