/** One meter for each load that has had a level. */

import { isRunning } from '../domain/levels.ts';
import type { Level, LoadConfig } from '../domain/load-types.ts';
import type { ClockReading } from '../domain/ports.ts';
import { type Duration, minutes } from '../domain/units.ts';
import type { SlotEntry } from '../ledger/entries.ts';
import { advanceMeter, type Meter, type RunCause, startMeter } from '../ledger/run-meter.ts';

export interface RunMeters {
  /** Reads the meter of a load, which has `level` from now on, or the same level as before. Returns the rows that have ended. */
  read(load: string, level: Level | undefined, now: ClockReading): readonly SlotEntry[];
  readAll(now: ClockReading, level?: Level): readonly SlotEntry[];
  /** Of the signal; meters that begin from now on go by it. */
  period(): Duration;
  setPeriod(period: Duration): void;
  /** The running time since the rows that have ended. */
  pending(): readonly SlotEntry[];
  /** Ends the pending rows and returns them. */
  cut(): readonly SlotEntry[];
  isAnyRunning(): boolean;
}

const ASSUMED_SLOT_PERIOD = minutes(5);

export function createRunMeters(
  loads: readonly LoadConfig[],
  buildCause: (load: string, level: Level) => RunCause,
): RunMeters {
  const meters = new Map<string, Meter>();
  let period = ASSUMED_SLOT_PERIOD;

  const read: RunMeters['read'] = (name, level, now) => {
    const meter = meters.get(name);
    const load = loads.find((one) => one.name === name);
    const current = level ?? meter?.cause.level;
    if (load === undefined || current === undefined) return [];
    const cause = buildCause(name, current);
    const { meter: next, entries } =
      meter === undefined
        ? { meter: startMeter(load, period, cause, now), entries: [] }
        : advanceMeter(meter, now, cause);
    meters.set(name, next);
    return entries;
  };
  const pending = () => [...meters.values()].flatMap((meter) => meter.pending ?? []);

  return {
    read,
    readAll: (now, level) => [...meters.keys()].flatMap((name) => read(name, level, now)),
    period: () => period,
    setPeriod(newPeriod) {
      period = newPeriod;
    },
    pending,
    cut() {
      const entries = pending();
      for (const [name, { pending: _, ...meter }] of meters) meters.set(name, meter);
      return entries;
    },
    isAnyRunning: () => [...meters.values()].some(({ cause }) => isRunning(cause.level)),
  };
}
