/** Writes an index file as the pieces come: blobs at once, the rest at the end. Decides the order of the pieces, not what they are. */

import type { NewFile } from '../../domain/ports.ts';
import type { RegionName } from '../geojson/geojson-reader.ts';
import { tooLargeError } from '../map-failure.ts';
import type { ImportLimits, MapInfo } from '../region-types.ts';
import { computeHilbertPosition } from './hilbert.ts';
import {
  BOX_WORDS,
  encodeHeader,
  GROUP_BYTES,
  GROUP_PAGES,
  HEADER_BYTES,
  NAMES_PER_BLOCK,
  PAGE_BYTES,
  PAGE_PIECES,
  ROW,
  ROW_WORDS,
  writeChecksum,
} from './index-layout.ts';
import type { Piece } from './split-polygon.ts';
import { createVertexEncoder } from './vertex-codec.ts';

export interface IndexWriter {
  /** True when what waits to be written should be: `await flush()` before the next piece. */
  add(piece: Piece, feature: number): boolean;
  flush(): Promise<void>;
  readonly pieces: number;
  /** Everything but the commit; gives the size of the file. */
  finish(facts: Omit<MapInfo, 'bytes' | 'pieces'>, names: readonly RegionName[]): Promise<MapInfo>;
}

const BUFFER_BYTES = 1 << 16;
const BLOCK_ROWS = 1 << 12;
/** Bytes of a seal. */
const CHECKSUM_BYTES = 4;
const ZEROS = new Uint8Array(8);

/** What a directory tells behind its boxes and the ends of the blocks of names. */
export type DirectoryJson = Omit<MapInfo, 'bytes'>;

/** Rows as in the pages, in the order the pieces came, in blocks: a table that doubles would stand twice in memory. */
function createPieceTable() {
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
type PieceTable = ReturnType<typeof createPieceTable>;

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

const createEmptyBounds = (): Bounds => ({ west: Infinity, south: Infinity, east: -Infinity, north: -Infinity });

/** The box in a row; its lines are signed. */
const readBox = (row: Uint32Array): Bounds => ({
  west: (row[ROW.west] as number) | 0,
  south: (row[ROW.south] as number) | 0,
  east: (row[ROW.east] as number) | 0,
  north: (row[ROW.north] as number) | 0,
});

function widenBounds(bounds: Bounds, row: Uint32Array): void {
  const box = readBox(row);
  bounds.west = Math.min(bounds.west, box.west);
  bounds.south = Math.min(bounds.south, box.south);
  bounds.east = Math.max(bounds.east, box.east);
  bounds.north = Math.max(bounds.north, box.north);
}

/** Numbers of all pieces, neighbours together. */
function orderByPosition(table: PieceTable): Uint32Array {
  const all = createEmptyBounds();
  for (let i = 0; i < table.count; i++) widenBounds(all, table.row(i));
  const { count } = table;
  // Position and number in one, below 2^52: sorted as plain numbers, without a comparison that makes objects.
  const keys = new Float64Array(count);
  const scale = (low: number, high: number, from: number, to: number) =>
    to === from ? 0 : Math.floor((((low + high) / 2 - from) / (to - from)) * 65_535);
  for (let i = 0; i < count; i++) {
    const { west, south, east, north } = readBox(table.row(i));
    const position = computeHilbertPosition(
      scale(west, east, all.west, all.east),
      scale(south, north, all.south, all.north),
    );
    keys[i] = position * count + i;
  }
  keys.sort();
  // Not Uint32Array.from: it would hold each key as an object before it makes the first number.
  const order = new Uint32Array(count);
  for (let i = 0; i < count; i++) order[i] = (keys[i] as number) % count;
  return order;
}

/** Boxes in the order they came, as in a shelf. */
function createBoxList(most: number) {
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
function encodeWithJson(words: Uint32Array, value: unknown): Uint32Array {
  const text = new TextEncoder().encode(JSON.stringify(value));
  const part = new Uint32Array(words.length + Math.ceil((text.length + CHECKSUM_BYTES) / 4));
  const bytes = new Uint8Array(part.buffer);
  bytes.fill(0x20);
  part.set(words);
  bytes.set(text, words.byteLength);
  writeChecksum(part);
  return part;
}

const asBytes = (words: Uint32Array) => new Uint8Array(words.buffer);

export function createIndexWriter(file: NewFile, limits: Pick<ImportLimits, 'pieces' | 'indexBytes'>): IndexWriter {
  const encoder = createVertexEncoder();
  const table = createPieceTable();
  let buffer = new Uint8Array(BUFFER_BYTES);
  let buffered = 0;
  let written = 0;

  function append(bytes: Uint8Array): void {
    if (buffered + bytes.length > buffer.length) {
      const larger = new Uint8Array((buffered + bytes.length) * 2);
      larger.set(buffer);
      buffer = larger;
    }
    buffer.set(bytes, buffered);
    buffered += bytes.length;
  }

  /** Zeros to the end of a word, and `more` of them. */
  function padToWord(more: number): void {
    append(ZEROS.subarray(0, ((4 - (buffered % 4)) % 4) + more));
  }

  async function flush(): Promise<void> {
    if (buffered === 0) return;
    await file.write(buffer.subarray(0, buffered));
    written += buffered;
    buffered = 0;
  }

  async function appendAndFlush(words: Uint32Array): Promise<void> {
    append(asBytes(words));
    if (buffered >= BUFFER_BYTES / 2) await flush();
  }

  /** Writes the pages in near order and gives their boxes. */
  async function writePages(order: Uint32Array): Promise<Uint32Array> {
    const boxes = createBoxList(Math.ceil(order.length / PAGE_PIECES));
    const page = new Uint32Array(PAGE_BYTES / 4);
    for (let first = 0; first < order.length; first += PAGE_PIECES) {
      page.fill(0);
      const bounds = createEmptyBounds();
      const last = Math.min(order.length, first + PAGE_PIECES);
      for (let i = first; i < last; i++) {
        const row = table.row(order[i] as number);
        page.set(row, (i - first) * ROW_WORDS);
        widenBounds(bounds, row);
      }
      boxes.add(bounds);
      writeChecksum(page);
      await appendAndFlush(page);
    }
    return boxes.words;
  }

  /** Writes the shelves over the boxes of the pages and gives their own. */
  async function writePageGroups(pages: Uint32Array): Promise<Uint32Array> {
    const groupWords = GROUP_PAGES * BOX_WORDS;
    const boxes = createBoxList(Math.ceil(pages.length / groupWords));
    const group = new Uint32Array(GROUP_BYTES / 4);
    for (let first = 0; first < pages.length; first += groupWords) {
      const some = pages.subarray(first, first + groupWords);
      const bounds = createEmptyBounds();
      for (let at = 0; at < some.length; at += BOX_WORDS) widenBounds(bounds, some.subarray(at, at + BOX_WORDS));
      boxes.add(bounds);
      group.fill(0);
      group.set(some);
      writeChecksum(group);
      await appendAndFlush(group);
    }
    return boxes.words;
  }

  /** Writes the names in blocks and gives where each ends. */
  async function writeNames(names: readonly RegionName[]): Promise<Uint32Array> {
    const ends = new Uint32Array(Math.ceil(names.length / NAMES_PER_BLOCK));
    for (let block = 0, end = 0; block < ends.length; block++) {
      const some = names.slice(block * NAMES_PER_BLOCK, (block + 1) * NAMES_PER_BLOCK);
      const part = encodeWithJson(
        new Uint32Array(0),
        some.map(({ region, regionFullName }) => [region, regionFullName]),
      );
      end += part.byteLength;
      ends[block] = end;
      await appendAndFlush(part);
    }
    return ends;
  }

  append(new Uint8Array(HEADER_BYTES));
  return {
    get pieces() {
      return table.count;
    },
    flush,
    add({ box, survey, isInterior: whole, xy, list, from, to }, feature) {
      if (table.count >= limits.pieces) throw tooLargeError(`the map splits into more than ${limits.pieces} pieces`);
      const offset = written + buffered;
      if (offset > limits.indexBytes)
        throw tooLargeError(`the index of the map is larger than ${limits.indexBytes} bytes`);
      if (!whole) {
        append(encoder.encode(xy, list, from, to));
        padToWord(CHECKSUM_BYTES);
        writeChecksum(new Uint32Array(buffer.buffer, offset - written, (written + buffered - offset) / 4));
      }
      const length = written + buffered - offset;
      const row = table.add();
      row.set([box.west, box.south, box.east, box.north, feature, offset, length]);
      packSurvey(survey, row);
      return buffered >= BUFFER_BYTES / 2;
    },
    async finish(facts, names) {
      const pagesAt = written + buffered;
      const pageGroups = await writePageGroups(await writePages(orderByPosition(table)));
      const namesAt = written + buffered;
      const ends = await writeNames(names);
      const directoryAt = written + buffered;
      const info: DirectoryJson = { ...facts, pieces: table.count };
      const directory = encodeWithJson(Uint32Array.from([...pageGroups, ...ends]), info);
      append(asBytes(directory));
      await flush();
      const offsets = { pagesAt, namesAt, directoryAt, directoryBytes: directory.byteLength };
      const identity = directory.at(-1) as number;
      await file.writeAt(0, encodeHeader({ pieces: table.count, features: names.length, ...offsets, identity }));
      return { ...info, bytes: written };
    },
  };
}
