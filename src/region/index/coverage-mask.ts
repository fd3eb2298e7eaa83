/** Divides a cell into 8 by 8 parts and finds which of them no border meets, so that most lookups need no ring at all. Rounds nothing. */

import { type GridBox, toDegrees } from './cell-grid.ts';
import { type Cell, clipRings, mayTouchCell, RING_START, type RingList, toCoordinates, VERTEX_MASK } from './clip.ts';

/** Whether a polygon covers a point, border included: turf, handed in from the one file that may import it. */
export type Covers = (rings: number[][][], longitude: number, latitude: number) => boolean;

export const PARTS = 8;
/** Two bits a part, 16 parts a word. */
export const SURVEY_WORDS = 4;

export const OUTSIDE = 0;
export const INSIDE = 1;
/** A border may meet the part: only the rings can tell. */
export const BORDER = 2;
const UNKNOWN = 3;

/** From a part to those south, north, west and east of it. */
const BESIDE = [-PARTS, PARTS, -1, 1] as const;

/** The grid line that starts part `nth` of the length from `low` to `high`; part 8 ends at `high`. */
export const partLine = (low: number, high: number, nth: number) => low + Math.floor(((high - low) * nth) / PARTS);

/** A part whose closed range holds `steps`, which lies within `low` and `high`. */
export function partOf(low: number, high: number, steps: number): number {
  let nth = high > low ? Math.min(PARTS - 1, Math.floor(((steps - low) * PARTS) / (high - low))) : 0;
  // The lines are whole steps, so the quotient may be off by one part.
  while (nth > 0 && steps < partLine(low, high, nth)) nth--;
  while (nth < PARTS - 1 && steps > partLine(low, high, nth + 1)) nth++;
  return nth;
}

/** Writes the lines of one axis, in degrees. */
function rule(lines: Float64Array, low: number, high: number): void {
  for (let nth = 0; nth <= PARTS; nth++) lines[nth] = toDegrees(partLine(low, high, nth));
}

const firstReached = (lines: Float64Array, value: number) => {
  let nth = 0;
  while (nth < PARTS && (lines[nth + 1] as number) < value) nth++;
  return nth;
};
const lastReached = (lines: Float64Array, value: number) => {
  let nth = PARTS - 1;
  while (nth >= 0 && (lines[nth] as number) > value) nth--;
  return nth;
};

/** What a lookup is told of each part: `OUTSIDE`, `INSIDE` or `BORDER`, row by row from the south-west. */
export function createSurveyor(covers: Covers): (rings: RingList, box: GridBox) => Uint8Array {
  const parts = new Uint8Array(PARTS * PARTS);
  const edge = new Uint32Array(2);
  const xs = new Float64Array(PARTS + 1);
  const ys = new Float64Array(PARTS + 1);
  /** The part looked at, written in place. */
  const cell = { west: 0.5, south: 0.5, east: 0.5, north: 0.5 };
  let reduced = new Uint32Array(512);

  function lookAt(column: number, row: number): Cell {
    cell.west = xs[column] as number;
    cell.south = ys[row] as number;
    cell.east = xs[column + 1] as number;
    cell.north = ys[row + 1] as number;
    return cell;
  }

  /** Marks the parts that the edge from vertex `a` to `b`, `alone` in its list, may meet. There are millions of edges: it makes no object. */
  function markEdge(alone: RingList, a: number, b: number): void {
    const { xy } = alone;
    const ax = xy[a * 2] as number;
    const ay = xy[a * 2 + 1] as number;
    const bx = xy[b * 2] as number;
    const by = xy[b * 2 + 1] as number;
    const east = lastReached(xs, Math.max(ax, bx));
    const north = lastReached(ys, Math.max(ay, by));
    const west = firstReached(xs, Math.min(ax, bx));
    const south = firstReached(ys, Math.min(ay, by));
    const isLong = east > west && north > south;
    edge[0] = (a | RING_START) >>> 0;
    edge[1] = b;
    for (let row = south; row <= north; row++)
      for (let column = west; column <= east; column++)
        if (!isLong || mayTouchCell(alone, lookAt(column, row))) parts[row * PARTS + column] = BORDER;
  }

  function markBorders({ xy, list, from, to }: RingList): void {
    const alone = { xy, list: edge, from: 0, to: 2 };
    let first = from;
    for (let i = from; i < to; i++) {
      if ((list[i] as number) >= RING_START) first = i;
      const endsRing = i + 1 === to || (list[i + 1] as number) >= RING_START;
      markEdge(alone, (list[i] as number) & VERTEX_MASK, (list[endsRing ? first : i + 1] as number) & VERTEX_MASK);
    }
  }

  function centreCovered(rings: RingList, of: Cell): boolean {
    if (reduced.length < rings.to - rings.from) reduced = new Uint32Array(rings.to - rings.from);
    const to = clipRings(rings, of, reduced, 0);
    const coordinates = toCoordinates({ xy: rings.xy, list: reduced, from: 0, to });
    return to > 0 && covers(coordinates, (of.west + of.east) / 2, (of.south + of.north) / 2);
  }

  /** Parts that touch along a side and are free of borders are all inside or all outside. */
  function spread(start: number, state: number): void {
    const open = [start];
    parts[start] = state;
    for (let part = open.pop(); part !== undefined; part = open.pop()) {
      const column = part % PARTS;
      for (let side = 0; side < 4; side++) {
        if ((side === 2 && column === 0) || (side === 3 && column === PARTS - 1)) continue;
        const next = part + (BESIDE[side] as number);
        if (parts[next] !== UNKNOWN) continue;
        parts[next] = state;
        open.push(next);
      }
    }
  }

  return (rings, box) => {
    parts.fill(UNKNOWN);
    rule(xs, box.west, box.east);
    rule(ys, box.south, box.north);
    markBorders(rings);
    for (let part = 0; part < parts.length; part++) {
      if (parts[part] !== UNKNOWN) continue;
      spread(part, centreCovered(rings, lookAt(part % PARTS, Math.floor(part / PARTS))) ? INSIDE : OUTSIDE);
    }
    return parts;
  };
}
