/** Decides which points of a list are values, sorts them, and refuses a list with too many bad points. */

import { parseInstant } from '../../domain/iso-time.ts';
import type { Duration, Instant } from '../../domain/units.ts';
import type { Outcome } from '../failure.ts';
import { invalidResponse, ok } from './decode-body.ts';
import type { Point } from './response-types.ts';

/** A list with more than this share of refused points is no data. */
const MAX_REFUSED_SHARE = 0.2;
/** No rate, cost or percentile of any grid comes near; beyond it something is broken. */
const MAX_VALUE = 1e6;

export interface ParsedPoints<P> {
  readonly points: readonly P[];
  readonly refused: number;
}

export type RawPoint = Readonly<Record<string, unknown>>;

/** Not text, null, Infinity and other non-values (specification 2.5). */
export const isPointValue = (value: unknown): value is number =>
  typeof value === 'number' && Math.abs(value) <= MAX_VALUE;

/** Time and value of one item, or undefined where one of them is none. */
export function parsePoint({ point_time: time, value }: RawPoint): Point | undefined {
  const at = parseInstant(time);
  return at !== undefined && isPointValue(value) ? { at, value } : undefined;
}

/** Ascending, of a repeated time the last one. */
export function sortByTime<P>(items: readonly P[], timeOf: (item: P) => Instant): readonly P[] {
  const isAscending = items.every((item, i) => {
    const next = items[i + 1];
    return next === undefined || timeOf(item) < timeOf(next);
  });
  if (isAscending) return items;
  const last = new Map(items.map((item) => [timeOf(item), item]));
  return [...last.values()].sort((a, b) => timeOf(a) - timeOf(b));
}

/** Keeps the items `read` accepts; refuses the list when it refuses more than a fifth of them. */
export function parseItems<P>(
  items: readonly unknown[],
  where: string,
  parseItem: (item: RawPoint) => P | undefined,
): Outcome<{ readonly kept: readonly P[]; readonly refused: number }> {
  const kept: P[] = [];
  for (const item of items) {
    const one = typeof item === 'object' && item !== null ? parseItem(item as RawPoint) : undefined;
    if (one !== undefined) kept.push(one);
  }
  const refused = items.length - kept.length;
  if (refused > items.length * MAX_REFUSED_SHARE)
    return invalidResponse(where, 'points with a time and a number', `${refused} of ${items.length} without`);
  return ok({ kept, refused });
}

function findStrayGap(points: readonly Point[], period: Duration): number | undefined {
  for (let i = 1; i < points.length; i++) {
    const gap = (points[i]?.at ?? 0) - (points[i - 1]?.at ?? 0);
    if (gap % period !== 0) return gap;
  }
  return undefined;
}

/** The points of a list: ascending, none twice, a whole number of periods apart; gaps are allowed. */
export function parsePoints<P extends Point>(
  items: readonly unknown[],
  { where, period }: { readonly where: string; readonly period: Duration },
  parseItem: (item: RawPoint) => P | undefined,
): Outcome<ParsedPoints<P>> {
  const list = parseItems(items, where, parseItem);
  if (!list.ok) return list;
  const points = sortByTime(list.value.kept, ({ at }) => at);
  const gap = findStrayGap(points, period);
  if (gap !== undefined)
    return invalidResponse(
      where,
      `points ${period / 1_000} s apart, or a multiple`,
      `two points ${gap / 1_000} s apart`,
    );
  return ok({ points, refused: list.value.refused });
}
