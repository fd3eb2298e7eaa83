/** Turns the counter of a device into slot entries: what it counted between two readings, spread over the time that the load ran. */

import { isRunning } from '../domain/levels.ts';
import type { ClockReading } from '../domain/ports.ts';
import type { Duration, Instant, Kilowatt, KilowattHour } from '../domain/units.ts';
import { hours } from '../domain/units.ts';
import type { SlotEntry } from './entries.ts';
import { cutIntoSlots, isSameCause, type RunCause } from './run-meter.ts';

/** From `from` until the next span, or until now. */
interface CauseSpan {
  readonly from: ClockReading;
  readonly cause: RunCause;
}

export interface CounterMeter {
  readonly load: string;
  readonly powerKw: Kilowatt;
  readonly period: Duration;
  /** The counter at the start of the first span. */
  readonly energy: KilowattHour;
  /** Of the time since that reading, the oldest first. */
  readonly spans: readonly [CauseSpan, ...CauseSpan[]];
  /** Of the present slot and cause, not written yet. */
  readonly pending?: SlotEntry;
}

/** A device at rest draws a little; below this share of the load's power it is not the load. */
const REST_SHARE = 0.02;
/** Before that is judged, at least this is counted. */
const REST_ENERGY = 0.05;
/** A load draws less than it is said to, at times; several times as much it never does. */
export const MAX_POWER_FACTOR = 5;
/** A coarse counter moves in steps of a kilowatt-hour. */
const MAX_STEP = 1;
/** Causes kept between two readings of a counter that is silent. */
const MAX_SPANS = 200;

/** Whether a load of this power cannot have drawn so much. */
export const exceedsPower = (powerKw: Kilowatt, drawn: number, time: Duration): boolean =>
  drawn > MAX_STEP + (MAX_POWER_FACTOR * powerKw * time) / hours(1);

export const startCounter = (
  load: Pick<CounterMeter, 'load' | 'powerKw' | 'period'>,
  energy: KilowattHour,
  cause: RunCause,
  now: ClockReading,
): CounterMeter => ({ ...load, energy, spans: [{ from: now, cause }] });

export const findCause = ({ spans }: CounterMeter): RunCause => (spans.at(-1) ?? spans[0]).cause;

/** From `now` on the load has this cause. */
export function changeCause(meter: CounterMeter, cause: RunCause, now: ClockReading): CounterMeter {
  if (isSameCause(findCause(meter), cause)) return meter;
  const [first, ...later] = meter.spans;
  return { ...meter, spans: [first, ...later.slice(-MAX_SPANS), { from: now, cause }] };
}

/** Reads the counter. Entries come out when their slot or their cause has ended. */
export function readCounter(
  meter: CounterMeter,
  energy: KilowattHour,
  now: ClockReading,
): { readonly meter: CounterMeter; readonly entries: readonly SlotEntry[] } {
  const drawn = energy - meter.energy;
  const rebased: CounterMeter = { ...meter, energy, spans: [{ from: now, cause: findCause(meter) }] };
  // A counter that starts anew has counted nothing since, and one that leaps nothing that the load drew.
  const time = (now.uptime - meter.spans[0].from.uptime) as Duration;
  if (drawn < 0 || exceedsPower(meter.powerKw, drawn, time)) return { meter: rebased, entries: [] };
  const spans = findDrawingSpans(meter, drawn, now);
  // A coarse counter stands still for a while: what it counts next was drawn since it last moved.
  if (spans === 'wait') return { meter, entries: [] };
  const total = spans.reduce((sum, { length }) => sum + length, 0);
  const pieces = spans.flatMap((span) =>
    cutIntoSlots({ ...meter, cause: span.cause }, span.until, span.length).map((piece) => ({
      ...piece,
      metered: true,
      energy: ((drawn * piece.for) / total) as KilowattHour,
    })),
  );
  const entries: SlotEntry[] = [];
  let { pending } = meter;
  for (const piece of pieces) {
    const joined = pending && joinPieces(pending, piece, meter.period);
    if (joined === undefined && pending !== undefined) entries.push(pending);
    pending = joined ?? piece;
  }
  const { pending: _, ...rest } = rebased;
  return { meter: pending === undefined ? rest : { ...rest, pending }, entries };
}

interface DrawingSpan {
  readonly cause: RunCause;
  readonly until: ClockReading;
  readonly length: Duration;
}

/** The spans that the energy was drawn in: those in which the load ran, else all. */
function findDrawingSpans(meter: CounterMeter, drawn: number, now: ClockReading): readonly DrawingSpan[] | 'wait' {
  const all = meter.spans.flatMap(({ from, cause }, i): DrawingSpan[] => {
    const until = meter.spans[i + 1]?.from ?? now;
    const length = (until.uptime - from.uptime) as Duration;
    return length > 0 ? [{ cause, until, length }] : [];
  });
  const running = all.filter(({ cause }) => isRunning(cause.level));
  if (running.length > 0) return drawn === 0 ? 'wait' : running;
  const [first] = meter.spans;
  if (drawn === 0) return [];
  if (drawn < REST_ENERGY || all.length === 0) return 'wait';
  const power = (drawn * hours(1)) / (now.uptime - first.from.uptime);
  return power < meter.powerKw * REST_SHARE ? [] : all;
}

function joinPieces(pending: SlotEntry, piece: SlotEntry, period: Duration): SlotEntry | undefined {
  const isSlot = Math.floor(pending.at / period) === Math.floor(piece.at / period);
  const isNext = Math.abs(pending.at + pending.for - piece.at) <= 1_000;
  if (!isSlot || !isNext || !isSameCause(pending, piece)) return undefined;
  const end = (piece.at + piece.for) as Instant;
  return {
    ...pending,
    for: (end - pending.at) as Duration,
    energy: (pending.energy + piece.energy) as KilowattHour,
  };
}
