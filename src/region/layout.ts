/** Where everything stands in an index file and how its parts are proved whole; reads and writes no file. */

import { checksumOf } from './checksum.ts';
import { damaged } from './failure.ts';
import { SURVEY_WORDS } from './survey.ts';

/**
 * header | blobs | pages | shelves | names | directory. Little-endian throughout; every part is a whole number of words, the last
 * of which is its seal.
 * A page lists pieces that lie near each other, a shelf the boxes of pages, the directory the boxes of shelves; names stand in
 * blocks. So a lookup reads and checks a few kilobytes, whatever the size of the map: a directory of all pages and names took a
 * cold lookup of 100 MB 4 ms more, most of it for compiling the checksum's loop.
 */
export const HEADER_BYTES = 64;
const MAGIC = 0x5247_4447;
export const VERSION = 2;

export interface Header {
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
const MOST_BLOB_BYTES = 2 << 20;

/** Words of a box, in the order of a row. */
export const BOX_WORDS = 4;
export const SHELF_PAGES = 16;
export const SHELF_BYTES = (SHELF_PAGES * BOX_WORDS + 1) * 4;

/** Features of a block of names: JSON, an array of [region, regionFullName] each. */
export const BLOCK_NAMES = 16;
/** The longest names there may be take half of it. */
export const MOST_BLOCK_BYTES = 1 << 16;

/** What follows from the numbers of the header: pages, and shelves behind them. */
export function countsOf({ pieces, features, pagesAt }: Pick<Header, 'pieces' | 'features' | 'pagesAt'>) {
  const pages = Math.ceil(pieces / PAGE_PIECES);
  const shelvesAt = pagesAt + pages * PAGE_BYTES;
  return { pages, shelvesAt, shelves: Math.ceil(pages / SHELF_PAGES), blocks: Math.ceil(features / BLOCK_NAMES) };
}

const LAST_WORD = HEADER_BYTES / 4 - 1;

export function packHeader(header: Header): Uint8Array {
  const words = new Uint32Array(HEADER_BYTES / 4);
  const { pieces, features, pagesAt, namesAt, directoryAt, directoryBytes, identity } = header;
  words.set([MAGIC, VERSION, pieces, features, pagesAt, namesAt, directoryAt, directoryBytes, identity]);
  seal(words);
  return new Uint8Array(words.buffer);
}

/** Throws when the words are no header of this version, or the file has another size than it tells. */
export function unpackHeader(words: Uint32Array, fileBytes: number): Header {
  const word = (i: number) => words[i] as number;
  if (words.length <= LAST_WORD || word(0) !== MAGIC) throw damaged('the file is no map index');
  if (word(1) !== VERSION) throw damaged(`the map index has format ${word(1)}, this program reads ${VERSION}`);
  checkSeal(words, 0, words.length, 'the header of the map index');
  const header: Header = {
    pieces: word(2),
    features: word(3),
    pagesAt: word(4),
    namesAt: word(5),
    directoryAt: word(6),
    directoryBytes: word(7),
    identity: word(8),
  };
  if (header.directoryAt + header.directoryBytes !== fileBytes) throw damaged('the map index is cut short');
  if (!isSound(header)) throw damaged('the header of the map index tells of parts that are not there');
  return header;
}

/** The boxes of shelves, the ends of names and the facts of the largest map take less than a tenth of it. */
const MOST_DIRECTORY_BYTES = 1 << 18;

/** Whether the parts follow on each other as the counts say. Seals find damage, not forgery: what a file counts is not taken on trust. */
function isSound(header: Header): boolean {
  const { pagesAt, namesAt, directoryAt, directoryBytes } = header;
  const { shelves, shelvesAt, blocks } = countsOf(header);
  return (
    pagesAt >= HEADER_BYTES &&
    shelvesAt + shelves * SHELF_BYTES === namesAt &&
    namesAt <= directoryAt &&
    directoryBytes % 4 === 0 &&
    directoryBytes > (shelves * BOX_WORDS + blocks) * 4 &&
    directoryBytes <= MOST_DIRECTORY_BYTES
  );
}

/** Throws when no blob can stand where a row says. */
export function checkBlob({ pagesAt }: Header, offset: number, length: number): void {
  if (offset < HEADER_BYTES || offset + length > pagesAt || length > MOST_BLOB_BYTES || length % 4 !== 0)
    throw damaged('a piece of the map index stands where none can be');
}

/** Makes the last word of a part the checksum of the others, and gives it. */
export function seal(words: Uint32Array): number {
  const sum = checksumOf(words, 0, words.length - 1);
  words[words.length - 1] = sum;
  return sum;
}

/** Throws when a part of `length` words is not what was sealed. */
export function checkSeal(words: Uint32Array, from: number, length: number, what: string): void {
  if (length < 1 || words[from + length - 1] !== checksumOf(words, from, length - 1))
    throw damaged(`${what} is damaged`);
}
