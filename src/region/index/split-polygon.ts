/** Splits a polygon into pieces of few vertices that answer exactly as the whole does within their cells. Stores nothing. */

import type { PolygonRings } from '../geojson/ring-buffer.ts';
import { tooLargeError } from '../map-failure.ts';
import { ceilToGrid, floorToGrid, type GridBox } from './cell-grid.ts';
import { clipRings, RING_START, type RingList, toCell } from './clip.ts';
import { BORDER, type Covers, createSurveyor, OUTSIDE } from './coverage-mask.ts';
import { MAX_PIECE_VERTICES } from './vertex-codec.ts';

/** One cell of a polygon with its reduced rings, valid until the next piece is asked for. */
export interface Piece extends RingList {
  readonly box: GridBox;
  /** Of each part of the cell, see `survey`. */
  readonly survey: Uint8Array;
  /** No border passes: every point of the cell is inside. */
  readonly isInterior: boolean;
}

/** At 64 the index grows by a tenth, at 512 a lookup takes five times as long. */
const PIECE_VERTICES = 128;
/** Two halves with more than this share of the whole are not worth having: long parallel edges, or many at one point. */
const MAX_SPLIT_GROWTH = 1.5;

interface PendingCell {
  readonly box: GridBox;
  readonly from: number;
  readonly to: number;
}

function computeBox({ xy, vertexCount: vertices }: PolygonRings): GridBox {
  let west = Infinity;
  let south = Infinity;
  let east = -Infinity;
  let north = -Infinity;
  for (let i = 0; i < vertices * 2; i += 2) {
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

/** The work of splitting, with a list of vertex numbers that is used again for every polygon. */
export function createSplitter(covers: Covers): (polygon: PolygonRings) => Generator<Piece, void, void> {
  const surveyOf = createSurveyor(covers);
  let list = new Uint32Array(1 << 14);

  function reserve(size: number): void {
    if (size <= list.length) return;
    const larger = new Uint32Array(Math.max(size, list.length + (list.length >> 1)));
    larger.set(list);
    list = larger;
  }

  function listVertices({ vertexCount: vertices, ringStarts: starts, ringCount: rings }: PolygonRings): number {
    reserve(vertices);
    for (let i = 0; i < vertices; i++) list[i] = i;
    for (let i = 0; i < rings; i++) list[starts[i] as number] = ((starts[i] as number) | RING_START) >>> 0;
    return vertices;
  }

  /** Both halves, written one after the other from `at` on. */
  function clipHalves(
    xy: Float64Array,
    cell: PendingCell,
    axis: Axis,
    at: number,
  ): readonly [PendingCell, PendingCell] {
    reserve(at + 2 * (cell.to - cell.from));
    const [low, high] = halveBox(cell.box, axis);
    const middle = clipRings({ xy, list, from: cell.from, to: cell.to }, toCell(low), list, at);
    const end = clipRings({ xy, list, from: cell.from, to: cell.to }, toCell(high), list, middle);
    return [
      { box: low, from: at, to: middle },
      { box: high, from: middle, to: end },
    ];
  }

  /** The halves that replace a cell, moved down to its place in the list; undefined when none are worth it. */
  function splitCell(xy: Float64Array, cell: PendingCell): readonly [PendingCell, PendingCell] | undefined {
    const size = cell.to - cell.from;
    if (size <= PIECE_VERTICES) return undefined;
    const longer: Axis = measureSide(cell.box, 'x') >= measureSide(cell.box, 'y') ? 'x' : 'y';
    for (const axis of longer === 'x' ? (['x', 'y'] as const) : (['y', 'x'] as const)) {
      if (measureSide(cell.box, axis) < 2) continue;
      const [low, high] = clipHalves(xy, cell, axis, cell.to);
      if (high.to - low.from > MAX_SPLIT_GROWTH * size) continue;
      list.copyWithin(cell.from, low.from, high.to);
      const shift = size;
      return [
        { ...low, from: low.from - shift, to: low.to - shift },
        { ...high, from: high.from - shift, to: high.to - shift },
      ];
    }
    return undefined;
  }

  return function* pieces(polygon) {
    const { xy } = polygon;
    const pending: PendingCell[] = [{ box: computeBox(polygon), from: 0, to: listVertices(polygon) }];
    for (let cell = pending.pop(); cell !== undefined; cell = pending.pop()) {
      if (cell.to === cell.from) continue;
      const parts = splitCell(xy, cell);
      if (parts !== undefined) {
        pending.push(...parts);
        continue;
      }
      const { box, from, to } = cell;
      if (to - from > MAX_PIECE_VERTICES)
        throw tooLargeError(`a polygon has a part of more than ${MAX_PIECE_VERTICES} vertices that cannot be divided`);
      const survey = surveyOf({ xy, list, from, to }, box);
      const whole = !survey.includes(BORDER);
      if (whole && survey[0] === OUTSIDE) continue;
      yield { box, survey, isInterior: whole, xy, list, from, to };
    }
  };
}
