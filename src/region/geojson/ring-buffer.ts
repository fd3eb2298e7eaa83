/** Collects the rings of one polygon, packed when they are very long, and refuses invalid rings. */

import { formatCount } from '../../domain/units.ts';
import { createBlockPacker, PLAIN_VERTICES, type PolygonRings } from '../index/polygon-rings.ts';
import { buildMapTooLargeError, MalformedError } from '../map-failure.ts';

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

/** Some 100 m: a published map whose rings end beside their beginning was rounded, while a wider gap hides an unknown border. */
const MAX_CLOSED_GAP = 0.001;
/** Three corners and the first again. */
const MIN_RING_POSITIONS = 4;

const buildOutOfRangeError = (name: string, value: number, limit: number) =>
  new MalformedError(
    `${name} ${Number.isFinite(value) ? value : 'beyond all doubles'} is not within -${limit} to ${limit}`,
  );

export function createRingBuffer(maxVertices: number): RingBuffer {
  const packBlocks = createBlockPacker();
  const polygon: PolygonRings = {
    blocks: [],
    // The system gives memory only as it is written.
    xy: new Float64Array(2 * PLAIN_VERTICES),
    vertexCount: 0,
    ringStarts: new Uint32Array(1 << 8),
    ringCount: 0,
  };
  let ringStart = 0;
  const ringFirst = new Float64Array(2);
  /** Vertices that are not packed: after `addVertex` at least the last one. */
  let plain = 0;
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
      polygon.blocks = [];
      plain = 0;
      polygon.vertexCount = 0;
      polygon.ringCount = 0;
    },
    startRing() {
      ringStart = polygon.vertexCount;
      if (polygon.ringCount === polygon.ringStarts.length) {
        const larger = new Uint32Array(polygon.ringCount * 2);
        larger.set(polygon.ringStarts);
        polygon.ringStarts = larger;
      }
      polygon.ringStarts[polygon.ringCount++] = ringStart;
    },
    addVertex(position) {
      const longitude = position[0] as number;
      const latitude = position[1] as number;
      if (!(longitude >= -360 && longitude <= 360)) throw buildOutOfRangeError('longitude', longitude, 360);
      if (!(latitude >= -90 && latitude <= 90)) throw buildOutOfRangeError('latitude', latitude, 90);
      if (polygon.vertexCount >= maxVertices)
        throw buildMapTooLargeError(`a polygon has more than ${maxVertices} vertices`);
      if (plain === PLAIN_VERTICES) {
        polygon.blocks.push(...packBlocks(polygon.xy));
        plain = 0;
      }
      if (polygon.vertexCount === ringStart) ringFirst.set(position);
      polygon.xy[plain * 2] = longitude;
      polygon.xy[plain * 2 + 1] = latitude;
      plain++;
      polygon.vertexCount++;
    },
    endRing() {
      const length = polygon.vertexCount - ringStart;
      if (length < MIN_RING_POSITIONS)
        throw new MalformedError(
          `a ring has ${formatCount(length, 'position')}, at least ${MIN_RING_POSITIONS} are needed`,
        );
      const last = polygon.xy.subarray(plain * 2 - 2, plain * 2);
      const openBy = Math.max(
        Math.abs((ringFirst[0] as number) - (last[0] as number)),
        Math.abs((ringFirst[1] as number) - (last[1] as number)),
      );
      if (openBy === 0) {
        polygon.vertexCount--;
        plain--;
      } else if (openBy <= MAX_CLOSED_GAP) closedRings++;
      else gap = Math.max(gap ?? 0, openBy);
    },
  };
}
