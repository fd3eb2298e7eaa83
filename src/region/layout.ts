/** Where everything stands in an index file and how its parts are proved whole; reads and writes no file. */

import { crc32 } from 'node:zlib';
import { damaged } from './failure.ts';
import { SURVEY_WORDS } from './survey.ts';

/**
 * header | blobs | pages | directory (flatbush of the pages' boxes, then JSON: facts, names). Little-endian throughout.
 * A page lists pieces that lie near each other, so that a lookup reads the directory, a page or two and a blob or two,
 * whatever the size of the map.
 */
export const HEADER_BYTES = 64;
const MAGIC = 0x5247_4447; // "GDGR"
export const VERSION = 1;

export interface Header {
  readonly pages: number;
  readonly pieces: number;
  readonly pagesAt: number;
  readonly directoryAt: number;
  /** The flatbush part of the directory; JSON follows. */
  readonly treeBytes: number;
  readonly jsonBytes: number;
  readonly directoryCrc: number;
}

/** Pieces of a page: with 128 a lookup takes a third longer, with 32 the directory doubles. */
export const PAGE_PIECES = 64;
/** Words of a piece: four lines of its box, feature, offset and length of its blob (0: wholly inside), survey. */
export const ROW = { west: 0, south: 1, east: 2, north: 3, feature: 4, offset: 5, length: 6, survey: 7 } as const;
export const ROW_WORDS = ROW.survey + SURVEY_WORDS;
export const PAGE_BYTES = (PAGE_PIECES * ROW_WORDS + 1) * 4;

export const crcOf = (bytes: Uint8Array) => crc32(bytes);

export function packHeader(header: Header): Uint8Array {
  const bytes = new Uint8Array(HEADER_BYTES);
  const view = new DataView(bytes.buffer);
  const words = [MAGIC, VERSION, header.pages, header.pieces, header.pagesAt, header.directoryAt, header.treeBytes];
  for (const [i, word] of [...words, header.jsonBytes, header.directoryCrc].entries())
    view.setUint32(i * 4, word, true);
  view.setUint32(HEADER_BYTES - 4, crcOf(bytes.subarray(0, HEADER_BYTES - 4)), true);
  return bytes;
}

/** Throws when the bytes are no header of this version, or the file has another size than it tells. */
export function unpackHeader(bytes: Uint8Array, fileBytes: number): Header {
  if (bytes.length < HEADER_BYTES) throw damaged('the map index is cut short');
  const view = new DataView(bytes.buffer, bytes.byteOffset, HEADER_BYTES);
  const word = (i: number) => view.getUint32(i * 4, true);
  if (word(0) !== MAGIC) throw damaged('the file is no map index');
  if (word(1) !== VERSION) throw damaged(`the map index has format ${word(1)}, this program reads ${VERSION}`);
  if (word(15) !== crcOf(bytes.subarray(0, HEADER_BYTES - 4))) throw damaged('the header of the map index is damaged');
  const header: Header = {
    pages: word(2),
    pieces: word(3),
    pagesAt: word(4),
    directoryAt: word(5),
    treeBytes: word(6),
    jsonBytes: word(7),
    directoryCrc: word(8),
  };
  if (header.directoryAt + header.treeBytes + header.jsonBytes !== fileBytes)
    throw damaged('the map index is cut short');
  return header;
}

const lastWord = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset + bytes.length - 4, 4);

/** Seals a page or a blob: its last four bytes become the checksum of the others. */
export function seal(bytes: Uint8Array): Uint8Array {
  lastWord(bytes).setUint32(0, crcOf(bytes.subarray(0, bytes.length - 4)), true);
  return bytes;
}

/** Throws when sealed bytes are not what was written. */
export function checkSeal(bytes: Uint8Array, what: string): void {
  if (bytes.length < 4 || lastWord(bytes).getUint32(0, true) !== crcOf(bytes.subarray(0, bytes.length - 4)))
    throw damaged(`${what} is damaged`);
}
