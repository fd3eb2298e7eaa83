/** Writes an index file as the pieces come: blobs at once, the rest at the end. Decides the order of the pieces, not what they are. */

import Flatbush from 'flatbush';
import type { NewFile } from '../world.ts';
import { createPacker } from './blob.ts';
import { tooLarge } from './failure.ts';
import type { FeatureName } from './geojson.ts';
import { hilbert } from './hilbert.ts';
import { crcOf, HEADER_BYTES, PAGE_BYTES, PAGE_PIECES, type Page, packHeader, pageOver, seal } from './layout.ts';
import type { MapInfo } from './map.ts';
import type { Piece } from './split.ts';

export interface IndexWriter {
  /** True when what waits to be written should be: `await flush()` before the next piece. */
  add(piece: Piece, feature: number): boolean;
  flush(): Promise<void>;
  readonly pieces: number;
  /** Everything but the commit; gives the size of the file. */
  finish(facts: Omit<MapInfo, 'bytes' | 'pieces'>, names: readonly FeatureName[]): Promise<MapInfo>;
}

const BUFFER = 1 << 16;

/** What a directory tells beside the boxes of its pages. */
export interface DirectoryJson {
  readonly info: Omit<MapInfo, 'bytes'>;
  /** Easternmost and westernmost longitude of any piece, in grid steps. */
  readonly west: number;
  readonly east: number;
  readonly names: readonly (readonly [string, string])[];
}

/** Pages in the order the pieces came; they are sorted when all are there. */
function createTable() {
  const pages: Page[] = [];
  let count = 0;
  const at = (i: number) => [pages[Math.floor(i / PAGE_PIECES)] as Page, i % PAGE_PIECES] as const;
  return {
    pages,
    at,
    get count() {
      return count;
    },
    add(box: Piece['box'], feature: number, offset: number, length: number) {
      if (count % PAGE_PIECES === 0) pages.push(pageOver(new Uint8Array(PAGE_BYTES)));
      const [page, i] = at(count++);
      page.boxes.set([box.west, box.south, box.east, box.north], i * 4);
      page.features[i] = feature;
      page.offsets[i] = offset;
      page.lengths[i] = length;
    },
  };
}
type Table = ReturnType<typeof createTable>;

type Bounds = [west: number, south: number, east: number, north: number];

const EMPTY: Readonly<Bounds> = [Infinity, Infinity, -Infinity, -Infinity];

function widen(bounds: Bounds, { boxes }: Page, i: number): void {
  for (let side = 0; side < 4; side++) {
    const line = boxes[i * 4 + side] as number;
    bounds[side] = side < 2 ? Math.min(bounds[side] as number, line) : Math.max(bounds[side] as number, line);
  }
}

/** Numbers of all pieces, neighbours together. */
function nearOrder(table: Table): Uint32Array {
  const all: Bounds = [...EMPTY];
  for (let i = 0; i < table.count; i++) widen(all, ...table.at(i));
  const [west, south, east, north] = all;
  const places = new Float64Array(table.count);
  const scale = (low: number, high: number, from: number, to: number) =>
    to === from ? 0 : Math.floor((((low + high) / 2 - from) / (to - from)) * 65_535);
  for (let i = 0; i < table.count; i++) {
    const [{ boxes }, nth] = table.at(i);
    const [w = 0, s = 0, e = 0, n = 0] = boxes.subarray(nth * 4, nth * 4 + 4);
    places[i] = hilbert(scale(w, e, west, east), scale(s, n, south, north));
  }
  return new Uint32Array(table.count)
    .map((_, i) => i)
    .sort((a, b) => (places[a] as number) - (places[b] as number) || a - b);
}

export function createIndexWriter(file: NewFile, limits: { readonly pieces: number }): IndexWriter {
  const packer = createPacker();
  const table = createTable();
  let buffer = new Uint8Array(BUFFER);
  let buffered = 0;
  let written = 0;

  function put(bytes: Uint8Array): void {
    if (buffered + bytes.length > buffer.length) {
      const larger = new Uint8Array((buffered + bytes.length) * 2);
      larger.set(buffer);
      buffer = larger;
    }
    buffer.set(bytes, buffered);
    buffered += bytes.length;
  }

  async function flush(): Promise<void> {
    if (buffered === 0) return;
    await file.write(buffer.subarray(0, buffered));
    written += buffered;
    buffered = 0;
  }

  /** Writes the pages in near order and gives the tree over their boxes. */
  async function writePages(
    order: Uint32Array,
  ): Promise<{ readonly tree: Flatbush; readonly west: number; readonly east: number }> {
    const tree = new Flatbush(table.pages.length, 16, Int32Array);
    const all: Bounds = [...EMPTY];
    for (let first = 0; first < order.length; first += PAGE_PIECES) {
      const page = pageOver(new Uint8Array(PAGE_BYTES));
      const bounds: Bounds = [...EMPTY];
      for (let to = 0; to < PAGE_PIECES && first + to < order.length; to++) {
        const [from, i] = table.at(order[first + to] as number);
        page.boxes.set(from.boxes.subarray(i * 4, i * 4 + 4), to * 4);
        page.features[to] = from.features[i] as number;
        page.offsets[to] = from.offsets[i] as number;
        page.lengths[to] = from.lengths[i] as number;
        widen(bounds, page, to);
        widen(all, page, to);
      }
      tree.add(...bounds);
      put(seal(page.bytes));
      if (buffered >= BUFFER / 2) await flush();
    }
    tree.finish();
    return { tree, west: all[0], east: all[2] };
  }

  put(new Uint8Array(HEADER_BYTES));
  return {
    get pieces() {
      return table.count;
    },
    flush,
    add({ box, whole, xy, list, from, to }, feature) {
      if (table.count >= limits.pieces) throw tooLarge(`the map splits into more than ${limits.pieces} pieces`);
      const offset = written + buffered;
      if (!whole) {
        put(packer.pack(xy, list, from, to));
        put(new Uint8Array(4));
        seal(buffer.subarray(offset - written, buffered));
      }
      table.add(box, feature, offset, written + buffered - offset);
      return buffered >= BUFFER / 2;
    },
    async finish(facts, names) {
      while ((written + buffered) % 4 !== 0) put(new Uint8Array(1));
      const pagesAt = written + buffered;
      const { tree, west, east } = await writePages(nearOrder(table));
      const directoryAt = written + buffered;
      const info = { ...facts, pieces: table.count };
      const json: DirectoryJson = { info, west, east, names: names.map((name) => [name.region, name.regionFullName]) };
      const jsonBytes = new TextEncoder().encode(JSON.stringify(json));
      const directory = new Uint8Array(tree.data.byteLength + jsonBytes.length);
      directory.set(new Uint8Array(tree.data));
      directory.set(jsonBytes, tree.data.byteLength);
      put(directory);
      await flush();
      await file.writeAt(
        0,
        packHeader({
          pages: table.pages.length,
          pieces: table.count,
          pagesAt,
          directoryAt,
          treeBytes: tree.data.byteLength,
          jsonBytes: jsonBytes.length,
          directoryCrc: crcOf(directory),
        }),
      );
      return { ...info, bytes: written };
    },
  };
}
