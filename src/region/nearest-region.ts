/** Finds the region whose border is nearest to a place outside all regions: a hint for a person, never an answer. */

import type { Disk } from '../domain/ports.ts';
import type { Kilometre, Place } from '../domain/units.ts';
import { type Cell, toCell, toCoordinates } from './index/clip.ts';
import { countParts, countRows, decodeRow, NAMES_PER_BLOCK, ROW_WORDS } from './index/index-layout.ts';
import { type IndexFile, openIndex, readNameBlock } from './index/index-reader.ts';
import { createPartReader } from './index/part-reader.ts';
import { createVertexDecoder } from './index/vertex-codec.ts';
import { MapError } from './map-failure.ts';

const RADIANS_PER_DEGREE = Math.PI / 180;
const EARTH_RADIUS_KM = 6_371.0088;
/** Over so many degrees of a straight line on the map the distance from a point has one valley. */
const MAX_ONE_MINIMUM = 1;
/** Each leaves two thirds of the line: a degree becomes a metre. */
const SEARCH_ROUNDS = 28;

export interface NearestRegion {
  readonly region: string;
  readonly distance: Kilometre;
}

type Point = readonly [longitude: number, latitude: number];
type Edge = readonly [Point, Point];

/** At the centre of the earth. */
function computeAngle([ax, ay]: Point, [bx, by]: Point): number {
  const north = Math.sin(((by - ay) * RADIANS_PER_DEGREE) / 2);
  const east = Math.sin(((bx - ax) * RADIANS_PER_DEGREE) / 2);
  const shrink = Math.sqrt(Math.cos(ay * RADIANS_PER_DEGREE) * Math.cos(by * RADIANS_PER_DEGREE));
  return 2 * Math.asin(Math.min(1, Math.hypot(north, east * shrink)));
}

/** No point of the cell is nearer: on the way to it lie its latitude and one of its meridians. */
function computeLeastAngle([x, y]: Point, { west, south, east, north }: Cell): number {
  const beside = [x - 360, x, x + 360].map((turned) => Math.max(0, west - turned, turned - east));
  const across = Math.asin(Math.sin(Math.min(90, ...beside) * RADIANS_PER_DEGREE) * Math.cos(y * RADIANS_PER_DEGREE));
  return Math.max(across, Math.max(0, south - y, y - north) * RADIANS_PER_DEGREE);
}

/** The part of an edge within its cell; beyond it a piece has lines that are no borders. */
function clipEdge([[ax, ay], [bx, by]]: Edge, { west, south, east, north }: Cell): Edge | undefined {
  const [dx, dy] = [bx - ax, by - ay];
  const steps = [-dx, dx, -dy, dy];
  const distances = [ax - west, east - ax, ay - south, north - ay];
  if (steps.some((step, i) => step === 0 && (distances[i] as number) < 0)) return undefined;
  const shares = steps.map((step, i) => (distances[i] as number) / step);
  const from = Math.max(0, ...shares.filter((_, i) => (steps[i] as number) < 0));
  const to = Math.min(1, ...shares.filter((_, i) => (steps[i] as number) > 0));
  if (from > to) return undefined;
  return [
    [ax + dx * from, ay + dy * from],
    [ax + dx * to, ay + dy * to],
  ];
}

/** The least angle to an edge, or `best` where that is no nearer. */
function computeAngleToEdge(place: Point, [a, b]: Edge, best: number): number {
  const pointAt = (share: number): Point => [a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share];
  const length = Math.hypot(b[0] - a[0], b[1] - a[1]);
  const middle = pointAt(0.5);
  if (computeAngle(place, middle) - (length / 2) * RADIANS_PER_DEGREE >= best) return best;
  if (length > MAX_ONE_MINIMUM)
    return computeAngleToEdge(place, [middle, b], computeAngleToEdge(place, [a, middle], best));
  let [low, high] = [0, 1];
  for (let round = 0; round < SEARCH_ROUNDS; round++) {
    const third = (high - low) / 3;
    if (computeAngle(place, pointAt(low + third)) < computeAngle(place, pointAt(high - third))) high -= third;
    else low += third;
  }
  return Math.min(best, computeAngle(place, pointAt((low + high) / 2)));
}

function searchNearest(index: IndexFile, { longitude, latitude }: Place): NearestRegion | undefined {
  const { header } = index;
  const parts = createPartReader(index);
  const place: Point = [longitude, latitude];

  const readRows = (page: number) => {
    const at = parts.locatePage(page);
    return Array.from({ length: countRows(header, page) }, (_, i) => {
      const row = decodeRow(parts.words(), at + i * ROW_WORDS);
      const cell = toCell(row.box);
      return { row, cell, least: computeLeastAngle(place, cell) };
    });
  };
  const pieces = Array.from({ length: countParts(header).pages }, (_, page) => readRows(page))
    .flat()
    .filter(({ row }) => row.length > 0)
    .sort((a, b) => a.least - b.least);

  const decodeRings = createVertexDecoder();
  let best = Number.POSITIVE_INFINITY;
  let nearest: number | undefined;
  for (const { row, cell, least } of pieces) {
    if (least >= best) break;
    for (const ring of toCoordinates(decodeRings(parts.readRings(row))))
      for (const [i, b] of ring.entries()) {
        const edge = clipEdge([ring[i - 1] ?? b, b], cell);
        const angle = edge === undefined ? best : computeAngleToEdge(place, edge, best);
        if (angle < best) [best, nearest] = [angle, row.feature];
      }
  }
  if (nearest === undefined) return undefined;
  const [region] = readNameBlock(index, Math.floor(nearest / NAMES_PER_BLOCK))[nearest % NAMES_PER_BLOCK] ?? [];
  return region === undefined ? undefined : { region, distance: (best * EARTH_RADIUS_KM) as Kilometre };
}

/** Undefined without a usable map, and for one without a border. Rejects with `DiskError`. */
export async function findNearestRegion(
  disk: Disk,
  signalType: string,
  place: Place,
): Promise<NearestRegion | undefined> {
  const index = await openIndex(disk, signalType);
  if (index === undefined || 'kind' in index) return undefined;
  try {
    return searchNearest(index, place);
  } catch (error) {
    if (error instanceof MapError) return undefined;
    throw error;
  } finally {
    await index.file.close();
  }
}
