/** Keeps the last weeks of values as they were seen, one a slot, in a ring of fixed size. Never invents a value. */

import type { Point } from '../service/answers.ts';
import { type Duration, days, type Instant } from '../units.ts';

/** An immutable value: `remember` gives a new one. */
export interface Archive {
  readonly period: Duration;
  /** Number of the newest slot held, counted in periods from 1970; -1 when empty. */
  readonly newest: number;
  /** `ring[slot % ring.length]`; NaN where nothing was seen. */
  readonly ring: Float32Array;
}

/** Four weeks: what a profile can use, and 32 KiB at five minutes. */
export const KEPT = days(28);

export const emptyArchive = (period: Duration): Archive => ({
  period,
  newest: -1,
  ring: new Float32Array(Math.max(1, Math.round(KEPT / period))).fill(Number.NaN),
});

export const slotOf = ({ period }: { readonly period: Duration }, at: Instant) => Math.floor(at / period);

/** The value seen for a slot, NaN when none is held. */
export const valueAt = ({ ring, newest }: Archive, slot: number): number =>
  slot > newest || slot <= newest - ring.length || slot < 0 ? Number.NaN : (ring[slot % ring.length] ?? Number.NaN);

/** After a longer silence than this the days before it count as the last ones: last season's days are better than none. */
const SILENCE = days(7);

/** The archive with its days moved up to the day before `slot`, times of day kept, when they are long past. */
function caughtUp(archive: Archive, slot: number): Archive {
  const { period, newest, ring } = archive;
  if (newest < 0 || (slot - newest) * period <= SILENCE) return archive;
  const perDay = Math.max(1, Math.round(days(1) / period));
  const move = Math.floor((slot - newest - 1) / perDay) * perDay;
  const moved = ring.slice();
  for (let past = newest - ring.length + 1; past <= newest; past++)
    if (past >= 0) moved[(past + move) % ring.length] = ring[past % ring.length] ?? Number.NaN;
  return { period, newest: newest + move, ring: moved };
}

/** Points of slots up to `until` enter, a later value for a slot replaces an earlier one. */
export function remember(archive: Archive, points: readonly Point[], until: Instant): Archive {
  const last = slotOf(archive, until);
  const news = points.filter(({ at, value }) => at >= 0 && slotOf(archive, at) <= last && Number.isFinite(value));
  if (news.length === 0) return archive;
  const before = caughtUp(archive, Math.min(...news.map(({ at }) => slotOf(archive, at))));
  const ring = before.ring.slice();
  let newest = before.newest;
  for (const { at, value } of news) {
    const slot = slotOf(archive, at);
    if (slot <= newest - ring.length) continue;
    if (slot > newest) {
      const gap = Math.min(slot - newest - 1, ring.length);
      for (let skipped = slot - gap; skipped < slot; skipped++) ring[skipped % ring.length] = Number.NaN;
      newest = slot;
    }
    ring[slot % ring.length] = value;
  }
  return { ...archive, ring, newest };
}

/** Whether the last `span` up to the newest slot holds values for at least `least`. */
export function covers(archive: Archive, span: Duration, least: Duration): boolean {
  let missing = Math.ceil(least / archive.period);
  const from = Math.max(0, archive.newest - Math.round(span / archive.period) + 1);
  for (let slot = archive.newest; slot >= from && missing > 0; slot--)
    if (!Number.isNaN(valueAt(archive, slot))) missing--;
  return missing <= 0;
}
