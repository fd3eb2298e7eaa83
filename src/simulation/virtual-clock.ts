/** A clock that stands still while outside work is under way and then jumps to the next wake-up: the same run, every time. */

import type { Cancel, Clock, ClockReading } from '../domain/ports.ts';
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

export interface RunOptions {
  readonly beforeJump?: (from: Instant, to: Instant) => Promise<void>;
  readonly stop?: AbortSignal;
}

/** One turn of the event loop: every promise that can go on without the outside has gone on. */
const runEventLoopTurn = () => new Promise<void>((resume) => setImmediate(resume));

export function createVirtualClock(start: Instant): VirtualClock {
  const origin = 0 as Uptime;
  let uptime = origin;
  let wallAtOrigin = start;
  let trusted = true;
  let timers: PendingTimer[] = [];
  let pauses = 0;
  let onResume: (() => void) | undefined;

  const wall = () => addDuration(wallAtOrigin, durationBetween(origin, uptime));
  const now = (): ClockReading => ({ wall: wall(), uptime, trusted });

  const waitUntilIdle = async () => {
    do {
      await runEventLoopTurn();
      if (pauses > 0) await new Promise<void>((resume) => (onResume = resume));
      await runEventLoopTurn();
    } while (pauses > 0);
  };

  /** The earliest, and of two at the same time the one asked for first. */
  const findNextTimer = () =>
    timers.reduce<PendingTimer | undefined>(
      (best, one) => (best === undefined || one.at < best.at ? one : best),
      undefined,
    );

  return {
    now,
    wakeAt(at, name, run) {
      const timer: PendingTimer = { at, name, run };
      timers.push(timer);
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
    pause() {
      pauses += 1;
      let isReleased = false;
      return () => {
        if (isReleased) return;
        isReleased = true;
        pauses -= 1;
        if (pauses === 0) {
          onResume?.();
          onResume = undefined;
        }
      };
    },
    async runUntil(end, { beforeJump, stop } = {}) {
      for (;;) {
        await waitUntilIdle();
        if (stop?.aborted) return;
        const last = addDuration(uptime, durationBetween(wall(), end));
        const next = findNextTimer();
        const jumpTo = next === undefined || next.at > last ? last : next.at;
        if (jumpTo > uptime) {
          await beforeJump?.(wall(), addDuration(wall(), durationBetween(uptime, jumpTo)));
          uptime = jumpTo;
        }
        if (next === undefined || next.at > last) return;
        timers = timers.filter((other) => other !== next);
        next.run();
      }
    },
    async runUntilDone(work) {
      let isOver = false;
      const over = () => {
        isOver = true;
      };
      work.then(over, over);
      for (;;) {
        await waitUntilIdle();
        if (isOver) return work;
        const next = findNextTimer();
        if (next === undefined) throw new Error('what is waited for waits for nothing that could come');
        uptime = Math.max(uptime, next.at) as Uptime;
        timers = timers.filter((other) => other !== next);
        next.run();
      }
    },
    waitUntilIdle,
    stepWall(by) {
      wallAtOrigin = addDuration(wallAtOrigin, by);
    },
    setTrusted(value) {
      trusted = value;
    },
    waiting: () => [...timers].sort((a, b) => a.at - b.at).map(({ name }) => name),
  };
}
