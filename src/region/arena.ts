/** Gathers the rings of one polygon in flat arrays that are used again for the next; refuses what is no ring. Never rounds a coordinate. */

import { counted } from '../units.ts';
import { Malformed, tooLarge } from './failure.ts';

/** One polygon: rings without their repeated last vertex. */
export interface Arena {
  /** Longitude and latitude of vertex `i` at `2 i` and `2 i + 1`. */
  xy: Float64Array;
  vertices: number;
  /** First vertex of each ring. */
  starts: Uint32Array;
  rings: number;
}

export interface RingGatherer {
  readonly arena: Arena;
  clear(): void;
  startRing(): void;
  /** Checks the range: RFC 7946 counts to ±180, but rings over the antimeridian are seen that run on to ±360. */
  vertex(position: Float64Array): void;
  endRing(): void;
}

const FIRST_VERTICES = 1 << 12;
/** Three corners and the first again. */
const SHORTEST_RING = 4;

function grown<Numbers extends Float64Array | Uint32Array>(old: Numbers, next: Numbers): Numbers {
  next.set(old);
  return next;
}

const outOfRange = (name: string, value: number, limit: number) =>
  new Malformed(`${name} ${Number.isFinite(value) ? value : 'beyond all doubles'} is not within -${limit} to ${limit}`);

export function createRingGatherer(maxVertices: number): RingGatherer {
  const room = (vertices: number) => new Float64Array(2 * Math.min(vertices, maxVertices));
  const arena: Arena = { xy: room(FIRST_VERTICES), vertices: 0, starts: new Uint32Array(1 << 8), rings: 0 };
  let start = 0;

  return {
    arena,
    clear() {
      arena.vertices = 0;
      arena.rings = 0;
    },
    startRing() {
      start = arena.vertices;
      if (arena.rings === arena.starts.length) arena.starts = grown(arena.starts, new Uint32Array(arena.rings * 2));
      arena.starts[arena.rings++] = start;
    },
    vertex(position) {
      const longitude = position[0] as number;
      const latitude = position[1] as number;
      if (!(longitude >= -360 && longitude <= 360)) throw outOfRange('longitude', longitude, 360);
      if (!(latitude >= -90 && latitude <= 90)) throw outOfRange('latitude', latitude, 90);
      const at = arena.vertices * 2;
      if (at === arena.xy.length) {
        if (arena.vertices >= maxVertices) throw tooLarge(`a polygon has more than ${maxVertices} vertices`);
        arena.xy = grown(arena.xy, room(arena.vertices + (arena.vertices >> 1)));
      }
      arena.xy[at] = longitude;
      arena.xy[at + 1] = latitude;
      arena.vertices++;
    },
    endRing() {
      const { xy } = arena;
      const last = arena.vertices - 1;
      const length = arena.vertices - start;
      if (length < SHORTEST_RING)
        throw new Malformed(`a ring has ${counted(length, 'position')}, at least ${SHORTEST_RING} are needed`);
      if (xy[start * 2] !== xy[last * 2] || xy[start * 2 + 1] !== xy[last * 2 + 1])
        throw new Malformed('a ring is not closed: its last position is not its first');
      arena.vertices = last;
    },
  };
}
