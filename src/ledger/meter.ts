/** Turns the levels a load has had into slot entries: running time by the monotonic clock, power times time. Decides nothing. */

import type { Level } from '../config/config.ts';
import type { Why } from '../control/control.ts';
import type { Basis } from '../signal/view.ts';
import { after, type Duration, energy, floorTo, type Instant, type Kilowatt } from '../units.ts';
import type { Moment } from '../world.ts';
import type { SlotEntry } from './entries.ts';

/** What the load is told and why, from one moment on. */
export interface Cause {
  readonly level: Level;
  readonly why: Why;
  readonly basis: Basis;
  readonly region?: string;
  readonly job?: string;
}

export interface Meter {
  readonly load: string;
  readonly power: Kilowatt;
  readonly period: Duration;
  readonly since: Moment;
  readonly cause: Cause;
  /** Running time of the present slot and cause, not written yet. */
  readonly pending?: SlotEntry;
}

/** Levels at which the agent has the load run. What a heat pump draws at `normal` is its own affair and is not counted. */
const RUNNING: ReadonlySet<Level> = new Set(['on', 'recommend', 'force']);

export const newMeter = (
  load: { readonly name: string; readonly power: Kilowatt },
  period: Duration,
  cause: Cause,
  now: Moment,
): Meter => ({ load: load.name, power: load.power, period, since: now, cause });

const sameCause = (a: Cause, b: Cause) =>
  a.level === b.level && a.why === b.why && a.basis === b.basis && a.region === b.region && a.job === b.job;

function entryOf({ load, power, cause }: Meter, at: Instant, length: Duration): SlotEntry {
  const { region, job } = cause;
  return {
    kind: 'slot',
    load,
    at,
    for: length,
    energy: energy(power, length),
    metered: false,
    level: cause.level,
    why: cause.why,
    basis: cause.basis,
    ...(region === undefined ? {} : { region }),
    ...(job === undefined ? {} : { job }),
  };
}

/** The running time since the last reading, cut where a slot ends. A jump of the wall clock moves it, never stretches it. */
function pieces(meter: Meter, now: Moment): SlotEntry[] {
  const ran = (now.uptime - meter.since.uptime) as Duration;
  if (!RUNNING.has(meter.cause.level) || ran <= 0) return [];
  const cut: SlotEntry[] = [];
  for (let at = (now.wall - ran) as Instant; at < now.wall; ) {
    const end = Math.min(now.wall, after(floorTo(at, meter.period), meter.period)) as Instant;
    cut.push(entryOf(meter, at, (end - at) as Duration));
    at = end;
  }
  return cut;
}

function joined(pending: SlotEntry | undefined, piece: SlotEntry, meter: Meter): SlotEntry | undefined {
  if (pending === undefined || floorTo(pending.at, meter.period) !== floorTo(piece.at, meter.period)) return undefined;
  if (Math.abs(pending.at + pending.for - piece.at) > 1_000) return undefined;
  return entryOf(meter, pending.at, (pending.for + piece.for) as Duration);
}

/** Reads the meter at `now`; `next` is the cause from here on. Entries come out when their slot or their cause has ended. */
export function read(
  meter: Meter,
  now: Moment,
  next: Cause = meter.cause,
): { readonly meter: Meter; readonly entries: readonly SlotEntry[] } {
  const entries: SlotEntry[] = [];
  let pending = meter.pending;
  for (const piece of pieces(meter, now)) {
    const one = joined(pending, piece, meter);
    if (one === undefined && pending !== undefined) entries.push(pending);
    pending = one ?? piece;
  }
  const over =
    pending !== undefined &&
    (!sameCause(meter.cause, next) || now.wall >= after(floorTo(pending.at, meter.period), meter.period));
  if (over && pending !== undefined) entries.push(pending);
  const { pending: _, ...rest } = meter;
  const kept = over || pending === undefined ? {} : { pending };
  return { meter: { ...rest, ...kept, since: now, cause: next }, entries };
}
