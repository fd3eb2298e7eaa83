/** Waits that end at an event, after a time, or at an abort, whichever comes first. */

import type { Cancel, Clock } from './ports.ts';
import { addDuration, type Duration } from './units.ts';

/** Calls `onAbort` once, at once when `signal` is aborted already; the result stops listening. */
export function watchAbort(signal: AbortSignal, onAbort: () => void): Cancel {
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  return () => signal.removeEventListener('abort', onAbort);
}

export const waitForAbort = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    watchAbort(signal, resolve);
  });

export interface WaitOptions {
  readonly clock: Clock;
  readonly wait: Duration;
  /** Says in the status what waits. */
  readonly name: string;
  readonly signal?: AbortSignal | undefined;
}

/** The first value that `begin` hands to its argument, `late` after the wait, or `aborted` at the signal. */
export async function waitAbortable<Value = never>(
  { clock, wait, name, signal }: WaitOptions,
  begin: (finish: (value: Value) => void) => void = () => {},
): Promise<Value | 'late' | 'aborted'> {
  const ends: Cancel[] = [];
  const answer = await new Promise<Value | 'late' | 'aborted'>((resolve) => {
    ends.push(clock.wakeAt(addDuration(clock.now().uptime, wait), name, () => resolve('late')));
    if (signal !== undefined) ends.push(watchAbort(signal, () => resolve('aborted')));
    if (signal?.aborted !== true) begin(resolve);
  });
  for (const end of ends) end();
  return answer;
}

/** What `work` resolves with, or undefined when it has not ended after `wait` of the machine's own time. */
export async function waitAtMost<Value>(
  { clock, wait, name }: Omit<WaitOptions, 'signal'>,
  work: Promise<Value>,
): Promise<Value | undefined> {
  const scaledWait = (wait * (clock.speed ?? 1)) as Duration;
  const done = new AbortController();
  const timeout = waitAbortable({ clock, wait: scaledWait, name, signal: done.signal });
  try {
    return await Promise.race([work, timeout.then(() => undefined)]);
  } finally {
    done.abort();
  }
}
