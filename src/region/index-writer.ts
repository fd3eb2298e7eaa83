/** Writes an index file as the pieces come: blobs at once, the rest at the end. Decides the order of the pieces, not what they are. */

import Flatbush from 'flatbush';
import type { NewFile } from '../world.ts';
import { createPacker } from './blob.ts';
import { tooLarge } from './failure.ts';
import type { FeatureName } from './geojson.ts';
import { hilbert } from './hilbert.ts';
import { HEADER_BYTES, PAGE_BYTES, PAGE_PIECES, packHeader, ROW, ROW_WORDS, seal } from './layout.ts';
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
const BLOCK_ROWS = 1 << 12;
/** Bytes of a seal. */
const SEAL = 4;
const ZEROS = new Uint8Array(8);

/** What a directory tells beside the boxes of its pages. */
export interface DirectoryJson {
  readonly info: Omit<MapInfo, 'bytes'>;
  /** Easternmost and westernmost longitude of any piece, in grid steps. */
  readonly west: number;
  readonly east: number;
  readonly names: readonly (readonly [string, string])[];
}

/** Rows as in the pages, in the order the pieces came, in blocks: a table that doubles would stand twice in memory. */
function createTable() {
  const blocks: Uint32Array[] = [];
  let count = 0;
  const row = (i: number) => {
    const at = (i % BLOCK_ROWS) * ROW_WORDS;
    return (blocks[Math.floor(i / BLOCK_ROWS)] as Uint32Array).subarray(at, at + ROW_WORDS);
  };
  return {
    row,
    get count() {
      return count;
    },
    /** A new row, empty. */
    add() {
      if (count % BLOCK_ROWS === 0) blocks.push(new Uint32Array(BLOCK_ROWS * ROW_WORDS));
      return row(count++);
    },
  };
}
type Table = ReturnType<typeof createTable>;

/** 16 parts a word, two bits each. */
function packSurvey(survey: Uint8Array, row: Uint32Array): void {
  for (let part = 0; part < survey.length; part++) {
    const word = ROW.survey + (part >> 4);
    row[word] = (row[word] as number) | ((survey[part] as number) << ((part & 15) * 2));
  }
}

interface Bounds {
  west: number;
  south: number;
  east: number;
  north: number;
}

const nowhere = (): Bounds => ({ west: Infinity, south: Infinity, east: -Infinity, north: -Infinity });

/** The box in a row; its lines are signed. */
const boxIn = (row: Uint32Array): Bounds => ({
  west: (row[ROW.west] as number) | 0,
  south: (row[ROW.south] as number) | 0,
  east: (row[ROW.east] as number) | 0,
  north: (row[ROW.north] as number) | 0,
});

function widen(bounds: Bounds, row: Uint32Array): void {
  const box = boxIn(row);
  bounds.west = Math.min(bounds.west, box.west);
  bounds.south = Math.min(bounds.south, box.south);
  bounds.east = Math.max(bounds.east, box.east);
  bounds.north = Math.max(bounds.north, box.north);
}

/** Numbers of all pieces, neighbours together. */
function nearOrder(table: Table): Uint32Array {
  const all = nowhere();
  for (let i = 0; i < table.count; i++) widen(all, table.row(i));
  const { count } = table;
  // Position and number in one, below 2^52: sorted as plain numbers, without a comparison that makes objects.
  const keys = new Float64Array(count);
  const scale = (low: number, high: number, from: number, to: number) =>
    to === from ? 0 : Math.floor((((low + high) / 2 - from) / (to - from)) * 65_535);
  for (let i = 0; i < count; i++) {
    const { west, south, east, north } = boxIn(table.row(i));
    const near = hilbert(scale(west, east, all.west, all.east), scale(south, north, all.south, all.north));
    keys[i] = near * count + i;
  }
  return Uint32Array.from(keys.sort(), (key) => key % count);
}

function packDirectory(tree: Flatbush, json: DirectoryJson) {
  const treeBytes = Math.ceil(tree.data.byteLength / 4) * 4;
  const text = new TextEncoder().encode(JSON.stringify(json));
  const words = new Uint32Array(Math.ceil((treeBytes + text.length + SEAL) / 4));
  const directory = new Uint8Array(words.buffer);
  directory.fill(0x20, treeBytes); // JSON may end in spaces
  directory.set(new Uint8Array(tree.data));
  directory.set(text, treeBytes);
  return { directory, treeBytes, identity: seal(words) };
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

  /** Zeros to the end of a word, and `more` of them. */
  function fillWord(more: number): void {
    put(ZEROS.subarray(0, ((4 - (buffered % 4)) % 4) + more));
  }

  async function flush(): Promise<void> {
    if (buffered === 0) return;
    await file.write(buffer.subarray(0, buffered));
    written += buffered;
    buffered = 0;
  }

  /** Writes the pages in near order and gives the tree over their boxes. */
  async function writePages(order: Uint32Array): Promise<{ readonly tree: Flatbush; readonly all: Bounds }> {
    const tree = new Flatbush(Math.ceil(order.length / PAGE_PIECES), 16, Int32Array);
    const all = nowhere();
    const page = new Uint32Array(PAGE_BYTES / 4);
    for (let first = 0; first < order.length; first += PAGE_PIECES) {
      page.fill(0);
      const bounds = nowhere();
      const last = Math.min(order.length, first + PAGE_PIECES);
      for (let i = first; i < last; i++) {
        const row = table.row(order[i] as number);
        page.set(row, (i - first) * ROW_WORDS);
        widen(bounds, row);
        widen(all, row);
      }
      tree.add(bounds.west, bounds.south, bounds.east, bounds.north);
      seal(page);
      put(new Uint8Array(page.buffer));
      if (buffered >= BUFFER / 2) await flush();
    }
    tree.finish();
    return { tree, all };
  }

  put(new Uint8Array(HEADER_BYTES));
  return {
    get pieces() {
      return table.count;
    },
    flush,
    add({ box, survey, whole, xy, list, from, to }, feature) {
      if (table.count >= limits.pieces) throw tooLarge(`the map splits into more than ${limits.pieces} pieces`);
      const offset = written + buffered;
      if (!whole) {
        put(packer.pack(xy, list, from, to));
        fillWord(SEAL);
        seal(new Uint32Array(buffer.buffer, offset - written, (written + buffered - offset) / 4));
      }
      const length = written + buffered - offset;
      const row = table.add();
      row.set([box.west, box.south, box.east, box.north, feature, offset, length]);
      packSurvey(survey, row);
      return buffered >= BUFFER / 2;
    },
    async finish(facts, names) {
      const pagesAt = written + buffered;
      const { tree, all } = await writePages(nearOrder(table));
      const directoryAt = written + buffered;
      const info = { ...facts, pieces: table.count };
      const json: DirectoryJson = {
        info,
        west: all.west,
        east: all.east,
        names: names.map((name) => [name.region, name.regionFullName]),
      };
      const { directory, treeBytes, identity } = packDirectory(tree, json);
      put(directory);
      await flush();
      const header = { pages: tree.numItems, pieces: table.count, pagesAt, directoryAt, treeBytes, identity };
      await file.writeAt(0, packHeader({ ...header, directoryBytes: directory.length }));
      return { ...info, bytes: written };
    },
  };
}
