/** Splits a polygon into pieces of few vertices that answer exactly like the whole within their cells. */

import { buildMapTooLargeError } from '../map-failure.ts';
import { ceilToGrid, floorToGrid, type GridBox } from './cell-grid.ts';
import { CellClip, clipRings, getClipRoom, mayTouchCell, RING_START, type RingList, toCell } from './clip.ts';
import { createPointTest } from './point-test.ts';
import { BLOCK_VERTICES, computeExtent, PolygonReader, type PolygonRings } from './polygon-rings.ts';
import { MAX_PIECE_VERTICES } from './vertex-codec.ts';

/** One cell of a polygon with the rings clipped to it, valid until the next piece. */
export interface Piece extends RingList {
  readonly box: GridBox;
  /** No border passes: every point of the cell is inside. */
  readonly isInterior: boolean;
}

/** At 128 the index is a seventh smaller and a lookup almost twice as slow. */
const PIECE_VERTICES = 72;
/** Two halves with more than this share of the whole are not worth having: long parallel edges, or many at one point. */
const MAX_SPLIT_GROWTH = 1.5;

/** From here on a cell of a packed polygon has no list of its own: the rings of its halves are clipped from the polygon itself. */
const MAX_LISTED_VERTICES = 1 << 14;

interface PendingCell {
  readonly box: GridBox;
  readonly from: number;
  /** Where its list ends; `from` for a cell without one. */
  readonly to: number;
  /** Vertices of a cell without a list. */
  readonly unlisted?: number;
}

function toGridBox(polygon: PolygonRings): GridBox {
  const { west, south, east, north } = computeExtent(polygon);
  return { west: floorToGrid(west), south: floorToGrid(south), east: ceilToGrid(east), north: ceilToGrid(north) };
}

const buildIndivisibleError = () =>
  buildMapTooLargeError(`a polygon has a part of more than ${MAX_PIECE_VERTICES} vertices that cannot be divided`);

type Axis = 'x' | 'y';

const measureSide = (box: GridBox, axis: Axis) => (axis === 'x' ? box.east - box.west : box.north - box.south);

/** The sides that can be halved, the longer first. */
function listAxes(box: GridBox): readonly Axis[] {
  const axes: readonly Axis[] = measureSide(box, 'x') >= measureSide(box, 'y') ? ['x', 'y'] : ['y', 'x'];
  return axes.filter((axis) => measureSide(box, axis) >= 2);
}

function halveBox(box: GridBox, axis: Axis): readonly [GridBox, GridBox] {
  if (axis === 'x') {
    const middle = Math.floor((box.west + box.east) / 2);
    return [
      { ...box, east: middle },
      { ...box, west: middle },
    ];
  }
  const middle = Math.floor((box.south + box.north) / 2);
  return [
    { ...box, north: middle },
    { ...box, south: middle },
  ];
}

/** Splits one polygon after the other in a list of vertex numbers that is used again: the cells not yet finished, one after the other. */
class PolygonSplitter {
  #list = new Uint32Array(1 << 14);
  /** Those of the listed vertices of a packed polygon, at the places of their entries. */
  #positions = new Float64Array(0);
  readonly #reader = new PolygonReader();
  readonly #covers = createPointTest();

  #reserve(size: number): void {
    if (size <= this.#list.length) return;
    const larger = new Uint32Array(Math.max(size, this.#list.length + (this.#list.length >> 1)));
    larger.set(this.#list);
    this.#list = larger;
  }

  #fill({ vertexCount, ringStarts, ringCount }: PolygonRings): void {
    this.#reserve(vertexCount);
    for (let i = 0; i < vertexCount; i++) this.#list[i] = i;
    for (let i = 0; i < ringCount; i++) {
      const start = ringStarts[i] as number;
      this.#list[start] = (start | RING_START) >>> 0;
    }
  }

  /** The halves that replace a cell, the rings of both in its place in the list; undefined when none are worth it. */
  #halve(xy: Float64Array, { box, from, to }: PendingCell): readonly PendingCell[] | undefined {
    const size = to - from;
    if (size <= PIECE_VERTICES) return undefined;
    this.#reserve(to + 2 * size);
    const list = this.#list;
    for (const axis of listAxes(box)) {
      const [low, high] = halveBox(box, axis);
      const middle = clipRings({ xy, list, from, to }, toCell(low), list, to);
      const end = clipRings({ xy, list, from, to }, toCell(high), list, middle);
      if (end - to > MAX_SPLIT_GROWTH * size) continue;
      list.copyWithin(from, to, end);
      return [
        { box: low, from, to: middle - size },
        { box: high, from: middle - size, to: end - size },
      ];
    }
    return undefined;
  }

  /** The halves of a cell without a list: with one each, and the positions for it, as soon as that is short enough. */
  #halveUnlisted(polygon: PolygonRings, { box, from, unlisted = 0 }: PendingCell): readonly PendingCell[] {
    const most = MAX_LISTED_VERTICES;
    const room = getClipRoom(most, BLOCK_VERTICES);
    this.#reserve(from + 2 * room);
    const out = this.#list;
    for (const axis of listAxes(box)) {
      const [low, high] = halveBox(box, axis);
      const lowClip = new CellClip(toCell(low), { out, at: from, most });
      const highClip = new CellClip(toCell(high), { out, at: from + room, most });
      this.#reader.clip(polygon, [lowClip, highClip]);
      const [lowCount, highCount] = [lowClip.finish(), highClip.finish()];
      if (lowCount + highCount > MAX_SPLIT_GROWTH * unlisted) continue;
      const middle = lowCount > most ? from : from + lowCount;
      if (highCount <= most) out.copyWithin(middle, from + room, from + room + highCount);
      return [this.#makeHalf(polygon, low, from, lowCount), this.#makeHalf(polygon, high, middle, highCount)];
    }
    throw buildIndivisibleError();
  }

  #makeHalf(polygon: PolygonRings, box: GridBox, from: number, count: number): PendingCell {
    if (count > MAX_LISTED_VERTICES) return { box, from, to: from, unlisted: count };
    const to = from + count;
    if (to * 2 > this.#positions.length) {
      // The system gives memory only as it is written, while an outgrown array stays until the garbage is collected.
      const larger = new Float64Array((to + MAX_LISTED_VERTICES) * 4);
      larger.set(this.#positions);
      this.#positions = larger;
    }
    this.#reader.copyListed(polygon, this.#list, { from, to }, this.#positions);
    return { box, from, to };
  }

  /** Undefined outside of the polygon. */
  #makePiece(xy: Float64Array, { box, from, to }: PendingCell): Piece | undefined {
    if (to - from > MAX_PIECE_VERTICES) throw buildIndivisibleError();
    const rings = { xy, list: this.#list, from, to };
    const cell = toCell(box);
    const isInterior = !mayTouchCell(rings, cell);
    if (isInterior && !this.#covers(rings, (cell.west + cell.east) / 2, (cell.south + cell.north) / 2))
      return undefined;
    // Not spread: such objects outlive the young heap and cost an import 35 MB.
    return { xy, list: this.#list, from, to, box, isInterior };
  }

  #startCell(polygon: PolygonRings): PendingCell {
    const box = toGridBox(polygon);
    const { blocks, vertexCount } = polygon;
    if (blocks.length > 0) return { box, from: 0, to: 0, unlisted: vertexCount };
    this.#fill(polygon);
    return { box, from: 0, to: vertexCount };
  }

  *split(polygon: PolygonRings): Generator<Piece, void, void> {
    const pending: PendingCell[] = [this.#startCell(polygon)];
    for (let cell = pending.pop(); cell !== undefined; cell = pending.pop()) {
      if (cell.unlisted !== undefined) {
        pending.push(...this.#halveUnlisted(polygon, cell));
        continue;
      }
      if (cell.to === cell.from) continue;
      const xy = polygon.blocks.length > 0 ? this.#positions : polygon.xy;
      const halves = this.#halve(xy, cell);
      if (halves !== undefined) pending.push(...halves);
      else {
        const piece = this.#makePiece(xy, cell);
        if (piece !== undefined) yield piece;
      }
    }
  }
}

export function createSplitter(): (polygon: PolygonRings) => Generator<Piece, void, void> {
  const splitter = new PolygonSplitter();
  return (polygon) => splitter.split(polygon);
}
