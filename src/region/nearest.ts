/** Finds the region whose border lies nearest to a place outside of all: a hint for a person, never an answer. Nothing that looks up loads it. */

import type { Kilometre, Place } from '../units.ts';
import type { Disk } from '../world.ts';
import { createUnpacker } from './blob.ts';
import { type Cell, cellOf, ringsOf } from './cell.ts';
import { MapError } from './failure.ts';
import { type Held, openHeld, readNames } from './held.ts';
import { BLOCK_NAMES, countsOf, PAGE_PIECES, ROW, ROW_WORDS } from './layout.ts';
import { createParts } from './lookup.ts';

const RADIAN = Math.PI / 180;
const EARTH_RADIUS = 6_371.0088;
/** Over so many degrees of a straight line on the map the distance from a point has one valley. */
const ONE_VALLEY = 1;
/** Each leaves two thirds of the line: a degree becomes a metre. */
const ROUNDS = 28;

export interface Nearest {
  readonly region: string;
  readonly away: Kilometre;
}

type Point = readonly [longitude: number, latitude: number];
type Edge = readonly [Point, Point];

/** At the centre of the earth. */
function angleBetween([ax, ay]: Point, [bx, by]: Point): number {
  const [north, east] = [Math.sin(((by - ay) * RADIAN) / 2), Math.sin(((bx - ax) * RADIAN) / 2)];
  return 2 * Math.asin(Math.min(1, Math.hypot(north, east * Math.sqrt(Math.cos(ay * RADIAN) * Math.cos(by * RADIAN)))));
}

/** No point of the cell is nearer: on the way to it lie its latitude and one of its meridians. */
function leastAngle([x, y]: Point, { west, south, east, north }: Cell): number {
  const beside = [x - 360, x, x + 360].map((turned) => Math.max(0, west - turned, turned - east));
  const across = Math.asin(Math.sin(Math.min(90, ...beside) * RADIAN) * Math.cos(y * RADIAN));
  return Math.max(across, Math.max(0, south - y, y - north) * RADIAN);
}

/** The part of an edge within its cell; beyond it a piece has lines that are no borders. */
function clipped([[ax, ay], [bx, by]]: Edge, { west, south, east, north }: Cell): Edge | undefined {
  const [dx, dy] = [bx - ax, by - ay];
  const steps = [-dx, dx, -dy, dy];
  const rooms = [ax - west, east - ax, ay - south, north - ay];
  if (steps.some((step, i) => step === 0 && (rooms[i] as number) < 0)) return undefined;
  const shares = steps.map((step, i) => (rooms[i] as number) / step);
  const from = Math.max(0, ...shares.filter((_, i) => (steps[i] as number) < 0));
  const to = Math.min(1, ...shares.filter((_, i) => (steps[i] as number) > 0));
  if (from > to) return undefined;
  return [
    [ax + dx * from, ay + dy * from],
    [ax + dx * to, ay + dy * to],
  ];
}

/** The least angle to an edge, or `best` where that is no nearer. */
function angleToEdge(place: Point, [a, b]: Edge, best: number): number {
  const pointAt = (share: number): Point => [a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share];
  const length = Math.hypot(b[0] - a[0], b[1] - a[1]);
  const middle = pointAt(0.5);
  if (angleBetween(place, middle) - (length / 2) * RADIAN >= best) return best;
  if (length > ONE_VALLEY) return angleToEdge(place, [middle, b], angleToEdge(place, [a, middle], best));
  let [low, high] = [0, 1];
  for (let round = 0; round < ROUNDS; round++) {
    const third = (high - low) / 3;
    if (angleBetween(place, pointAt(low + third)) < angleBetween(place, pointAt(high - third))) high -= third;
    else low += third;
  }
  return Math.min(best, angleBetween(place, pointAt((low + high) / 2)));
}

function nearestIn(held: Held, { longitude, latitude }: Place): Nearest | undefined {
  const { header } = held;
  const { ring, page, blob } = createParts(held);
  const place: Point = [longitude, latitude];

  const rowsOf = (nth: number) => {
    const [at, signed, words] = [page(nth), ring.signed(), ring.words()];
    return Array.from({ length: Math.min(PAGE_PIECES, header.pieces - nth * PAGE_PIECES) }, (_, i) => {
      const sideAt = (column: number) => signed[at + i * ROW_WORDS + column] as number;
      const wordAt = (column: number) => words[at + i * ROW_WORDS + column] as number;
      const [west, south] = [sideAt(ROW.west), sideAt(ROW.south)];
      const cell = cellOf({ west, south, east: sideAt(ROW.east), north: sideAt(ROW.north) });
      const [feature, offset, length] = [wordAt(ROW.feature), wordAt(ROW.offset), wordAt(ROW.length)];
      return { cell, least: leastAngle(place, cell), feature, offset, length };
    });
  };
  const pieces = Array.from({ length: countsOf(header).pages }, (_, nth) => rowsOf(nth))
    .flat()
    .filter(({ length }) => length > 0)
    .sort((a, b) => a.least - b.least);

  const unpack = createUnpacker();
  let best = Number.POSITIVE_INFINITY;
  let nearest: number | undefined;
  for (const { cell, least, feature, offset, length } of pieces) {
    if (least >= best) break;
    for (const ring of ringsOf(unpack(blob(offset, length))))
      for (const [i, b] of ring.entries()) {
        const edge = clipped([ring[i - 1] ?? b, b], cell);
        const angle = edge === undefined ? best : angleToEdge(place, edge, best);
        if (angle < best) [best, nearest] = [angle, feature];
      }
  }
  if (nearest === undefined) return undefined;
  const [region] = readNames(held, Math.floor(nearest / BLOCK_NAMES))[nearest % BLOCK_NAMES] ?? [];
  return region === undefined ? undefined : { region, away: (best * EARTH_RADIUS) as Kilometre };
}

/** Undefined when no whole map is held, or one without a border. Rejects with `DiskError`. */
export async function nearestRegion(disk: Disk, signalType: string, place: Place): Promise<Nearest | undefined> {
  const held = await openHeld(disk, signalType);
  if (held === undefined || 'kind' in held) return undefined;
  try {
    return nearestIn(held, place);
  } catch (error) {
    if (error instanceof MapError) return undefined;
    throw error;
  } finally {
    await held.file.close();
  }
}
