/** The positions of the parts of an index file. */

import { buildDamagedError } from '../map-failure.ts';
import type { GridBox } from './cell-grid.ts';
import { verifyChecksum, writeChecksum } from './checksum.ts';

/**
 * header | blobs | pages | page groups | names | directory. Little-endian throughout; every part is a whole number of words, the
 * last of which is its checksum.
 * A page lists pieces that lie near each other, a group the boxes of pages, the directory the boxes of groups; names stand in
 * blocks. So a lookup reads and checks a few kilobytes, whatever the size of the map: a directory of all pages and names took a
 * cold lookup of 100 MB 4 ms more, most of it for compiling the checksum's loop.
 */
export const HEADER_BYTES = 64;
const MAGIC = 0x5247_4447;
const FORMAT_VERSION = 3;

export interface IndexHeader {
  readonly pieces: number;
  readonly features: number;
  readonly pagesAt: number;
  readonly namesAt: number;
  readonly directoryAt: number;
  readonly directoryBytes: number;
  /** The checksum of the directory: no two imports have the same. */
  readonly identity: number;
  /** Of all checksums of the file. */
  readonly salt: number;
}

/** A part of the file and its name in error texts. */
export interface Part {
  readonly offset: number;
  /** In bytes, a multiple of 4. */
  readonly length: number;
  readonly what: string;
}

/** Words of a box: its four lines in grid steps. */
export const BOX_WORDS = 4;
/** A row of a page: the box of a piece, its feature, and the position of its rings (length 0: the box lies inside the region as a whole). */
export const ROW = { west: 0, south: 1, east: 2, north: 3, feature: 4, offset: 5, length: 6 } as const;
export const ROW_WORDS = 7;
export interface PieceRow {
  readonly box: GridBox;
  readonly feature: number;
  readonly offset: number;
  readonly length: number;
}

/** With 128 a lookup is a third slower, with 32 there are twice as many groups. */
export const PAGE_PIECES = 64;
export const GROUP_PAGES = 16;
const PAGE_BYTES = (PAGE_PIECES * ROW_WORDS + 1) * 4;
const GROUP_BYTES = (GROUP_PAGES * BOX_WORDS + 1) * 4;

/** A piece of the most vertices uses little more than half of it. */
const MAX_BLOB_BYTES = 2 << 20;
/** Features of a block of names: JSON, an array of [region, regionFullName] each. */
export const NAMES_PER_BLOCK = 16;
/** The longest possible names use half of it. */
const MAX_NAME_BLOCK_BYTES = 1 << 16;
/** The boxes of groups, the ends of names and the facts of the largest map use less than a tenth of it. */
const MAX_DIRECTORY_BYTES = 1 << 18;

export function decodeBox(words: Int32Array, at: number): GridBox {
  return {
    west: words[at + ROW.west] as number,
    south: words[at + ROW.south] as number,
    east: words[at + ROW.east] as number,
    north: words[at + ROW.north] as number,
  };
}

export const encodeBox = ({ west, south, east, north }: GridBox) => [west, south, east, north];

export function decodeRow(words: Int32Array, at: number): PieceRow {
  return {
    box: decodeBox(words, at),
    feature: (words[at + ROW.feature] as number) >>> 0,
    offset: (words[at + ROW.offset] as number) >>> 0,
    length: (words[at + ROW.length] as number) >>> 0,
  };
}

export const encodeRow = ({ box, feature, offset, length }: PieceRow) => [...encodeBox(box), feature, offset, length];

/** What follows from the numbers of the header. */
export function countParts({ pieces, features, pagesAt }: Pick<IndexHeader, 'pieces' | 'features' | 'pagesAt'>) {
  const pages = Math.ceil(pieces / PAGE_PIECES);
  return {
    pages,
    groups: Math.ceil(pages / GROUP_PAGES),
    groupsAt: pagesAt + pages * PAGE_BYTES,
    nameBlocks: Math.ceil(features / NAMES_PER_BLOCK),
  };
}

export function locatePage({ pagesAt }: IndexHeader, page: number): Part {
  return { offset: pagesAt + page * PAGE_BYTES, length: PAGE_BYTES, what: 'a page of the map index' };
}

/** Rows of a page in use. */
export const countRows = ({ pieces }: IndexHeader, page: number) => Math.min(PAGE_PIECES, pieces - page * PAGE_PIECES);

export function locateGroup(header: IndexHeader, group: number): Part {
  const offset = countParts(header).groupsAt + group * GROUP_BYTES;
  return { offset, length: GROUP_BYTES, what: 'a page group of the map index' };
}

/** Throws when the row's position of rings is impossible. */
export function locateRings({ pagesAt }: IndexHeader, { offset, length }: PieceRow): Part {
  const what = 'a piece of the map index';
  if (offset < HEADER_BYTES || offset + length > pagesAt || length > MAX_BLOB_BYTES || length % 4 !== 0)
    throw buildDamagedError(`${what} stands where none can be`);
  return { offset, length, what };
}

/** `nameEnds` is the end of each block of names, counted from the first. */
export function locateNames({ namesAt }: IndexHeader, nameEnds: Int32Array, block: number): Part {
  const what = 'a name of the map index';
  const from = nameEnds[block - 1] ?? 0;
  const length = (nameEnds[block] ?? 0) - from;
  if (length <= 0 || length > MAX_NAME_BLOCK_BYTES || length % 4 !== 0)
    throw buildDamagedError(`${what} stands where none can be`);
  return { offset: namesAt + from, length, what };
}

export function encodeHeader(header: IndexHeader): Int32Array {
  const words = new Int32Array(HEADER_BYTES / 4);
  const { pieces, features, pagesAt, namesAt, directoryAt, directoryBytes, identity, salt } = header;
  words.set([MAGIC, FORMAT_VERSION, pieces, features, pagesAt, namesAt, directoryAt, directoryBytes, identity, salt]);
  writeChecksum(words, salt, 0);
  return words;
}

/** Throws when the words are no header of this version, or the file has another size than the header gives. */
export function decodeHeader(words: Int32Array, fileBytes: number): IndexHeader {
  const numberAt = (i: number) => (words[i] as number) >>> 0;
  if (fileBytes < HEADER_BYTES || numberAt(0) !== MAGIC) throw buildDamagedError('the file is no map index');
  if (numberAt(1) !== FORMAT_VERSION)
    throw buildDamagedError(`the map index has format ${numberAt(1)}, this program reads ${FORMAT_VERSION}`);
  const salt = words[9] as number;
  verifyChecksum(words, salt, 0, 'the header of the map index');
  const header: IndexHeader = {
    pieces: numberAt(2),
    features: numberAt(3),
    pagesAt: numberAt(4),
    namesAt: numberAt(5),
    directoryAt: numberAt(6),
    directoryBytes: numberAt(7),
    identity: words[8] as number,
    salt,
  };
  if (header.directoryAt + header.directoryBytes !== fileBytes) throw buildDamagedError('the map index is cut short');
  if (!isConsistent(header)) throw buildDamagedError('the header of the map index tells of parts that are not there');
  return header;
}

/** Whether the parts follow on each other by their counts. Checksums find damage, not forgery: counts are not trusted. */
function isConsistent(header: IndexHeader): boolean {
  const { pagesAt, namesAt, directoryAt, directoryBytes } = header;
  const { groups, groupsAt, nameBlocks } = countParts(header);
  return (
    pagesAt >= HEADER_BYTES &&
    groupsAt + groups * GROUP_BYTES === namesAt &&
    namesAt <= directoryAt &&
    directoryBytes % 4 === 0 &&
    directoryBytes > (groups * BOX_WORDS + nameBlocks) * 4 &&
    directoryBytes <= MAX_DIRECTORY_BYTES
  );
}
