/** Collects the rings of one polygon in reusable flat arrays and refuses invalid rings. */

import { formatCount } from '../../domain/units.ts';
import { MalformedError, tooLargeError } from '../map-failure.ts';

/** One polygon: rings without their repeated last vertex. */
export interface PolygonRings {
  /** Longitude and latitude of vertex `i` at `2 i` and `2 i + 1`. */
  xy: Float64Array;
  vertexCount: number;
  /** First vertex of each ring. */
  ringStarts: Uint32Array;
  ringCount: number;
}

export interface RingBuffer {
  readonly polygon: PolygonRings;
  clear(): void;
  startRing(): void;
  /** Checks the range: RFC 7946 counts to ±180, but rings over the antimeridian are seen that run on to ±360. */
  addVertex(position: Float64Array): void;
  endRing(): void;
  /** The widest gap of the polygon's rings, in degrees, when it is too wide to be closed. */
  readonly gap: number | undefined;
  /** Rings of all polygons that were closed. */
  readonly closedRings: number;
}

const INITIAL_VERTICES = 1 << 12;
/**
 * From here on room for all vertices is reserved at once: the system gives memory only as it is written, while an array that grows
 * step by step is there twice at each step.
 */
const RESERVED_FROM = 1 << 15;
/** Some 100 m: a published map whose rings end beside their beginning was rounded, while a wider gap hides an unknown border. */
const MAX_CLOSED_GAP = 0.001;
/** Three corners and the first again. */
const MIN_RING_POSITIONS = 4;

function growArray<Numbers extends Float64Array | Uint32Array>(old: Numbers, next: Numbers): Numbers {
  next.set(old);
  return next;
}

const outOfRangeError = (name: string, value: number, limit: number) =>
  new MalformedError(
    `${name} ${Number.isFinite(value) ? value : 'beyond all doubles'} is not within -${limit} to ${limit}`,
  );

export function createRingBuffer(maxVertices: number): RingBuffer {
  const allocateVertices = (vertices: number) => new Float64Array(2 * Math.min(vertices, maxVertices));
  const polygon: PolygonRings = {
    xy: allocateVertices(INITIAL_VERTICES),
    vertexCount: 0,
    ringStarts: new Uint32Array(1 << 8),
    ringCount: 0,
  };
  let ringStart = 0;
  let gap: number | undefined;
  let closedRings = 0;

  return {
    polygon,
    get gap() {
      return gap;
    },
    get closedRings() {
      return closedRings;
    },
    clear() {
      gap = undefined;
      polygon.vertexCount = 0;
      polygon.ringCount = 0;
    },
    startRing() {
      ringStart = polygon.vertexCount;
      if (polygon.ringCount === polygon.ringStarts.length)
        polygon.ringStarts = growArray(polygon.ringStarts, new Uint32Array(polygon.ringCount * 2));
      polygon.ringStarts[polygon.ringCount++] = ringStart;
    },
    addVertex(position) {
      const longitude = position[0] as number;
      const latitude = position[1] as number;
      if (!(longitude >= -360 && longitude <= 360)) throw outOfRangeError('longitude', longitude, 360);
      if (!(latitude >= -90 && latitude <= 90)) throw outOfRangeError('latitude', latitude, 90);
      const at = polygon.vertexCount * 2;
      if (at === polygon.xy.length) {
        if (polygon.vertexCount >= maxVertices) throw tooLargeError(`a polygon has more than ${maxVertices} vertices`);
        const room = polygon.vertexCount < RESERVED_FROM ? 2 * polygon.vertexCount : maxVertices;
        polygon.xy = growArray(polygon.xy, allocateVertices(room));
      }
      polygon.xy[at] = longitude;
      polygon.xy[at + 1] = latitude;
      polygon.vertexCount++;
    },
    endRing() {
      const { xy } = polygon;
      const last = polygon.vertexCount - 1;
      const length = polygon.vertexCount - ringStart;
      if (length < MIN_RING_POSITIONS)
        throw new MalformedError(
          `a ring has ${formatCount(length, 'position')}, at least ${MIN_RING_POSITIONS} are needed`,
        );
      const openBy = Math.max(
        Math.abs((xy[ringStart * 2] as number) - (xy[last * 2] as number)),
        Math.abs((xy[ringStart * 2 + 1] as number) - (xy[last * 2 + 1] as number)),
      );
      if (openBy === 0) polygon.vertexCount = last;
      else if (openBy <= MAX_CLOSED_GAP) closedRings++;
      else gap = Math.max(gap ?? 0, openBy);
    },
  };
}
