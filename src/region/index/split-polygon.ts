/** Splits a polygon into pieces of few vertices that answer exactly as the whole does within their cells. */

import type { PolygonRings } from '../geojson/ring-buffer.ts';
import { tooLargeError } from '../map-failure.ts';
import { ceilToGrid, floorToGrid, type GridBox } from './cell-grid.ts';
import { clipRings, mayTouchCell, RING_START, type RingList, toCell } from './clip.ts';
import { createPointTest } from './point-test.ts';
import { MAX_PIECE_VERTICES } from './vertex-codec.ts';

/** One cell of a polygon with the rings clipped to it, valid until the next piece is asked for. */
export interface Piece extends RingList {
  readonly box: GridBox;
  /** No border passes: every point of the cell is inside. */
  readonly isInterior: boolean;
}

/** At 128 the index is a tenth smaller and a lookup takes almost twice as long. */
const PIECE_VERTICES = 64;
/** Two halves with more than this share of the whole are not worth having: long parallel edges, or many at one point. */
const MAX_SPLIT_GROWTH = 1.5;

interface PendingCell {
  readonly box: GridBox;
  readonly from: number;
  readonly to: number;
}

function computeBox({ xy, vertexCount }: PolygonRings): GridBox {
  let [west, south, east, north] = [Infinity, Infinity, -Infinity, -Infinity];
  for (let i = 0; i < vertexCount * 2; i += 2) {
    const x = xy[i] as number;
    const y = xy[i + 1] as number;
    if (x < west) west = x;
    if (x > east) east = x;
    if (y < south) south = y;
    if (y > north) north = y;
  }
  return { west: floorToGrid(west), south: floorToGrid(south), east: ceilToGrid(east), north: ceilToGrid(north) };
}

type Axis = 'x' | 'y';

const measureSide = (box: GridBox, axis: Axis) => (axis === 'x' ? box.east - box.west : box.north - box.south);

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

/** A list of vertex numbers that is used again for every polygon: the cells not yet finished, one after the other. */
class VertexList {
  list = new Uint32Array(1 << 14);

  reserve(size: number): void {
    if (size <= this.list.length) return;
    const larger = new Uint32Array(Math.max(size, this.list.length + (this.list.length >> 1)));
    larger.set(this.list);
    this.list = larger;
  }

  fill({ vertexCount, ringStarts, ringCount }: PolygonRings): void {
    this.reserve(vertexCount);
    for (let i = 0; i < vertexCount; i++) this.list[i] = i;
    for (let i = 0; i < ringCount; i++) {
      const start = ringStarts[i] as number;
      this.list[start] = (start | RING_START) >>> 0;
    }
  }

  /** Both halves, written one after the other from `at` on. */
  clipHalves(xy: Float64Array, { box, from, to }: PendingCell, axis: Axis, at: number) {
    this.reserve(at + 2 * (to - from));
    const { list } = this;
    const [low, high] = halveBox(box, axis);
    const middle = clipRings({ xy, list, from, to }, toCell(low), list, at);
    const end = clipRings({ xy, list, from, to }, toCell(high), list, middle);
    return { low: { box: low, from: at, to: middle }, high: { box: high, from: middle, to: end } };
  }

  /** The halves that replace a cell, moved down to its place in the list; undefined when none are worth it. */
  split(xy: Float64Array, cell: PendingCell): readonly [PendingCell, PendingCell] | undefined {
    const size = cell.to - cell.from;
    if (size <= PIECE_VERTICES) return undefined;
    const longerFirst: readonly Axis[] =
      measureSide(cell.box, 'x') >= measureSide(cell.box, 'y') ? ['x', 'y'] : ['y', 'x'];
    for (const axis of longerFirst) {
      if (measureSide(cell.box, axis) < 2) continue;
      const { low, high } = this.clipHalves(xy, cell, axis, cell.to);
      if (high.to - low.from > MAX_SPLIT_GROWTH * size) continue;
      this.list.copyWithin(cell.from, low.from, high.to);
      return [
        { ...low, from: low.from - size, to: low.to - size },
        { ...high, from: high.from - size, to: high.to - size },
      ];
    }
    return undefined;
  }
}

export function createSplitter(): (polygon: PolygonRings) => Generator<Piece, void, void> {
  const vertices = new VertexList();
  const covers = createPointTest();

  return function* split(polygon) {
    const { xy } = polygon;
    vertices.fill(polygon);
    const pending: PendingCell[] = [{ box: computeBox(polygon), from: 0, to: polygon.vertexCount }];
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      if (next.to === next.from) continue;
      const halves = vertices.split(xy, next);
      if (halves !== undefined) {
        pending.push(...halves);
        continue;
      }
      const { box, from, to } = next;
      if (to - from > MAX_PIECE_VERTICES)
        throw tooLargeError(`a polygon has a part of more than ${MAX_PIECE_VERTICES} vertices that cannot be divided`);
      const rings = { xy, list: vertices.list, from, to };
      const cell = toCell(box);
      const isInterior = !mayTouchCell(rings, cell);
      if (isInterior && !covers(rings, (cell.west + cell.east) / 2, (cell.south + cell.north) / 2)) continue;
      yield { ...rings, box, isInterior };
    }
  };
}
