/** Turns the levels of a load into slot entries: running time by the monotonic clock, energy as power times time. */

import type { DecisionReason } from '../control/control-types.ts';
import { isRunning } from '../domain/levels.ts';
import type { Level } from '../domain/load-types.ts';
import type { ClockReading } from '../domain/ports.ts';
import {
  addDuration,
  computeEnergy,
  type Duration,
  floorTo,
  type Instant,
  type Kilowatt,
  milliseconds,
} from '../domain/units.ts';
import type { Basis } from '../signal/signal-view.ts';
import type { SlotEntry } from './entries.ts';

/** The level of the load and its reason, from one moment on. */
export interface RunCause {
  readonly level: Level;
  readonly why: DecisionReason;
  readonly basis: Basis;
  readonly region?: string;
  readonly job?: string;
  /** The part of its power that a charger gets; absent: all. */
  readonly portion?: number;
  /** The device was sent the level and has not confirmed it. */
  readonly unconfirmed?: true;
}

export interface Meter {
  readonly load: string;
  readonly powerKw: Kilowatt;
  readonly period: Duration;
  readonly since: ClockReading;
  readonly cause: RunCause;
  /** Running time of the present slot and cause, not written yet. */
  readonly pending?: SlotEntry;
}

export const startMeter = (
  load: { readonly name: string; readonly powerKw: Kilowatt },
  period: Duration,
  cause: RunCause,
  now: ClockReading,
): Meter => ({ load: load.name, powerKw: load.powerKw, period, since: now, cause });

const CAUSE_KEYS = ['level', 'why', 'basis', 'region', 'job', 'portion', 'unconfirmed'] as const;

export const isSameCause = (a: RunCause, b: RunCause) => CAUSE_KEYS.every((key) => a[key] === b[key]);

type Measured = Pick<Meter, 'load' | 'powerKw' | 'period' | 'cause'>;

function buildSlotEntry({ load, powerKw: power, cause }: Measured, at: Instant, length: Duration): SlotEntry {
  const { region, job, unconfirmed } = cause;
  return {
    kind: 'slot',
    load,
    at,
    for: length,
    energy: computeEnergy((power * (cause.portion ?? 1)) as Kilowatt, length),
    metered: false,
    level: cause.level,
    why: cause.why,
    basis: cause.basis,
    ...(region === undefined ? {} : { region }),
    ...(job === undefined ? {} : { job }),
    ...(unconfirmed === undefined ? {} : { unconfirmed }),
  };
}

/** A time that ended at `now`, cut where a slot ends. A jump of the wall clock moves it, never stretches it. */
export function cutIntoSlots(meter: Measured, now: ClockReading, ran: Duration): SlotEntry[] {
  if (ran <= 0) return [];
  const cut: SlotEntry[] = [];
  for (let at = (now.wall - ran) as Instant; at < now.wall; ) {
    const end = Math.min(now.wall, addDuration(floorTo(at, meter.period), meter.period)) as Instant;
    cut.push(buildSlotEntry(meter, at, (end - at) as Duration));
    at = end;
  }
  return cut;
}

function joinSlotEntries(pending: SlotEntry | undefined, piece: SlotEntry, meter: Meter): SlotEntry | undefined {
  if (pending === undefined || floorTo(pending.at, meter.period) !== floorTo(piece.at, meter.period)) return undefined;
  if (Math.abs(pending.at + pending.for - piece.at) > 1_000) return undefined;
  return buildSlotEntry(meter, pending.at, (pending.for + piece.for) as Duration);
}

/** Reads the meter at `now`; `next` is the cause from here on. Entries come out when their slot or their cause has ended. */
export function advanceMeter(
  meter: Meter,
  now: ClockReading,
  next: RunCause = meter.cause,
): { readonly meter: Meter; readonly entries: readonly SlotEntry[] } {
  const entries: SlotEntry[] = [];
  let pending = meter.pending;
  // What a heat pump draws at `normal` is its own affair and is not counted.
  const ran = isRunning(meter.cause.level) ? ((now.uptime - meter.since.uptime) as Duration) : milliseconds(0);
  for (const piece of cutIntoSlots(meter, now, ran)) {
    const merged = joinSlotEntries(pending, piece, meter);
    if (merged === undefined && pending !== undefined) entries.push(pending);
    pending = merged ?? piece;
  }
  const isOver =
    pending !== undefined &&
    (!isSameCause(meter.cause, next) || now.wall >= addDuration(floorTo(pending.at, meter.period), meter.period));
  if (isOver && pending !== undefined) entries.push(pending);
  const { pending: _, ...rest } = meter;
  const remaining = isOver || pending === undefined ? {} : { pending };
  return { meter: { ...rest, ...remaining, since: now, cause: next }, entries };
}
