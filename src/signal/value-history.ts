/** Stores the last weeks of received values, one per slot, in a ring of fixed size. */

import { type Duration, days, hours, type Instant } from '../domain/units.ts';
import type { Point } from '../service/api/response-types.ts';

/** An immutable value: `remember` gives a new one. */
export interface ValueHistory {
  readonly period: Duration;
  /** Number of the newest slot held, counted in periods from 1970; -1 when empty. */
  readonly newestSlot: number;
  /** `ring[slot % ring.length]`; NaN where nothing was seen or joined. */
  readonly ring: Float32Array;
}

/** Four weeks: what a profile can use, and 32 KiB at five minutes. */
const HISTORY_LENGTH = days(28);

export const createValueHistory = (period: Duration): ValueHistory => ({
  period,
  newestSlot: -1,
  ring: new Float32Array(Math.max(1, Math.round(HISTORY_LENGTH / period))).fill(Number.NaN),
});

export const toSlot = ({ period }: { readonly period: Duration }, at: Instant) => Math.floor(at / period);

/** The value seen for a slot, NaN when none is held. */
export const getSeenValue = ({ ring, newestSlot: newest }: ValueHistory, slot: number): number =>
  slot > newest || slot <= newest - ring.length || slot < 0 ? Number.NaN : (ring[slot % ring.length] ?? Number.NaN);

/** After a longer silence than this the days before it count as the last ones: last season's days are better than none. */
const MAX_SILENCE = days(7);

/** The archive with its days moved up to the day before `slot`, times of day kept, when they are long past. */
function rebaseToToday(history: ValueHistory, slot: number): ValueHistory {
  const { period, newestSlot: newest, ring } = history;
  if (newest < 0 || (slot - newest) * period <= MAX_SILENCE) return history;
  const perDay = Math.max(1, Math.round(days(1) / period));
  const move = Math.floor((slot - newest - 1) / perDay) * perDay;
  const moved = ring.slice();
  for (let past = newest - ring.length + 1; past <= newest; past++)
    if (past >= 0) moved[(past + move) % ring.length] = ring[past % ring.length] ?? Number.NaN;
  return { period, newestSlot: newest + move, ring: moved };
}

/** Values further apart than this have none between them; closer ones have the line that joins them, which a value for its slot replaces. */
export const MAX_JOINED_GAP = hours(1);

/** Points of slots up to `until` enter, a later value for a slot replaces an earlier one. */
export function recordValues(history: ValueHistory, points: readonly Point[], until: Instant): ValueHistory {
  const last = toSlot(history, until);
  const accepted = points.filter(({ at, value }) => at >= 0 && toSlot(history, at) <= last && Number.isFinite(value));
  if (accepted.length === 0) return history;
  const rebased = rebaseToToday(history, Math.min(...accepted.map(({ at }) => toSlot(history, at))));
  const ring = rebased.ring.slice();
  let newest = rebased.newestSlot;
  for (const { at, value } of accepted) {
    const slot = toSlot(history, at);
    if (slot <= newest - ring.length) continue;
    if (slot > newest) {
      const gap = Math.min(slot - newest - 1, ring.length);
      const before =
        (slot - newest) * history.period <= MAX_JOINED_GAP ? (ring[newest % ring.length] ?? Number.NaN) : Number.NaN;
      const step = (value - before) / (slot - newest);
      for (let skipped = slot - gap; skipped < slot; skipped++)
        ring[skipped % ring.length] = before + step * (skipped - newest);
      newest = slot;
    }
    ring[slot % ring.length] = value;
  }
  return { ...history, ring, newestSlot: newest };
}

/** Whether the last `span` up to the newest slot holds values for at least `least`. */
export function hasCoverage(history: ValueHistory, span: Duration, least: Duration): boolean {
  let missing = Math.ceil(least / history.period);
  const { ring, newestSlot: newest } = history;
  const from = Math.max(0, newest - Math.min(ring.length, Math.round(span / history.period)) + 1);
  for (let slot = newest; slot >= from && missing > 0; slot--)
    if (!Number.isNaN(ring[slot % ring.length] ?? Number.NaN)) missing--;
  return missing <= 0;
}
