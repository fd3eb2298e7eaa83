/** The schema of each kind of ledger line, checked on reading because another version may have written it. */

import * as v from 'valibot';
import type { Duration, Instant, KilowattHour, LbsPerMwh } from '../domain/units.ts';
import type {
  CarriedEntry,
  DayEntry,
  HeaderEntry,
  JobEntry,
  PriceEntry,
  SeenEntry,
  SettledEntry,
  SlotEntry,
} from './entries.ts';

/** Slots of one cause that follow each other. */
export interface SlotsLine extends Omit<SlotEntry, 'kind' | 'for' | 'energy'> {
  readonly kind: 'slots';
  /** Length, count and energy of pieces that follow each other. */
  readonly pieces: readonly (readonly [Duration, number, KilowattHour])[];
}

export interface SeenLine extends Omit<SeenEntry, 'rate'> {
  readonly rates: readonly LbsPerMwh[];
}

export interface SettledLine extends Omit<SettledEntry, 'points'> {
  readonly runs: readonly RateRun[];
}

/** Rates of slots that follow each other. */
export interface RateRun {
  readonly at: Instant;
  readonly rates: readonly LbsPerMwh[];
  readonly imputed?: true;
}

export type Line = JobEntry | SlotsLine | SeenLine | PriceEntry | SettledLine | DayEntry | CarriedEntry | HeaderEntry;

/** A line holds at most a day of five-minute slots, so that damage costs no more. */
export const MAX_PER_LINE = 288;

/** Some are printed: no control character reaches a terminal. */
const text = v.pipe(v.string(), v.regex(/^\P{Cc}*$/u));
const localDate = v.pipe(v.string(), v.isoDate());
/** Sums of what is more could not be told apart, or would be no number. */
const finite = v.pipe(v.number(), v.minValue(-1e12), v.maxValue(1e12));
const positive = v.pipe(v.number(), v.gtValue(0), v.maxValue(1e12));
/** Milliseconds since 1970, in the years that have four digits. */
const instant = v.pipe(v.number(), v.minValue(0), v.maxValue(Date.UTC(9999, 0)));
/** Milliseconds. Longer than any true slot, and a line of them stays within what a `Date` can be. */
const YEAR = 366 * 86_400_000;
const length = v.pipe(v.number(), v.gtValue(0), v.maxValue(YEAR));
const texts = v.array(text);
/** In one check: a day of rates is a line, and years of them are read at once. */
const numbers = v.custom<readonly number[]>((value) => Array.isArray(value) && value.every(Number.isFinite));

/** By kind. Words of control and signal are any text: a figure does not depend on them. */
const SHAPES: { readonly [Kind in Line['kind']]: v.GenericSchema } = {
  job: v.object({ load: text, job: text, armedAt: instant, power: positive }),
  slots: v.object({
    at: instant,
    pieces: v.pipe(
      v.array(
        v.tuple([
          v.pipe(v.number(), v.minValue(0), v.maxValue(YEAR)),
          v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(MAX_PER_LINE)),
          finite,
        ]),
      ),
      v.maxLength(MAX_PER_LINE),
    ),
    load: text,
    metered: v.boolean(),
    level: text,
    why: text,
    basis: text,
    region: v.optional(text),
    job: v.optional(text),
    unconfirmed: v.optional(v.literal(true)),
  }),
  price: v.object({ at: instant, for: length, price: finite, currency: text }),
  seen: v.object({ region: text, at: instant, period: length, rates: numbers, model: v.optional(text) }),
  settled: v.object({
    region: text,
    period: length,
    model: v.optional(text),
    readAt: instant,
    runs: v.array(v.object({ at: instant, rates: numbers, imputed: v.optional(v.literal(true)) })),
  }),
  day: v.object({
    load: text,
    day: localDate,
    at: instant,
    energy: finite,
    metered: finite,
    unconfirmed: finite,
    priced: finite,
    emitted: finite,
    instead: finite,
    settled: finite,
    imputed: finite,
    restated: finite,
    starts: finite,
    estimated: v.boolean(),
    baselines: v.array(v.picklist(['at-once', 'timer', 'even-day'])),
    models: texts,
    jobs: texts,
    bill: v.optional(v.object({ energy: finite, paid: finite, instead: finite, currency: text })),
  }),
  carried: v.object({ load: text, end: instant, done: v.record(text, finite) }),
  header: v.object({ damaged: finite, foreign: finite, timezone: v.optional(text) }),
};

/** Undefined for any other shape. */
export function parseShape(value: unknown): Line | undefined {
  const kind = typeof value === 'object' && value !== null && 'kind' in value ? String(value.kind) : '';
  const shape = Object.hasOwn(SHAPES, kind) ? SHAPES[kind as Line['kind']] : undefined;
  return shape !== undefined && v.is(shape, value) ? (value as Line) : undefined;
}
