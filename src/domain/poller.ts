/** Repeats a task with the wait that each poll returns, until stopped. Polls never overlap. */

import type { Cancel, Clock } from './ports.ts';
import { addDuration, type Duration } from './units.ts';

export interface PollerParts {
  readonly clock: Clock;
  /** Says in the status message what waits. */
  readonly name: string;
  /** Resolves with the wait until the next poll; undefined: none until `pollAfter` is called. */
  readonly poll: () => Promise<Duration | undefined>;
}

export interface Poller {
  /** Replaces the wait for the next poll. Ignored during a poll, which ends with a wait of its own. */
  pollAfter(wait: Duration): void;
  /** Aborted by `stop`: a poll that is under way reads it after each wait. */
  readonly signal: AbortSignal;
  /** May be called twice. */
  stop(): void;
}

export function createPoller({ clock, name, poll }: PollerParts): Poller {
  const stopping = new AbortController();
  let timer: Cancel | undefined;
  let isPolling = false;

  const pollAfter = (wait: Duration): void => {
    if (stopping.signal.aborted || isPolling) return;
    timer?.();
    timer = clock.wakeAt(addDuration(clock.now().uptime, wait), name, () => void pollNow());
  };

  const pollNow = async (): Promise<void> => {
    isPolling = true;
    const next = await poll();
    isPolling = false;
    if (next !== undefined) pollAfter(next);
  };

  return {
    pollAfter,
    signal: stopping.signal,
    stop() {
      stopping.abort();
      timer?.();
    },
  };
}
