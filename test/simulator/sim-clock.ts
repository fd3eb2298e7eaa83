/** Virtual time of the simulator: runs one event after the other; among events due at one moment the seed chooses. */

import type { Cancel, Random } from '../../src/domain/ports.ts';

interface SimEvent {
  readonly at: number;
  readonly run: () => void;
}

export interface SimClock {
  /** Milliseconds since the run began. */
  now(): number;
  runAt(at: number, run: () => void): Cancel;
  wait(length: number): Promise<void>;
  /** Runs what is due up to `end`; `onIdle` is called after each event, once nothing more can happen without time, and ends the run by false. */
  runUntil(end: number, onIdle: () => boolean): Promise<void>;
}

/** Every promise that can go on without time passing has gone on: nothing in the simulator waits for the outside. */
const settlePromises = () => new Promise<void>((resume) => setImmediate(resume));

export function createSimClock(random: Random): SimClock {
  const events = new Set<SimEvent>();
  let now = 0;

  const findNext = (): SimEvent | undefined => {
    let next: SimEvent | undefined;
    let tied = 0;
    for (const event of events) {
      if (next !== undefined && event.at > next.at) continue;
      tied = next !== undefined && event.at === next.at ? tied + 1 : 1;
      if (tied === 1 || random.fraction() * tied < 1) next = event;
    }
    return next;
  };
  const runAt = (at: number, run: () => void): Cancel => {
    const event = { at, run };
    events.add(event);
    return () => void events.delete(event);
  };

  return {
    now: () => now,
    runAt,
    wait: (length) => new Promise((resume) => runAt(now + length, resume)),
    async runUntil(end, onIdle) {
      for (;;) {
        await settlePromises();
        if (!onIdle()) return;
        const next = findNext();
        if (next === undefined || next.at > end) break;
        events.delete(next);
        now = Math.max(now, next.at);
        next.run();
      }
      now = Math.max(now, end);
    },
  };
}
