/** Opens an index and finds the region of a place: the one file that asks turf, the only judge of inside. Never writes. */

import { booleanPointInPolygon } from '@turf/boolean-point-in-polygon';
import { type Disk, DiskError } from '../domain/ports.ts';
import type { Place } from '../domain/units.ts';
import { STEPS_PER_DEGREE } from './index/cell-grid.ts';
import { clipRings, toCoordinates } from './index/clip.ts';
import { BORDER, INSIDE, PARTS, partOf } from './index/coverage-mask.ts';
import {
  BOX_WORDS,
  checkBlobRange,
  countParts,
  GROUP_BYTES,
  GROUP_PAGES,
  NAMES_PER_BLOCK,
  PAGE_BYTES,
  PAGE_PIECES,
  ROW,
  ROW_WORDS,
  verifyChecksum,
} from './index/index-layout.ts';
import { type IndexFile, type NamePair, openIndex, readNameBlock } from './index/index-reader.ts';
import { createPageCache } from './index/page-cache.ts';
import { createVertexDecoder } from './index/vertex-codec.ts';
import { damagedError, toMapFailure } from './map-failure.ts';
import type { MapFailure, RegionMap, RegionMatch } from './region-types.ts';

/** Whether a polygon covers a point, its border and the borders of its holes included. */
export const covers = (rings: number[][][], longitude: number, latitude: number): boolean =>
  booleanPointInPolygon([longitude, latitude], { type: 'Polygon', coordinates: rings });

/** Shelves, pages and blobs kept in memory, together. */
const CACHE_BYTES = 4 << 20;
/** Keys of pages and shelves lie beyond those of blobs, which are offsets in the file. */
const PAGE_KEY = 2 ** 32;
const GROUP_KEY = 2 ** 33;

/** Reads parts of the file as they are asked for and keeps those read last. */
export function createPartReader({ file, header }: IndexFile) {
  const cache = createPageCache(CACHE_BYTES);

  function fill(target: Uint8Array, offset: number, what: string): void {
    if (file.readNow(target, offset) !== target.length) throw damagedError(`${what} is cut short`);
  }

  /** The place in the ring; valid until the next call. */
  const locatePart = (key: number, offset: number, length: number, what: string): number =>
    cache.find(key) ??
    cache.add(key, length, (at) => {
      fill(cache.bytes().subarray(at, at + length), offset, what);
      verifyChecksum(cache.words(), at / 4, length / 4, what);
    });

  function readBlob(offset: number, length: number): Uint8Array {
    checkBlobRange(header, offset, length);
    const at = locatePart(offset, offset, length, 'a piece of the map index');
    return cache.bytes().subarray(at, at + length - 4);
  }

  /** The word where it begins; valid until the next call. */
  const locatePage = (nth: number): number =>
    locatePart(PAGE_KEY + nth, header.pagesAt + nth * PAGE_BYTES, PAGE_BYTES, 'a page of the map index') / 4;

  return { ring: cache, place: locatePart, page: locatePage, blob: readBlob };
}

/** A piece whose rings must be asked, kept as three numbers one after the other. */
const PENDING_NUMBERS = 3;

/** Whether the box at `at`, or that of a row there, holds a point. */
const isInBox = (words: Int32Array, at: number, stepsX: number, stepsY: number): boolean =>
  stepsX >= (words[at + ROW.west] as number) &&
  stepsX <= (words[at + ROW.east] as number) &&
  stepsY >= (words[at + ROW.south] as number) &&
  stepsY <= (words[at + ROW.north] as number);

/** The numbers of all features that cover a place, ascending. */
function createFeatureSearch(index: IndexFile): (place: Place) => number[] {
  const { header, directory } = index;
  const { pages, shelvesAt: groupsAt } = countParts(header);
  const { pageGroups } = directory;
  const { ring: cache, place, page: locatePage, blob: readBlob } = createPartReader(index);
  const decodeRings = createVertexDecoder();
  let clipped = new Uint32Array(512);

  function pieceCovers(offset: number, length: number, x: number, y: number): boolean {
    const rings = decodeRings(readBlob(offset, length));
    if (clipped.length < rings.to) clipped = new Uint32Array(rings.to);
    const to = clipRings(rings, { west: x, south: y, east: x, north: y }, clipped, 0);
    return to > 0 && covers(toCoordinates({ xy: rings.xy, list: clipped, from: 0, to }), x, y);
  }

  /** What the survey in the row at `row` tells of a point within the row's box. */
  function surveyAt(row: number, stepsX: number, stepsY: number): number {
    const [signed, words] = [cache.signedWords(), cache.words()];
    const column = partOf(signed[row + ROW.west] as number, signed[row + ROW.east] as number, stepsX);
    const line = partOf(signed[row + ROW.south] as number, signed[row + ROW.north] as number, stepsY);
    const part = line * PARTS + column;
    return ((words[row + ROW.survey + (part >> 4)] as number) >>> ((part & 15) * 2)) & 3;
  }

  /** Adds the features whose pieces in this page are known to cover the point, and the pieces that must be asked. */
  function searchPage(nth: number, stepsX: number, stepsY: number, found: number[], pending: number[]): void {
    const at = locatePage(nth);
    const [signed, words] = [cache.signedWords(), cache.words()];
    const count = Math.min(PAGE_PIECES, header.pieces - nth * PAGE_PIECES);
    const end = at + count * ROW_WORDS;
    for (let row = at; row < end; row += ROW_WORDS) {
      if (!isInBox(signed, row, stepsX, stepsY)) continue;
      const known = surveyAt(row, stepsX, stepsY);
      const feature = words[row + ROW.feature] as number;
      if (known === INSIDE) found.push(feature);
      else if (known === BORDER)
        pending.push(feature, words[row + ROW.offset] as number, words[row + ROW.length] as number);
    }
  }

  /** Adds the pages of a shelf whose boxes hold the point. */
  function searchGroup(nth: number, stepsX: number, stepsY: number, found: number[]): void {
    const at = place(GROUP_KEY + nth, groupsAt + nth * GROUP_BYTES, GROUP_BYTES, 'a shelf of the map index') / 4;
    const boxes = cache.signedWords();
    const first = nth * GROUP_PAGES;
    const count = Math.min(GROUP_PAGES, pages - first);
    for (let i = 0; i < count; i++) if (isInBox(boxes, at + i * BOX_WORDS, stepsX, stepsY)) found.push(first + i);
  }

  function searchMeridian(x: number, y: number, found: number[]): void {
    const [stepsX, stepsY] = [x * STEPS_PER_DEGREE, y * STEPS_PER_DEGREE];
    const near: number[] = [];
    for (let at = 0; at < pageGroups.length; at += BOX_WORDS)
      if (isInBox(pageGroups, at, stepsX, stepsY)) searchGroup(at / BOX_WORDS, stepsX, stepsY, near);
    if (near.length === 0) return;
    const pending: number[] = [];
    for (const nth of near) searchPage(nth, stepsX, stepsY, found, pending);
    for (let i = 0; i < pending.length; i += PENDING_NUMBERS) {
      const [feature, offset, length] = [pending[i], pending[i + 1], pending[i + 2]] as [number, number, number];
      if (!found.includes(feature) && pieceCovers(offset, length, x, y)) found.push(feature);
    }
  }

  return ({ latitude, longitude }) => {
    const found: number[] = [];
    // A map may run on past ±180, and 180 and -180 are one meridian.
    searchMeridian(longitude, latitude, found);
    searchMeridian(longitude - 360, latitude, found);
    searchMeridian(longitude + 360, latitude, found);
    return found.length > 1 ? [...new Set(found)].sort((a, b) => a - b) : found;
  };
}

/** Names by the number of their feature; a block of them is read when one of it is first asked for. */
function createNameLookup(index: IndexFile): (feature: number) => NamePair {
  const names: NamePair[] = [];
  return (feature) => {
    const known = names[feature];
    if (known !== undefined) return known;
    const block = Math.floor(feature / NAMES_PER_BLOCK);
    for (const [i, name] of readNameBlock(index, block).entries()) names[block * NAMES_PER_BLOCK + i] = name;
    const name = names[feature];
    if (name === undefined) throw damagedError('a feature of the map index has no name');
    return name;
  };
}

/** Damage met while looking up is the disk's trouble to the caller, who may import again. */
function toDiskError(error: unknown): DiskError {
  if (error instanceof DiskError) return error;
  return new DiskError({ kind: 'io', detail: toMapFailure(error).message });
}

/** The map held for a signal type: undefined when there is none, a failure when it cannot be used. */
export async function openMap(disk: Disk, signalType: string): Promise<RegionMap | MapFailure | undefined> {
  const index = await openIndex(disk, signalType);
  if (index === undefined || 'kind' in index) return index;
  const { file, directory } = index;
  const search = createFeatureSearch(index);
  const findName = createNameLookup(index);
  return {
    info: { ...directory.info, bytes: file.size },
    async findRegion(place): Promise<RegionMatch | undefined> {
      try {
        const features = search(place);
        const [feature] = features;
        if (feature === undefined) return undefined;
        const [region, regionFullName] = findName(feature);
        const candidates = features.length === 1 ? [region] : [...new Set(features.map((other) => findName(other)[0]))];
        return { region, regionFullName, feature, candidates };
      } catch (error) {
        throw toDiskError(error);
      }
    },
    close: () => file.close(),
  };
}
