/** Splits a polygon into pieces of few vertices that answer exactly as the whole does within their cells. Stores nothing. */

import type { Arena } from './arena.ts';
import { MOST_VERTICES } from './blob.ts';
import { cellOf, RING, type RingList, reduce } from './cell.ts';
import { tooLarge } from './failure.ts';
import { type Box, lineAbove, lineBelow } from './grid.ts';
import { BORDER, type Covers, createSurveyor, OUTSIDE } from './survey.ts';

/** One cell of a polygon with its reduced rings, valid until the next piece is asked for. */
export interface Piece extends RingList {
  readonly box: Box;
  /** Of each part of the cell, see `survey`. */
  readonly survey: Uint8Array;
  /** No border passes: every point of the cell is inside. */
  readonly whole: boolean;
}

/** At 64 the index grows by a tenth, at 512 a lookup takes five times as long. */
const PIECE_VERTICES = 128;
/** Two halves with more than this share of the whole are not worth having: long parallel edges, or many at one point. */
const WORTH = 1.5;

interface Pending {
  readonly box: Box;
  readonly from: number;
  readonly to: number;
}

function boxOf({ xy, vertices }: Arena): Box {
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
  return { west: lineBelow(west), south: lineBelow(south), east: lineAbove(east), north: lineAbove(north) };
}

type Axis = 'x' | 'y';

const lengthOn = (box: Box, axis: Axis) => (axis === 'x' ? box.east - box.west : box.north - box.south);

function halves(box: Box, axis: Axis): readonly [Box, Box] {
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
export function createSplitter(covers: Covers): (polygon: Arena) => Generator<Piece, void, void> {
  const surveyOf = createSurveyor(covers);
  let list = new Uint32Array(1 << 14);

  function reserve(size: number): void {
    if (size <= list.length) return;
    const larger = new Uint32Array(Math.max(size, list.length + (list.length >> 1)));
    larger.set(list);
    list = larger;
  }

  function allOf({ vertices, starts, rings }: Arena): number {
    reserve(vertices);
    for (let i = 0; i < vertices; i++) list[i] = i;
    for (let i = 0; i < rings; i++) list[starts[i] as number] = ((starts[i] as number) | RING) >>> 0;
    return vertices;
  }

  /** Both halves, written one after the other from `at` on. */
  function cut(xy: Float64Array, whole: Pending, axis: Axis, at: number): readonly [Pending, Pending] {
    reserve(at + 2 * (whole.to - whole.from));
    const [low, high] = halves(whole.box, axis);
    const middle = reduce({ xy, list, from: whole.from, to: whole.to }, cellOf(low), list, at);
    const end = reduce({ xy, list, from: whole.from, to: whole.to }, cellOf(high), list, middle);
    return [
      { box: low, from: at, to: middle },
      { box: high, from: middle, to: end },
    ];
  }

  /** The halves that replace a cell, moved down to its place in the list; undefined when none are worth it. */
  function split(xy: Float64Array, whole: Pending): readonly [Pending, Pending] | undefined {
    const size = whole.to - whole.from;
    if (size <= PIECE_VERTICES) return undefined;
    const longer: Axis = lengthOn(whole.box, 'x') >= lengthOn(whole.box, 'y') ? 'x' : 'y';
    for (const axis of longer === 'x' ? (['x', 'y'] as const) : (['y', 'x'] as const)) {
      if (lengthOn(whole.box, axis) < 2) continue;
      const [low, high] = cut(xy, whole, axis, whole.to);
      if (high.to - low.from > WORTH * size) continue;
      list.copyWithin(whole.from, low.from, high.to);
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
    const pending: Pending[] = [{ box: boxOf(polygon), from: 0, to: allOf(polygon) }];
    for (let cell = pending.pop(); cell !== undefined; cell = pending.pop()) {
      if (cell.to === cell.from) continue;
      const parts = split(xy, cell);
      if (parts !== undefined) {
        pending.push(...parts);
        continue;
      }
      const { box, from, to } = cell;
      if (to - from > MOST_VERTICES)
        throw tooLarge(`a polygon has a part of more than ${MOST_VERTICES} vertices that cannot be divided`);
      const survey = surveyOf({ xy, list, from, to }, box);
      const whole = !survey.includes(BORDER);
      if (whole && survey[0] === OUTSIDE) continue;
      yield { box, survey, whole, xy, list, from, to };
    }
  };
}
