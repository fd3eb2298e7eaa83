/** Splits a range of any length into requests. */

import {
  addDuration,
  type Duration,
  floorTo,
  type Instant,
  milliseconds,
  minutes,
  subtractDuration,
} from '../../domain/units.ts';
import type { TimeRange } from '../api/query-types.ts';

/** Every period of the service is a whole number of these, counted from 1970. */
export const CHUNK_STEP = minutes(5);

/** Whole steps of a length, at least one. */
const roundToSteps = (span: Duration) => milliseconds(Math.max(1, Math.floor(span / CHUNK_STEP)) * CHUNK_STEP);

/**
 * The first piece of `range`, at most `span` long and ending one step before a cut on the grid, and the rest of it.
 * Both ends of a request are inclusive, so that no point is requested twice and none is left out.
 */
function splitFirstChunk(range: TimeRange, span: Duration): { readonly piece: TimeRange; readonly rest?: TimeRange } {
  const cut = addDuration(floorTo(range.start, CHUNK_STEP), roundToSteps(span));
  const last = Math.max(range.start, subtractDuration(cut, CHUNK_STEP)) as Instant;
  if (range.end < cut) return { piece: { start: range.start, end: Math.min(last, range.end) as Instant } };
  return { piece: { start: range.start, end: last }, rest: { start: cut, end: range.end } };
}

/** The chunks of a range in order, each created on demand. */
export function* splitIntoChunks(range: TimeRange, span: () => Duration): Generator<TimeRange> {
  for (let remaining: TimeRange | undefined = range; remaining !== undefined; ) {
    const { piece, rest } = splitFirstChunk(remaining, span());
    yield piece;
    remaining = rest;
  }
}
