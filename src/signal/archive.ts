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

/** Points of slots up to `until` enter, a later value for a slot replaces an earlier one. */
export function remember(archive: Archive, points: readonly Point[], until: Instant): Archive {
  const last = slotOf(archive, until);
  const news = points.filter(({ at, value }) => at >= 0 && slotOf(archive, at) <= last && Number.isFinite(value));
  if (news.length === 0) return archive;
  const ring = archive.ring.slice();
  let newest = archive.newest;
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

/** How much time of the last `span` up to the newest slot has a value. */
export function coverage(archive: Archive, span: Duration): Duration {
  let seen = 0;
  const from = archive.newest - Math.round(span / archive.period) + 1;
  for (let slot = Math.max(0, from); slot <= archive.newest; slot++) if (!Number.isNaN(valueAt(archive, slot))) seen++;
  return (seen * archive.period) as Duration;
}
