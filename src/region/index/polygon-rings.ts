/** The vertices of one polygon; those of a very large one are packed, in blocks that know their box, so that a cell unpacks few of them. */

import { type Cell, type CellClip, isBeyond, RING_START, VERTEX_MASK } from './clip.ts';
import { createVertexDecoder, createVertexEncoder } from './vertex-codec.ts';

export const BLOCK_VERTICES = 1 << 12;
/** A polygon of so many vertices is not packed: 0.5 MB. */
export const PLAIN_VERTICES = 1 << 15;

/** One polygon: rings without their repeated last vertex. */
export interface PolygonRings {
  /** The first vertices, `BLOCK_VERTICES` a block; none in most polygons. */
  blocks: PackedBlock[];
  /** Longitude and latitude of the vertices behind those of the blocks, at `2 i` and `2 i + 1`. */
  readonly xy: Float64Array;
  /** Of all. */
  vertexCount: number;
  /** First vertex of each ring. */
  ringStarts: Uint32Array;
  ringCount: number;
}

export interface PackedBlock {
  readonly bytes: Uint8Array;
  readonly box: Cell;
  /** Its first and last position: they stand for all of it where it does not touch a cell. */
  readonly ends: Float64Array;
}

function computeBox(xy: Float64Array, from: number, to: number): Cell {
  let [west, south, east, north] = [Infinity, Infinity, -Infinity, -Infinity];
  for (let i = from * 2; i < to * 2; i += 2) {
    const x = xy[i] as number;
    const y = xy[i + 1] as number;
    if (x < west) west = x;
    if (x > east) east = x;
    if (y < south) south = y;
    if (y > north) north = y;
  }
  return { west, south, east, north };
}

/** The box of all vertices. */
export function computeExtent({ blocks, xy, vertexCount }: PolygonRings): Cell {
  const boxes = blocks.map(({ box }) => box);
  boxes.push(computeBox(xy, 0, vertexCount - blocks.length * BLOCK_VERTICES));
  return {
    west: Math.min(...boxes.map(({ west }) => west)),
    south: Math.min(...boxes.map(({ south }) => south)),
    east: Math.max(...boxes.map(({ east }) => east)),
    north: Math.max(...boxes.map(({ north }) => north)),
  };
}

/** Packs positions that fill whole blocks. */
export function createBlockPacker(): (xy: Float64Array) => PackedBlock[] {
  const encoder = createVertexEncoder();
  const list = new Uint32Array(BLOCK_VERTICES);
  return (xy) => {
    const blocks: PackedBlock[] = [];
    for (let from = 0; from < xy.length / 2; from += BLOCK_VERTICES) {
      const to = from + BLOCK_VERTICES;
      for (let i = 0; i < BLOCK_VERTICES; i++) list[i] = from + i;
      list[0] = (from | RING_START) >>> 0;
      const ends = Float64Array.of(...xy.subarray(from * 2, from * 2 + 2), ...xy.subarray(to * 2 - 2, to * 2));
      const bytes = encoder.encode({ xy, list, from: 0, to: BLOCK_VERTICES }).slice();
      blocks.push({ bytes, box: computeBox(xy, from, to), ends });
    }
    return blocks;
  };
}

/** Up to `BLOCK_VERTICES` vertices that follow each other. */
interface VertexRun {
  /** Number of the first, and behind the last. */
  readonly from: number;
  readonly to: number;
  readonly packed: PackedBlock | undefined;
  /** Their positions. */
  readonly read: () => Float64Array;
}

/** Reads polygons through arrays that are used again for the next block. */
export class PolygonReader {
  readonly #decode = createVertexDecoder();
  readonly #list = new Uint32Array(BLOCK_VERTICES);

  *#listRuns({ blocks, xy, vertexCount }: PolygonRings): Generator<VertexRun, void, void> {
    for (const [i, packed] of blocks.entries()) {
      const from = i * BLOCK_VERTICES;
      let positions: Float64Array | undefined;
      const read = () => {
        positions ??= this.#decode(packed.bytes).xy;
        return positions;
      };
      yield { from, to: from + BLOCK_VERTICES, packed, read };
    }
    const plainFrom = blocks.length * BLOCK_VERTICES;
    for (let from = plainFrom; from < vertexCount; from += BLOCK_VERTICES) {
      const plain = xy.subarray((from - plainFrom) * 2);
      yield { from, to: Math.min(vertexCount, from + BLOCK_VERTICES), packed: undefined, read: () => plain };
    }
  }

  /** Clips the whole polygon to each of the cells. */
  clip(polygon: PolygonRings, clips: readonly CellClip[]): void {
    const { ringStarts, ringCount } = polygon;
    let nextRing = 0;
    for (const run of this.#listRuns(polygon)) {
      const { from, to, packed } = run;
      for (let i = 0; i < to - from; i++) this.#list[i] = i;
      const firstRing = nextRing;
      for (; nextRing < ringCount && (ringStarts[nextRing] as number) < to; nextRing++) {
        const start = (ringStarts[nextRing] as number) - from;
        this.#list[start] = (start | RING_START) >>> 0;
      }
      const startsInside = nextRing > firstRing && (ringStarts[nextRing - 1] as number) > from;
      for (const clip of clips) {
        if (packed === undefined || startsInside || !isBeyond(packed.box, clip.cell))
          clip.add({ xy: run.read(), list: this.#list, from: 0, to: to - from }, from);
        else this.#addEnds(clip, packed.ends, run);
      }
    }
  }

  /** All of the run lies beyond one side of the cell: so does the segment between its ends. */
  #addEnds(clip: CellClip, ends: Float64Array, { from, to }: VertexRun): void {
    clip.add({ xy: ends, list: this.#list, from: 0, to: 1 }, from);
    clip.add({ xy: ends.subarray(2), list: new Uint32Array(1), from: 0, to: 1 }, to - 1);
  }

  /** Copies the positions of listed vertices, whose numbers ascend, to the places of their entries, and numbers the entries by these. */
  copyListed(polygon: PolygonRings, list: Uint32Array, span: { from: number; to: number }, out: Float64Array): void {
    let at = span.from;
    for (const { from, to, read } of this.#listRuns(polygon)) {
      for (; at < span.to; at++) {
        const entry = list[at] as number;
        const vertex = entry & VERTEX_MASK;
        if (vertex >= to) break;
        const positions = read();
        out[at * 2] = positions[(vertex - from) * 2] as number;
        out[at * 2 + 1] = positions[(vertex - from) * 2 + 1] as number;
        list[at] = (at | (entry & RING_START)) >>> 0;
      }
    }
  }
}
