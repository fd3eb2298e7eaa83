/** Reads pages, page groups and rings of an index on demand and caches them. */

import { type IndexHeader, locateGroup, locatePage, locateRings, type Part, type PieceRow } from './index-layout.ts';
import { type IndexFile, readPart } from './index-reader.ts';
import { createPageCache } from './page-cache.ts';

const CACHE_BYTES = 4 << 20;

export interface PartReader {
  readonly header: IndexHeader;
  /** The cache; another array after a part has been read. */
  words(): Int32Array;
  /** The position in `words()`, valid until the next call. */
  locatePage(page: number): number;
  locateGroup(group: number): number;
  /** The packed rings of a piece, valid until the next call. */
  readRings(row: PieceRow): Uint8Array;
}

export function createPartReader(index: IndexFile): PartReader {
  const { header } = index;
  const cache = createPageCache(CACHE_BYTES);
  const locate = (part: Part): number =>
    cache.find(part.offset) ??
    cache.add(part.offset, part.length, (at) =>
      readPart(index, part, cache.words().subarray(at / 4, (at + part.length) / 4)),
    );
  return {
    header,
    words: cache.words,
    locatePage: (page) => locate(locatePage(header, page)) / 4,
    locateGroup: (group) => locate(locateGroup(header, group)) / 4,
    readRings(row) {
      const part = locateRings(header, row);
      const at = locate(part);
      return cache.bytes().subarray(at, at + part.length - 4);
    },
  };
}
