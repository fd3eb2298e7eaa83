/** Starts the parts of the agent in order and stops them in reverse. */

import { waitAtMost } from '../domain/abortable-wait.ts';
import type { Clock } from '../domain/ports.ts';
import { seconds } from '../domain/units.ts';

export interface Part {
  /** Ends early once `stop` is aborted. */
  readonly start?: (stop: AbortSignal) => Promise<void> | void;
  /** Called once, and only after `start`, however far that came. */
  readonly stop?: () => Promise<void> | void;
}

export interface Lifecycle {
  /** Resolves when every part has started, or when `stop` came first. */
  start(): Promise<void>;
  /** May be called twice. */
  stop(): Promise<void>;
  isStopping(): boolean;
}

/** How long a stop waits for the step of a start that is under way. */
const START_STEP_LIMIT = seconds(1);

export function createLifecycle(clock: Clock, parts: readonly Part[]): Lifecycle {
  const stopping = new AbortController();
  const started: Part[] = [];
  let starting: Promise<void> = Promise.resolve();
  let stopped: Promise<void> | undefined;

  const startParts = async (): Promise<void> => {
    for (const part of parts) {
      if (stopping.signal.aborted) return;
      started.push(part);
      await part.start?.(stopping.signal);
    }
  };

  const stopParts = async (): Promise<void> => {
    stopping.abort();
    await waitAtMost({ clock, wait: START_STEP_LIMIT, name: 'stop' }, Promise.allSettled([starting]));
    for (const part of started.reverse()) await part.stop?.();
  };

  return {
    start() {
      starting = startParts();
      return starting;
    },
    stop() {
      stopped ??= stopParts();
      return stopped;
    },
    isStopping: () => stopping.signal.aborted,
  };
}
