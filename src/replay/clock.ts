/** A clock that stands still while outside work is under way and then jumps to the next wake-up: the same run, every time. */

import { after, between, type Duration, type Instant, type Uptime } from '../units.ts';
import type { Cancel, Clock, Moment } from '../world.ts';

interface Waiting {
  readonly at: Uptime;
  readonly name: string;
  readonly run: () => void;
}

export interface VirtualClock extends Clock {
  /** Marks work as under way (a request, a file, a message): time stands still until the returned function is called. */
  hold(): Cancel;
  /** Lets time pass up to `end`, one wake-up after the other; `beforeJump` may pace it. Ends early when `stop` is aborted. */
  runUntil(end: Instant, options?: RunOptions): Promise<void>;
  /** Lets as much time pass as `work` needs to end, and no more. */
  during<Value>(work: Promise<Value>): Promise<Value>;
  /** Resolves when nothing is under way and nothing more would happen without time passing. */
  settled(): Promise<void>;
  /** A step of the wall clock alone, as after a time correction. */
  stepWall(by: Duration): void;
  trust(trusted: boolean): void;
  /** Names of what waits, soonest first. */
  waiting(): readonly string[];
}

export interface RunOptions {
  readonly beforeJump?: (from: Instant, to: Instant) => Promise<void>;
  readonly stop?: AbortSignal;
}

/** One turn of the event loop: every promise that can go on without the outside has gone on. */
const turn = () => new Promise<void>((resume) => setImmediate(resume));

export function createVirtualClock(start: Instant): VirtualClock {
  const origin = 0 as Uptime;
  let uptime = origin;
  let wallAtOrigin = start;
  let trusted = true;
  let timers: Waiting[] = [];
  let held = 0;
  let released: (() => void) | undefined;

  const wall = () => after(wallAtOrigin, between(origin, uptime));
  const now = (): Moment => ({ wall: wall(), uptime, trusted });

  const settled = async () => {
    do {
      await turn();
      if (held > 0) await new Promise<void>((resume) => (released = resume));
      await turn();
    } while (held > 0);
  };

  /** The earliest, and of two at the same time the one asked for first. */
  const soonest = () =>
    timers.reduce<Waiting | undefined>((best, one) => (best === undefined || one.at < best.at ? one : best), undefined);

  return {
    now,
    wakeAt(at, name, run) {
      const timer: Waiting = { at, name, run };
      timers.push(timer);
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
    hold() {
      held += 1;
      let over = false;
      return () => {
        if (over) return;
        over = true;
        held -= 1;
        if (held === 0) {
          released?.();
          released = undefined;
        }
      };
    },
    async runUntil(end, { beforeJump, stop } = {}) {
      for (;;) {
        await settled();
        if (stop?.aborted) return;
        const last = after(uptime, between(wall(), end));
        const next = soonest();
        const to = next === undefined || next.at > last ? last : next.at;
        if (to > uptime) {
          await beforeJump?.(wall(), after(wall(), between(uptime, to)));
          uptime = to;
        }
        if (next === undefined || next.at > last) return;
        timers = timers.filter((other) => other !== next);
        next.run();
      }
    },
    async during(work) {
      let isOver = false;
      const over = () => {
        isOver = true;
      };
      work.then(over, over);
      for (;;) {
        await settled();
        if (isOver) return work;
        const next = soonest();
        if (next === undefined) throw new Error('what is waited for waits for nothing that could come');
        uptime = Math.max(uptime, next.at) as Uptime;
        timers = timers.filter((other) => other !== next);
        next.run();
      }
    },
    settled,
    stepWall(by) {
      wallAtOrigin = after(wallAtOrigin, by);
    },
    trust(value) {
      trusted = value;
    },
    waiting: () => [...timers].sort((a, b) => a.at - b.at).map(({ name }) => name),
  };
}
