/** Restricts rings to a cell without computing a coordinate: the answer for every point of the closed cell stays the same. */

import { type GridBox, toDegrees } from './cell-grid.ts';

/** Marks the first vertex of a ring in a list of vertex numbers. */
export const RING_START = 0x8000_0000;
export const VERTEX_MASK = 0x7fff_ffff;

const WEST = 1;
const EAST = 2;
const SOUTH = 4;
const NORTH = 8;
const ALL_SIDES = 15;

/** A closed cell in degrees. A single point is a cell too. */
export interface Cell {
  readonly west: number;
  readonly south: number;
  readonly east: number;
  readonly north: number;
}

export const toCell = ({ west, south, east, north }: GridBox): Cell => ({
  west: toDegrees(west),
  south: toDegrees(south),
  east: toDegrees(east),
  north: toDegrees(north),
});

/** Which sides of the cell the point lies strictly beyond. */
const computeOutcode = ({ west, south, east, north }: Cell, x: number, y: number): number =>
  (x < west ? WEST : x > east ? EAST : 0) | (y < south ? SOUTH : y > north ? NORTH : 0);

/** Rings as vertex numbers `list[from, to)` into `xy`, the first of each ring marked. */
export interface RingList {
  readonly xy: Float64Array;
  readonly list: Uint32Array;
  readonly from: number;
  readonly to: number;
}

/** Where the clipping of rings stands: between two calls only while a ring is under way. */
interface ClipState {
  /** Behind the last entry written, and where the present ring begins. */
  end: number;
  ring: number;
  /** Sides beyond which all vertices of the ring lie so far, and those of the present run. */
  common: number;
  runCommon: number;
  runLast: number;
  isRunLong: boolean;
}

const createClipState = (at: number): ClipState => ({
  end: at,
  ring: at,
  common: ALL_SIDES,
  runCommon: 0,
  runLast: 0,
  isRunLong: false,
});

/** Clips further entries of the rings, the first position being that of vertex `offset`; any number of calls may follow each other. */
function clipEntries(
  state: ClipState,
  { xy, list, from, to }: RingList,
  cell: Cell,
  out: Uint32Array,
  offset: number,
): void {
  let { end, ring, common, runCommon, runLast, isRunLong } = state;

  for (let i = from; i < to; i++) {
    const entry = list[i] as number;
    const position = (entry & VERTEX_MASK) * 2;
    const vertex = (entry & VERTEX_MASK) + offset;
    const beyond = computeOutcode(cell, xy[position] as number, xy[position + 1] as number);
    if (entry >= RING_START) {
      if (isRunLong) out[end++] = runLast;
      if (common !== 0) end = ring;
      else out[ring] = (out[ring] as number) | RING_START;
      ring = end;
      common = ALL_SIDES;
      runCommon = 0;
      isRunLong = false;
    }
    common &= beyond;
    if ((runCommon & beyond) !== 0) {
      runCommon &= beyond;
      runLast = vertex;
      isRunLong = true;
      continue;
    }
    if (isRunLong) out[end++] = runLast;
    isRunLong = false;
    runCommon = beyond;
    out[end++] = vertex;
  }
  // One by one: an object to copy from would be garbage of every cell.
  state.end = end;
  state.ring = ring;
  state.common = common;
  state.runCommon = runCommon;
  state.runLast = runLast;
  state.isRunLong = isRunLong;
}

/** Ends the last ring and gives the end of the list. */
function finishClip({ end, ring, common, runLast, isRunLong }: ClipState, out: Uint32Array): number {
  let last = end;
  if (isRunLong) out[last++] = runLast;
  if (common !== 0) return ring;
  if (last > ring) out[ring] = (out[ring] as number) | RING_START;
  return last;
}

/**
 * Copies rings to `out[at…)`, leaving out what does not matter to the cell, and gives the new end.
 *
 * A run of vertices that all lie beyond one side is replaced by its first and last: the segment between them stays in that
 * half-plane, which is convex and does not meet the cell, so winding and border are the same for every point of the cell.
 * A ring that lies beyond one side as a whole is dropped. Every edge that may meet the cell is kept with its own coordinates.
 */
export function clipRings(rings: RingList, cell: Cell, out: Uint32Array, at: number): number {
  const state = createClipState(at);
  clipEntries(state, rings, cell, out, 0);
  return finishClip(state, out);
}

/** Room that a clip needs behind `at` to keep `most` entries, when it is given `step` of them at a time. */
export const getClipRoom = (most: number, step: number) => most + 2 * step;

interface ClipSpace {
  readonly out: Uint32Array;
  readonly at: number;
  readonly most: number;
}

/** Clips rings that arrive in parts to one cell: `count` entries remain; they are in `out[at…)` unless they are more than `most`. */
export class CellClip {
  readonly cell: Cell;
  readonly #space: ClipSpace;
  readonly #state: ClipState;
  #dropped = 0;

  constructor(cell: Cell, space: ClipSpace) {
    this.cell = cell;
    this.#space = space;
    this.#state = createClipState(space.at);
  }

  /** Further entries; `first` is the number of the vertex at position 0. */
  add(rings: RingList, first: number): void {
    const { out, at, most } = this.#space;
    clipEntries(this.#state, rings, this.cell, out, first);
    if (this.#dropped === 0 && this.#state.end - at <= most) return;
    this.#dropped += this.#state.end - at;
    this.#state.end = at;
    this.#state.ring = at;
  }

  /** The count. */
  finish(): number {
    return this.#dropped + finishClip(this.#state, this.#space.out) - this.#space.at;
  }
}

/** Whether all of the box lies strictly beyond one side of the cell. */
export const isBeyond = (box: Cell, cell: Cell): boolean =>
  box.east < cell.west || box.west > cell.east || box.north < cell.south || box.south > cell.north;

/** Area units: far above the rounding of the products below (720² · 2^-52), far below any cell. */
const AREA_MARGIN = 1e-8;

/** Whether the line through both ends leaves all of the cell clearly on one side. */
function isCellOnOneSide(cell: Cell, ax: number, ay: number, bx: number, by: number): boolean {
  const dx = bx - ax;
  const dy = by - ay;
  const sw = dx * (cell.south - ay) - dy * (cell.west - ax);
  const se = dx * (cell.south - ay) - dy * (cell.east - ax);
  const nw = dx * (cell.north - ay) - dy * (cell.west - ax);
  const ne = dx * (cell.north - ay) - dy * (cell.east - ax);
  return Math.min(sw, se, nw, ne) > AREA_MARGIN || Math.max(sw, se, nw, ne) < -AREA_MARGIN;
}

/** Whether any edge may meet the closed cell; false is certain. */
export function mayTouchCell({ xy, list, from, to }: RingList, cell: Cell): boolean {
  let first = from;
  for (let i = from; i < to; i++) {
    if ((list[i] as number) >= RING_START) first = i;
    const endsRing = i + 1 === to || (list[i + 1] as number) >= RING_START;
    const a = (list[i] as number) & VERTEX_MASK;
    const b = (list[endsRing ? first : i + 1] as number) & VERTEX_MASK;
    const ax = xy[a * 2] as number;
    const ay = xy[a * 2 + 1] as number;
    const bx = xy[b * 2] as number;
    const by = xy[b * 2 + 1] as number;
    const beyondA = computeOutcode(cell, ax, ay);
    const beyondB = computeOutcode(cell, bx, by);
    if ((beyondA & beyondB) !== 0) continue;
    if (beyondA === 0 || beyondB === 0 || !isCellOnOneSide(cell, ax, ay, bx, by)) return true;
  }
  return false;
}

/** The rings of a list as GeoJSON coordinates, closed. */
export function toCoordinates({ xy, list, from, to }: RingList): [number, number][][] {
  const rings: [number, number][][] = [];
  for (let i = from; i < to; i++) {
    const entry = list[i] as number;
    if (entry >= RING_START) rings.push([]);
    const vertex = entry & VERTEX_MASK;
    rings.at(-1)?.push([xy[vertex * 2] as number, xy[vertex * 2 + 1] as number]);
  }
  for (const ring of rings) ring.push(ring[0] as [number, number]);
  return rings;
}
