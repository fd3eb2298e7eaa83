/** One meter for each load that has had a level: its running time at its power, or what its device's own counter says. */

import { isRunning } from '../domain/levels.ts';
import type { Level, LoadConfig } from '../domain/load-types.ts';
import type { ClockReading } from '../domain/ports.ts';
import { type Duration, type KilowattHour, minutes } from '../domain/units.ts';
import { type CounterMeter, changeCause, findCause, readCounter, startCounter } from '../ledger/counter-meter.ts';
import type { SlotEntry } from '../ledger/entries.ts';
import { advanceMeter, type Meter, type RunCause, startMeter } from '../ledger/run-meter.ts';

export interface RunMeters {
  /** Reads the meter of a load, which has `level` from now on, or the same level as before. Returns the rows that have ended. */
  read(load: string, level: Level | undefined, now: ClockReading): readonly SlotEntry[];
  readAll(now: ClockReading, level?: Level): readonly SlotEntry[];
  /** The counter of the load's device: from its first reading on the counter alone tells what the load draws. */
  readCounter(load: string, energy: KilowattHour, now: ClockReading): readonly SlotEntry[];
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
  const meters = new Map<string, AnyMeter>();
  let period = ASSUMED_SLOT_PERIOD;
  const findLoad = (name: string) => loads.find((one) => one.name === name);

  const read: RunMeters['read'] = (name, level, now) => {
    const meter = meters.get(name);
    const load = findLoad(name);
    const current = level ?? (meter && getCause(meter).level);
    if (load === undefined || current === undefined) return [];
    const cause = buildCause(name, current);
    if (meter === undefined) {
      meters.set(name, startMeter(load, period, cause, now));
      return [];
    }
    const { meter: next, entries } =
      'spans' in meter ? { meter: changeCause(meter, cause, now), entries: [] } : advanceMeter(meter, now, cause);
    meters.set(name, next);
    return entries;
  };
  const pending = () => [...meters.values()].flatMap((meter) => meter.pending ?? []);

  return {
    read,
    readAll: (now, level) => [...meters.keys()].flatMap((name) => read(name, level, now)),
    readCounter(name, energy, now) {
      const load = findLoad(name);
      if (load === undefined) return [];
      const ended = read(name, undefined, now);
      const meter = meters.get(name);
      if (meter !== undefined && 'spans' in meter) {
        const { meter: next, entries } = readCounter({ ...meter, period }, energy, now);
        meters.set(name, next);
        return entries;
      }
      const cause = meter?.cause ?? buildCause(name, 'off');
      meters.set(name, startCounter({ load: name, powerKw: load.powerKw, period }, energy, cause, now));
      return [...ended, ...(meter?.pending === undefined ? [] : [meter.pending])];
    },
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
    isAnyRunning: () =>
      [...meters.values()].some((meter) => meter.pending !== undefined || isRunning(getCause(meter).level)),
  };
}

/** An estimate by running time, or a counter from its first reading on. */
type AnyMeter = Meter | CounterMeter;

const getCause = (meter: AnyMeter): RunCause => ('spans' in meter ? findCause(meter) : meter.cause);
