/** Decides into which requests a range of any length is split; asks nothing. */

import { after, before, type Duration, floorTo, type Instant, milliseconds, minutes } from '../units.ts';
import type { Range } from './queries.ts';

/** Every period of the service is a whole number of these, counted from 1970. */
export const STEP = minutes(5);

/** Whole steps of a length, at least one. */
const wholeSteps = (span: Duration) => milliseconds(Math.max(1, Math.floor(span / STEP)) * STEP);

/**
 * The first piece of `range`, at most `span` long and ending one step before a cut on the grid, and the rest of it.
 * Both ends of a request are inclusive, so that no point is asked for twice and none is left out.
 */
function firstPiece(range: Range, span: Duration): { readonly piece: Range; readonly rest?: Range } {
  const cut = after(floorTo(range.start, STEP), wholeSteps(span));
  const last = Math.max(range.start, before(cut, STEP)) as Instant;
  if (range.end < cut) return { piece: { start: range.start, end: Math.min(last, range.end) as Instant } };
  return { piece: { start: range.start, end: last }, rest: { start: cut, end: range.end } };
}

/** The pieces of a range in order, each made only when it is asked for. */
export function* piecesOf(range: Range, span: () => Duration): Generator<Range> {
  for (let left: Range | undefined = range; left !== undefined; ) {
    const { piece, rest } = firstPiece(left, span());
    yield piece;
    left = rest;
  }
}
