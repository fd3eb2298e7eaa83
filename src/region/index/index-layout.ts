/** Where everything stands in an index file and how its parts are proved whole; reads and writes no file. */

import { damagedError } from '../map-failure.ts';
import { computeChecksum } from './checksum.ts';
import { SURVEY_WORDS } from './coverage-mask.ts';

/**
 * header | blobs | pages | shelves | names | directory. Little-endian throughout; every part is a whole number of words, the last
 * of which is its seal.
 * A page lists pieces that lie near each other, a shelf the boxes of pages, the directory the boxes of shelves; names stand in
 * blocks. So a lookup reads and checks a few kilobytes, whatever the size of the map: a directory of all pages and names took a
 * cold lookup of 100 MB 4 ms more, most of it for compiling the checksum's loop.
 */
export const HEADER_BYTES = 64;
const MAGIC = 0x5247_4447;
export const FORMAT_VERSION = 2;

export interface IndexHeader {
  readonly pieces: number;
  readonly features: number;
  readonly pagesAt: number;
  readonly namesAt: number;
  readonly directoryAt: number;
  readonly directoryBytes: number;
  /** The seal of the directory: no two imports have the same. */
  readonly identity: number;
}

/** Pieces of a page: with 128 a lookup takes a third longer, with 32 there are twice as many shelves. */
export const PAGE_PIECES = 64;
/** Words of a piece: four lines of its box, feature, offset and length of its blob (0: wholly inside), survey. */
export const ROW = { west: 0, south: 1, east: 2, north: 3, feature: 4, offset: 5, length: 6, survey: 7 } as const;
export const ROW_WORDS = ROW.survey + SURVEY_WORDS;
export const PAGE_BYTES = (PAGE_PIECES * ROW_WORDS + 1) * 4;

/** A piece of the most vertices takes little more than half of it. */
const MAX_BLOB_BYTES = 2 << 20;

/** Words of a box, in the order of a row. */
export const BOX_WORDS = 4;
export const GROUP_PAGES = 16;
export const GROUP_BYTES = (GROUP_PAGES * BOX_WORDS + 1) * 4;

/** Features of a block of names: JSON, an array of [region, regionFullName] each. */
export const NAMES_PER_BLOCK = 16;
/** The longest names there may be take half of it. */
export const MAX_NAME_BLOCK_BYTES = 1 << 16;

/** What follows from the numbers of the header: pages, and shelves behind them. */
export function countParts({ pieces, features, pagesAt }: Pick<IndexHeader, 'pieces' | 'features' | 'pagesAt'>) {
  const pages = Math.ceil(pieces / PAGE_PIECES);
  const groupsAt = pagesAt + pages * PAGE_BYTES;
  return {
    pages,
    shelvesAt: groupsAt,
    pageGroups: Math.ceil(pages / GROUP_PAGES),
    blocks: Math.ceil(features / NAMES_PER_BLOCK),
  };
}

const LAST_WORD = HEADER_BYTES / 4 - 1;

export function encodeHeader(header: IndexHeader): Uint8Array {
  const words = new Uint32Array(HEADER_BYTES / 4);
  const { pieces, features, pagesAt, namesAt, directoryAt, directoryBytes, identity } = header;
  words.set([MAGIC, FORMAT_VERSION, pieces, features, pagesAt, namesAt, directoryAt, directoryBytes, identity]);
  writeChecksum(words);
  return new Uint8Array(words.buffer);
}

/** Throws when the words are no header of this version, or the file has another size than it tells. */
export function decodeHeader(words: Uint32Array, fileBytes: number): IndexHeader {
  const word = (i: number) => words[i] as number;
  if (words.length <= LAST_WORD || word(0) !== MAGIC) throw damagedError('the file is no map index');
  if (word(1) !== FORMAT_VERSION)
    throw damagedError(`the map index has format ${word(1)}, this program reads ${FORMAT_VERSION}`);
  verifyChecksum(words, 0, words.length, 'the header of the map index');
  const header: IndexHeader = {
    pieces: word(2),
    features: word(3),
    pagesAt: word(4),
    namesAt: word(5),
    directoryAt: word(6),
    directoryBytes: word(7),
    identity: word(8),
  };
  if (header.directoryAt + header.directoryBytes !== fileBytes) throw damagedError('the map index is cut short');
  if (!isConsistent(header)) throw damagedError('the header of the map index tells of parts that are not there');
  return header;
}

/** The boxes of shelves, the ends of names and the facts of the largest map take less than a tenth of it. */
const MAX_DIRECTORY_BYTES = 1 << 18;

/** Whether the parts follow on each other as the counts say. Seals find damage, not forgery: what a file counts is not taken on trust. */
function isConsistent(header: IndexHeader): boolean {
  const { pagesAt, namesAt, directoryAt, directoryBytes } = header;
  const { pageGroups: shelves, shelvesAt, blocks } = countParts(header);
  return (
    pagesAt >= HEADER_BYTES &&
    shelvesAt + shelves * GROUP_BYTES === namesAt &&
    namesAt <= directoryAt &&
    directoryBytes % 4 === 0 &&
    directoryBytes > (shelves * BOX_WORDS + blocks) * 4 &&
    directoryBytes <= MAX_DIRECTORY_BYTES
  );
}

/** Throws when no blob can stand where a row says. */
export function checkBlobRange({ pagesAt }: IndexHeader, offset: number, length: number): void {
  if (offset < HEADER_BYTES || offset + length > pagesAt || length > MAX_BLOB_BYTES || length % 4 !== 0)
    throw damagedError('a piece of the map index stands where none can be');
}

/** Makes the last word of a part the checksum of the others, and gives it. */
export function writeChecksum(words: Uint32Array): number {
  const sum = computeChecksum(words, 0, words.length - 1);
  words[words.length - 1] = sum;
  return sum;
}

/** Throws when a part of `length` words is not what was sealed. */
export function verifyChecksum(words: Uint32Array, from: number, length: number, what: string): void {
  if (length < 1 || words[from + length - 1] !== computeChecksum(words, from, length - 1))
    throw damagedError(`${what} is damaged`);
}
