/** Decides which points of a list are values, their order, and when a list is too bad to use; never repairs a value. */

import { instantOf } from '../times.ts';
import type { Duration, Instant } from '../units.ts';
import type { Point } from './answers.ts';
import { nonsense, ok } from './decoding.ts';
import type { Outcome } from './failure.ts';

/** A list with more than this share of refused points is no data. */
const MOST_REFUSED = 0.2;
/** No rate, cost or percentile of any grid comes near; beyond it something is broken. */
const LARGEST = 1e6;

export interface ReadPoints<P> {
  readonly points: readonly P[];
  readonly refused: number;
}

export type RawPoint = Readonly<Record<string, unknown>>;

/** Time and value of one item, or undefined for text, null, Infinity and other non-values (specification 2.5). */
export function pointOf(item: RawPoint): Point | undefined {
  const at = instantOf(item.point_time);
  const value = item.value;
  if (at === undefined || typeof value !== 'number' || !(Math.abs(value) <= LARGEST)) return undefined;
  return { at, value };
}

/** Ascending, of a repeated time the last one. */
export function inOrder<P>(items: readonly P[], timeOf: (item: P) => Instant): readonly P[] {
  const isAscending = items.every((item, i) => {
    const next = items[i + 1];
    return next === undefined || timeOf(item) < timeOf(next);
  });
  if (isAscending) return items;
  const last = new Map(items.map((item) => [timeOf(item), item]));
  return [...last.values()].sort((a, b) => timeOf(a) - timeOf(b));
}

/** Keeps the items `read` accepts; refuses the list when it refuses more than a fifth of them. */
export function sifted<P>(
  items: readonly unknown[],
  where: string,
  read: (item: RawPoint) => P | undefined,
): Outcome<{ readonly kept: readonly P[]; readonly refused: number }> {
  const kept: P[] = [];
  for (const item of items) {
    const one = typeof item === 'object' && item !== null ? read(item as RawPoint) : undefined;
    if (one !== undefined) kept.push(one);
  }
  const refused = items.length - kept.length;
  if (refused > items.length * MOST_REFUSED)
    return nonsense(where, 'points with a time and a number', `${refused} of ${items.length} without`);
  return ok({ kept, refused });
}

function strayGap(points: readonly Point[], period: Duration): number | undefined {
  for (let i = 1; i < points.length; i++) {
    const gap = (points[i]?.at ?? 0) - (points[i - 1]?.at ?? 0);
    if (gap % period !== 0) return gap;
  }
  return undefined;
}

/** The points of a list: ascending, none twice, a whole number of periods apart; gaps are allowed. */
export function readPoints<P extends Point>(
  items: readonly unknown[],
  { where, period }: { readonly where: string; readonly period: Duration },
  read: (item: RawPoint) => P | undefined,
): Outcome<ReadPoints<P>> {
  const list = sifted(items, where, read);
  if (!list.ok) return list;
  const points = inOrder(list.value.kept, ({ at }) => at);
  const gap = strayGap(points, period);
  if (gap !== undefined)
    return nonsense(where, `points ${period / 1_000} s apart, or a multiple`, `two points ${gap / 1_000} s apart`);
  return ok({ points, refused: list.value.refused });
}
