/** Writes an index file while the pieces arrive: rings at once, pages and names at the end. */

import type { NewFile } from '../../domain/ports.ts';
import { buildMapTooLargeError } from '../map-failure.ts';
import type { ImportLimits, MapInfo, RegionName } from '../region-types.ts';
import { EMPTY_BOX, type GridBox, uniteBoxes } from './cell-grid.ts';
import { writeChecksum } from './checksum.ts';
import { computeHilbertPosition } from './hilbert.ts';
import {
  BOX_WORDS,
  decodeBox,
  encodeBox,
  encodeHeader,
  encodeRow,
  GROUP_PAGES,
  HEADER_BYTES,
  NAMES_PER_BLOCK,
  PAGE_PIECES,
  ROW_WORDS,
} from './index-layout.ts';
import type { Piece } from './split-polygon.ts';
import { createVertexEncoder } from './vertex-codec.ts';

export interface IndexWriter {
  /** True when the buffer is full: `await flush()` before the next piece. */
  add(piece: Piece, feature: number): boolean;
  flush(): Promise<void>;
  readonly pieces: number;
  /** Everything but the commit. */
  finish(facts: Omit<DirectoryJson, 'pieces'>, names: readonly RegionName[]): Promise<MapInfo>;
}

/** The part of a directory after its boxes and the ends of the blocks of names. */
export type DirectoryJson = Omit<MapInfo, 'bytes'>;

const BUFFER_BYTES = 1 << 16;
const BLOCK_ROWS = 1 << 12;

/** Rows as in the pages, in the order of arrival, in blocks: a growing table would be in memory twice. */
class PieceTable {
  readonly #blocks: Int32Array[] = [];
  count = 0;

  row(i: number): Int32Array {
    const at = (i % BLOCK_ROWS) * ROW_WORDS;
    return (this.#blocks[Math.floor(i / BLOCK_ROWS)] as Int32Array).subarray(at, at + ROW_WORDS);
  }

  add(words: readonly number[]): void {
    if (this.count % BLOCK_ROWS === 0) this.#blocks.push(new Int32Array(BLOCK_ROWS * ROW_WORDS));
    this.row(this.count++).set(words);
  }
}

/** The numbers of all pieces along a Hilbert curve: neighbours on the map are neighbours in it. */
function orderByPosition(table: PieceTable): Uint32Array {
  const { count } = table;
  let all = EMPTY_BOX;
  for (let i = 0; i < count; i++) all = uniteBoxes(all, decodeBox(table.row(i), 0));
  const scale = (low: number, high: number, from: number, to: number) =>
    to === from ? 0 : Math.floor((((low + high) / 2 - from) / (to - from)) * 65_535);
  // Position and number in one, below 2^52: sorted as plain numbers, without a comparison that makes objects.
  const keys = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    const { west, south, east, north } = decodeBox(table.row(i), 0);
    const position = computeHilbertPosition(
      scale(west, east, all.west, all.east),
      scale(south, north, all.south, all.north),
    );
    keys[i] = position * count + i;
  }
  keys.sort();
  // Over the keys, of which each is read before it is written over.
  const order = new Uint32Array(keys.buffer, 0, count);
  for (let i = 0; i < count; i++) order[i] = (keys[i] as number) % count;
  return order;
}

/** Appends parts to the file through one buffer. */
class PartWriter {
  readonly #file: NewFile;
  readonly #salt: number;
  #buffer = new Uint8Array(BUFFER_BYTES);
  #buffered = 0;
  #written = 0;

  constructor(file: NewFile, salt: number) {
    this.#file = file;
    this.#salt = salt;
  }

  get offset(): number {
    return this.#written + this.#buffered;
  }

  get isFull(): boolean {
    return this.#buffered >= BUFFER_BYTES / 2;
  }

  /** Bytes, zeros up to a whole word and the checksum; gives the length of all. */
  append(bytes: Uint8Array): number {
    const length = Math.ceil(bytes.length / 4) * 4 + 4;
    const start = this.#buffered;
    const end = start + length;
    if (end > this.#buffer.length) {
      const larger = new Uint8Array(end * 2);
      larger.set(this.#buffer);
      this.#buffer = larger;
    }
    this.#buffer.fill(0, start, end).set(bytes, start);
    writeChecksum(new Int32Array(this.#buffer.buffer, start, length / 4), this.#salt, this.offset);
    this.#buffered = end;
    return length;
  }

  /** Gives the checksum. */
  async write(words: Int32Array): Promise<number> {
    this.append(new Uint8Array(words.buffer));
    const checksum = new Int32Array(this.#buffer.buffer, this.#buffered - 4, 1)[0] as number;
    if (this.isFull) await this.flush();
    return checksum;
  }

  async flush(): Promise<void> {
    if (this.#buffered === 0) return;
    await this.#file.write(this.#buffer.subarray(0, this.#buffered));
    this.#written += this.#buffered;
    this.#buffered = 0;
  }
}

interface RowSource {
  readonly count: number;
  readonly rowWords: number;
  /** A row begins with its box. */
  readonly row: (i: number) => Int32Array;
}

/** Writes parts of `perPart` rows each and gives the box of each part. */
async function writeRows(out: PartWriter, { count, rowWords, row }: RowSource, perPart: number): Promise<Int32Array> {
  const boxes = new Int32Array(Math.ceil(count / perPart) * BOX_WORDS);
  const part = new Int32Array(perPart * rowWords);
  for (let first = 0; first < count; first += perPart) {
    part.fill(0);
    let box: GridBox = EMPTY_BOX;
    for (let i = first; i < Math.min(count, first + perPart); i++) {
      part.set(row(i), (i - first) * rowWords);
      box = uniteBoxes(box, decodeBox(row(i), 0));
    }
    boxes.set(encodeBox(box), (first / perPart) * BOX_WORDS);
    await out.write(part);
  }
  return boxes;
}

/** Words and JSON behind them, with spaces to the end of a word. */
function encodeWithJson(words: readonly number[], value: unknown): Int32Array {
  const text = new TextEncoder().encode(JSON.stringify(value));
  const part = new Int32Array(words.length + Math.ceil(text.length / 4));
  part.fill(0x2020_2020).set(words);
  new Uint8Array(part.buffer).set(text, words.length * 4);
  return part;
}

/** Writes the names in blocks and gives where each ends. */
async function writeNames(out: PartWriter, names: readonly RegionName[]): Promise<number[]> {
  const ends: number[] = [];
  const start = out.offset;
  for (let first = 0; first < names.length; first += NAMES_PER_BLOCK) {
    const some = names.slice(first, first + NAMES_PER_BLOCK);
    const pairs = some.map(({ region, regionFullName }) => [region, regionFullName]);
    await out.write(encodeWithJson([], pairs));
    ends.push(out.offset - start);
  }
  return ends;
}

/** `salt` goes into all checksums of the file. */
export async function createIndexWriter(
  file: NewFile,
  limits: Pick<ImportLimits, 'pieces' | 'indexBytes'>,
  salt: number,
): Promise<IndexWriter> {
  const encoder = createVertexEncoder();
  const table = new PieceTable();
  const out = new PartWriter(file, salt);
  // The header follows at the end, over these zeros.
  await out.write(new Int32Array(HEADER_BYTES / 4 - 1));

  return {
    get pieces() {
      return table.count;
    },
    flush: () => out.flush(),
    add(piece, feature) {
      if (table.count >= limits.pieces)
        throw buildMapTooLargeError(`the map splits into more than ${limits.pieces} pieces`);
      const { offset } = out;
      if (offset > limits.indexBytes)
        throw buildMapTooLargeError(`the index of the map is larger than ${limits.indexBytes} bytes`);
      const length = piece.isInterior ? 0 : out.append(encoder.encode(piece));
      table.add(encodeRow({ box: piece.box, feature, offset, length }));
      return out.isFull;
    },
    async finish(facts, names) {
      const pagesAt = out.offset;
      const order = orderByPosition(table);
      const rows = { count: order.length, rowWords: ROW_WORDS, row: (i: number) => table.row(order[i] as number) };
      const pages = await writeRows(out, rows, PAGE_PIECES);
      const box = (i: number) => pages.subarray(i * BOX_WORDS, (i + 1) * BOX_WORDS);
      const groups = await writeRows(
        out,
        { count: pages.length / BOX_WORDS, rowWords: BOX_WORDS, row: box },
        GROUP_PAGES,
      );
      const namesAt = out.offset;
      const nameEnds = await writeNames(out, names);
      const directoryAt = out.offset;
      const info: DirectoryJson = { ...facts, pieces: order.length };
      const identity = await out.write(encodeWithJson([...groups, ...nameEnds], info));
      await out.flush();
      const bytes = out.offset;
      const parts = { pagesAt, namesAt, directoryAt, directoryBytes: bytes - directoryAt };
      const header = encodeHeader({ pieces: order.length, features: names.length, ...parts, identity, salt });
      await file.writeAt(0, new Uint8Array(header.buffer));
      return { ...info, bytes };
    },
  };
}
