/** Writes an index file as the pieces come: blobs at once, the rest at the end. Decides the order of the pieces, not what they are. */

import type { NewFile } from '../world.ts';
import { createPacker } from './blob.ts';
import { tooLarge } from './failure.ts';
import type { FeatureName } from './geojson.ts';
import { hilbert } from './hilbert.ts';
import {
  BLOCK_NAMES,
  BOX_WORDS,
  HEADER_BYTES,
  PAGE_BYTES,
  PAGE_PIECES,
  packHeader,
  ROW,
  ROW_WORDS,
  SHELF_BYTES,
  SHELF_PAGES,
  seal,
} from './layout.ts';
import type { ImportLimits, MapInfo } from './map.ts';
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

/** What a directory tells behind its boxes and the ends of the blocks of names. */
export type DirectoryJson = Omit<MapInfo, 'bytes'>;

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
  keys.sort();
  // Not Uint32Array.from: it would hold each key as an object before it makes the first number.
  const order = new Uint32Array(count);
  for (let i = 0; i < count; i++) order[i] = (keys[i] as number) % count;
  return order;
}

/** Boxes in the order they came, as in a shelf. */
function createBoxes(most: number) {
  const words = new Uint32Array(most * BOX_WORDS);
  let count = 0;
  return {
    words,
    add({ west, south, east, north }: Bounds): void {
      words.set([west, south, east, north], count++ * BOX_WORDS);
    },
  };
}

/** Words, JSON behind them, spaces to the end of a word (JSON may end in them) and the seal. */
function packWithJson(words: Uint32Array, value: unknown): Uint32Array {
  const text = new TextEncoder().encode(JSON.stringify(value));
  const part = new Uint32Array(words.length + Math.ceil((text.length + SEAL) / 4));
  const bytes = new Uint8Array(part.buffer);
  bytes.fill(0x20);
  part.set(words);
  bytes.set(text, words.byteLength);
  seal(part);
  return part;
}

const bytesOf = (words: Uint32Array) => new Uint8Array(words.buffer);

export function createIndexWriter(file: NewFile, limits: Pick<ImportLimits, 'pieces' | 'indexBytes'>): IndexWriter {
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

  async function putFlushed(words: Uint32Array): Promise<void> {
    put(bytesOf(words));
    if (buffered >= BUFFER / 2) await flush();
  }

  /** Writes the pages in near order and gives their boxes. */
  async function writePages(order: Uint32Array): Promise<Uint32Array> {
    const boxes = createBoxes(Math.ceil(order.length / PAGE_PIECES));
    const page = new Uint32Array(PAGE_BYTES / 4);
    for (let first = 0; first < order.length; first += PAGE_PIECES) {
      page.fill(0);
      const bounds = nowhere();
      const last = Math.min(order.length, first + PAGE_PIECES);
      for (let i = first; i < last; i++) {
        const row = table.row(order[i] as number);
        page.set(row, (i - first) * ROW_WORDS);
        widen(bounds, row);
      }
      boxes.add(bounds);
      seal(page);
      await putFlushed(page);
    }
    return boxes.words;
  }

  /** Writes the shelves over the boxes of the pages and gives their own. */
  async function writeShelves(pages: Uint32Array): Promise<Uint32Array> {
    const words = SHELF_PAGES * BOX_WORDS;
    const boxes = createBoxes(Math.ceil(pages.length / words));
    const shelf = new Uint32Array(SHELF_BYTES / 4);
    for (let first = 0; first < pages.length; first += words) {
      const some = pages.subarray(first, first + words);
      const bounds = nowhere();
      for (let at = 0; at < some.length; at += BOX_WORDS) widen(bounds, some.subarray(at, at + BOX_WORDS));
      boxes.add(bounds);
      shelf.fill(0);
      shelf.set(some);
      seal(shelf);
      await putFlushed(shelf);
    }
    return boxes.words;
  }

  /** Writes the names in blocks and gives where each ends. */
  async function writeNames(names: readonly FeatureName[]): Promise<Uint32Array> {
    const ends = new Uint32Array(Math.ceil(names.length / BLOCK_NAMES));
    for (let block = 0, end = 0; block < ends.length; block++) {
      const some = names.slice(block * BLOCK_NAMES, (block + 1) * BLOCK_NAMES);
      const part = packWithJson(
        new Uint32Array(0),
        some.map(({ region, regionFullName }) => [region, regionFullName]),
      );
      end += part.byteLength;
      ends[block] = end;
      await putFlushed(part);
    }
    return ends;
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
      if (offset > limits.indexBytes) throw tooLarge(`the index of the map is larger than ${limits.indexBytes} bytes`);
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
      const shelves = await writeShelves(await writePages(nearOrder(table)));
      const namesAt = written + buffered;
      const ends = await writeNames(names);
      const directoryAt = written + buffered;
      const info: DirectoryJson = { ...facts, pieces: table.count };
      const directory = packWithJson(Uint32Array.from([...shelves, ...ends]), info);
      put(bytesOf(directory));
      await flush();
      const places = { pagesAt, namesAt, directoryAt, directoryBytes: directory.byteLength };
      const identity = directory.at(-1) as number;
      await file.writeAt(0, packHeader({ pieces: table.count, features: names.length, ...places, identity }));
      return { ...info, bytes: written };
    },
  };
}
