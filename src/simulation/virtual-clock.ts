/** A clock that stops during outside work and then jumps to the next wake-up: each run gives the same times. */

import type { Cancel, Clock } from '../domain/ports.ts';
import { addDuration, type Duration, durationBetween, type Instant, type Uptime } from '../domain/units.ts';

interface PendingTimer {
  readonly at: Uptime;
  readonly name: string;
  readonly run: () => void;
}

export interface VirtualClock extends Clock {
  /** Marks work as under way (a request, a file, a message): time stands still until the returned function is called. */
  pause(): Cancel;
  /** Lets time pass up to `end`, one wake-up after the other; `beforeJump` may pace it. Ends early when `stop` is aborted. */
  runUntil(end: Instant, options?: RunOptions): Promise<void>;
  /** Lets as much time pass as `work` needs to end, and no more. */
  runUntilDone<Value>(work: Promise<Value>): Promise<Value>;
  /** Resolves when nothing is under way and nothing more would happen without time passing. */
  waitUntilIdle(): Promise<void>;
  /** A step of the wall clock alone, as after a time correction. */
  stepWall(by: Duration): void;
  setTrusted(trusted: boolean): void;
  /** Names of what waits, soonest first. */
  waiting(): readonly string[];
}

interface RunOptions {
  readonly beforeJump?: (from: Instant, to: Instant) => Promise<void>;
  readonly stop?: AbortSignal;
}

/** One turn of the event loop: every promise that needs no outside event has continued. */
const runEventLoopTurn = () => new Promise<void>((resume) => setImmediate(resume));

/** Counts the work under way outside, during which time stands still. */
function createPauses(): { begin(): Cancel; waitUntilIdle(): Promise<void> } {
  let count = 0;
  let onResume: (() => void) | undefined;
  return {
    begin() {
      count += 1;
      let isReleased = false;
      return () => {
        if (isReleased) return;
        isReleased = true;
        count -= 1;
        if (count === 0) onResume?.();
      };
    },
    async waitUntilIdle() {
      do {
        await runEventLoopTurn();
        if (count > 0) await new Promise<void>((resume) => (onResume = resume));
        await runEventLoopTurn();
      } while (count > 0);
    },
  };
}

/** What waits, in the order of time, and of two at the same time in the order of asking. */
function createTimerQueue() {
  let timers: PendingTimer[] = [];
  const remove = (timer: PendingTimer) => {
    timers = timers.filter((other) => other !== timer);
  };
  return {
    add(timer: PendingTimer): Cancel {
      timers.push(timer);
      return () => remove(timer);
    },
    remove,
    findNext: () =>
      timers.reduce<PendingTimer | undefined>((best, one) => (best && best.at <= one.at ? best : one), undefined),
    names: () => [...timers].sort((a, b) => a.at - b.at).map(({ name }) => name),
  };
}

export function createVirtualClock(start: Instant): VirtualClock {
  const origin = 0 as Uptime;
  let uptime = origin;
  let wallAtOrigin = start;
  let trusted = true;
  const pauses = createPauses();
  const timers = createTimerQueue();
  const { waitUntilIdle } = pauses;

  const readWall = () => addDuration(wallAtOrigin, durationBetween(origin, uptime));
  const runTimer = (timer: PendingTimer) => {
    timers.remove(timer);
    timer.run();
  };

  return {
    now: () => ({ wall: readWall(), uptime, trusted }),
    wakeAt: (at, name, run) => timers.add({ at, name, run }),
    pause: pauses.begin,
    async runUntil(end, { beforeJump, stop } = {}) {
      for (;;) {
        await waitUntilIdle();
        if (stop?.aborted) return;
        const last = addDuration(uptime, durationBetween(readWall(), end));
        const next = timers.findNext();
        const isDue = next !== undefined && next.at <= last;
        const jumpTo = isDue ? next.at : last;
        if (jumpTo > uptime) {
          await beforeJump?.(readWall(), addDuration(readWall(), durationBetween(uptime, jumpTo)));
          uptime = jumpTo;
        }
        if (!isDue) return;
        runTimer(next);
      }
    },
    async runUntilDone(work) {
      let isOver = false;
      const end = () => {
        isOver = true;
      };
      work.then(end, end);
      for (;;) {
        await waitUntilIdle();
        if (isOver) return work;
        const next = timers.findNext();
        if (next === undefined) throw new Error('the work waits, and no timer is set that could end its wait');
        uptime = Math.max(uptime, next.at) as Uptime;
        runTimer(next);
      }
    },
    waitUntilIdle,
    stepWall(by) {
      wallAtOrigin = addDuration(wallAtOrigin, by);
    },
    setTrusted(value) {
      trusted = value;
    },
    waiting: timers.names,
  };
}
