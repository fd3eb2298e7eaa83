/** The machine's two clocks and timers, their trustworthiness, and an accelerated pair for test runs. */

import { existsSync, readFileSync } from 'node:fs';
import type { Clock, ClockReading } from '../domain/ports.ts';
import {
  addDuration,
  type Duration,
  durationBetween,
  type Instant,
  milliseconds,
  seconds,
  type Uptime,
} from '../domain/units.ts';

export interface MachineClock extends Clock {
  /** Names of what waits, soonest first. */
  waiting(): readonly string[];
}

/** Files that show whether the system's time is right. */
export interface TimeSources {
  /** Made by systemd-timesyncd once it has synchronised in this boot. */
  readonly synchronized: string;
  /** `1` when the kernel took the time from a clock with a battery at boot. */
  readonly fromBattery: string;
}

const DEFAULT_TIME_SOURCES: TimeSources = {
  synchronized: '/run/systemd/timesync/synchronized',
  fromBattery: '/sys/class/rtc/rtc0/hctosys',
};

/** A battery clock that shows an earlier time has lost its battery. */
const EARLIEST_PLAUSIBLE_TIME = Date.parse('2026-01-01T00:00:00Z');
/** How long a negative result of the sources is reused. */
const TRUST_CHECK_INTERVAL = seconds(5);
/** Timers of Node take 31 bits of milliseconds; longer ones would run at once. */
const LONGEST_TIMER = milliseconds(2 ** 31 - 1);

/** CLOCK_MONOTONIC counts from boot, so two runs of the program in one boot share it. */
const readMonotonic = () => (Number(process.hrtime.bigint() / 1_000n) / 1_000) as Uptime;

function hasFileText(path: string, text: string): boolean {
  try {
    return readFileSync(path, 'utf8').trim() === text;
  } catch {
    return false;
  }
}

const isSynchronized = ({ synchronized, fromBattery }: TimeSources) =>
  existsSync(synchronized) || (hasFileText(fromBattery, '1') && Date.now() >= EARLIEST_PLAUSIBLE_TIME);

interface WaitingTimer {
  readonly at: Uptime;
  readonly name: string;
}

/** Wake-ups by `uptime`, which runs `speed` times as fast as Node's timers. */
function createWakeUps(uptime: () => Uptime, speed: number): Pick<MachineClock, 'wakeAt' | 'waiting'> {
  const waiting = new Set<WaitingTimer>();
  return {
    wakeAt(at, name, run) {
      const entry = { at, name };
      let timer: NodeJS.Timeout;
      const arm = () => {
        const left = Math.ceil(durationBetween(uptime(), at) / speed);
        timer = setTimeout(wake, Math.max(0, Math.min(left, LONGEST_TIMER)));
      };
      const wake = () => {
        if (uptime() < at) return arm();
        waiting.delete(entry);
        run();
      };
      waiting.add(entry);
      arm();
      return () => {
        waiting.delete(entry);
        clearTimeout(timer);
      };
    },
    waiting: () => [...waiting].sort((a, b) => a.at - b.at).map(({ name }) => name),
  };
}

/** The machine's own time. `uptime` counts from boot; the wall clock is trusted from the first moment a source confirms it. */
export function createSystemClock(sources: TimeSources = DEFAULT_TIME_SOURCES): MachineClock {
  let trusted = false;
  let checkedAt: Uptime | undefined;

  const isTrusted = (uptime: Uptime) => {
    if (trusted) return true;
    if (checkedAt !== undefined && durationBetween(checkedAt, uptime) < TRUST_CHECK_INTERVAL) return false;
    checkedAt = uptime;
    trusted = isSynchronized(sources);
    return trusted;
  };
  return {
    now: (): ClockReading => {
      const uptime = readMonotonic();
      return { wall: Date.now() as Instant, uptime, trusted: isTrusted(uptime) };
    },
    ...createWakeUps(readMonotonic, 1),
  };
}

/** Time that begins at `start` and runs `speed` times as fast as the machine's; always trusted. */
export function createScaledClock({ start, speed }: { readonly start: Instant; readonly speed: number }): MachineClock {
  if (!(speed > 0 && Number.isFinite(speed))) throw new Error(`speed ${speed} is not a positive number`);
  const origin = readMonotonic();
  const getElapsed = () => (durationBetween(origin, readMonotonic()) * speed) as Duration;
  const uptime = () => addDuration(0 as Uptime, getElapsed());
  return {
    now: () => {
      const since = getElapsed();
      return {
        wall: addDuration(start, milliseconds(Math.floor(since))),
        uptime: addDuration(0 as Uptime, since),
        trusted: true,
      };
    },
    speed,
    ...createWakeUps(uptime, speed),
  };
}
