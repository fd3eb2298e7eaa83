/** Waits that end early once they are called off. */

import type { Clock } from './ports.ts';
import { addDuration, type Duration } from './units.ts';

/** Resolves once `signal` is aborted. */
export const waitForAbort = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

export interface WaitOptions {
  readonly clock: Clock;
  /** Says in the status message what waits. */
  readonly name: string;
  readonly signal: AbortSignal;
}

/** Resolves after `length`, or at once when `signal` is aborted. */
export function wait(length: Duration, { clock, name, signal }: WaitOptions): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const finish = () => {
      cancelTimer();
      signal.removeEventListener('abort', finish);
      resolve();
    };
    const cancelTimer = clock.wakeAt(addDuration(clock.now().uptime, length), name, finish);
    signal.addEventListener('abort', finish);
  });
}

/** What `work` resolves with, or undefined when it has not ended after `length` of the machine's own time. */
export async function waitAtMost<Value>(
  length: Duration,
  work: Promise<Value>,
  { clock, name }: Omit<WaitOptions, 'signal'>,
): Promise<Value | undefined> {
  const done = new AbortController();
  const scaledLength = (length * (clock.speed ?? 1)) as Duration;
  const timeout = wait(scaledLength, { clock, name, signal: done.signal });
  try {
    return await Promise.race([work, timeout.then(() => undefined)]);
  } finally {
    done.abort();
  }
}
