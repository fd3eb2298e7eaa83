/** Opens an index and finds the region of a place: the one file that asks turf, the only judge of inside. Never writes. */

import { booleanPointInPolygon } from '@turf/boolean-point-in-polygon';
import type { Place } from '../units.ts';
import { type Disk, DiskError } from '../world.ts';
import { createUnpacker } from './blob.ts';
import { createByteRing } from './byte-ring.ts';
import { reduce, ringsOf } from './cell.ts';
import { damaged, failureOf } from './failure.ts';
import { STEPS_PER_DEGREE } from './grid.ts';
import { type Held, type Name, openHeld, readNames } from './held.ts';
import {
  BLOCK_NAMES,
  BOX_WORDS,
  checkBlob,
  checkSeal,
  countsOf,
  PAGE_BYTES,
  PAGE_PIECES,
  ROW,
  ROW_WORDS,
  SHELF_BYTES,
  SHELF_PAGES,
} from './layout.ts';
import type { MapFailure, RegionFound, RegionMap } from './map.ts';
import { BORDER, INSIDE, PARTS, partOf } from './survey.ts';

/** Whether a polygon covers a point, its border and the borders of its holes included. */
export const covers = (rings: number[][][], longitude: number, latitude: number): boolean =>
  booleanPointInPolygon([longitude, latitude], { type: 'Polygon', coordinates: rings });

/** Shelves, pages and blobs kept in memory, together. */
const CACHE_BYTES = 4 << 20;
/** Keys of pages and shelves lie beyond those of blobs, which are offsets in the file. */
const PAGE_KEY = 2 ** 32;
const SHELF_KEY = 2 ** 33;

/** Reads parts of the file as they are asked for and keeps those read last. */
export function createParts({ file, header }: Held) {
  const ring = createByteRing(CACHE_BYTES);

  function fill(target: Uint8Array, offset: number, what: string): void {
    if (file.readNow(target, offset) !== target.length) throw damaged(`${what} is cut short`);
  }

  /** The place in the ring; valid until the next call. */
  const place = (key: number, offset: number, length: number, what: string): number =>
    ring.find(key) ??
    ring.add(key, length, (at) => {
      fill(ring.bytes().subarray(at, at + length), offset, what);
      checkSeal(ring.words(), at / 4, length / 4, what);
    });

  function blob(offset: number, length: number): Uint8Array {
    checkBlob(header, offset, length);
    const at = place(offset, offset, length, 'a piece of the map index');
    return ring.bytes().subarray(at, at + length - 4);
  }

  /** The word where it begins; valid until the next call. */
  const page = (nth: number): number =>
    place(PAGE_KEY + nth, header.pagesAt + nth * PAGE_BYTES, PAGE_BYTES, 'a page of the map index') / 4;

  return { ring, place, page, blob };
}

/** A piece whose rings must be asked, kept as three numbers one after the other. */
const PENDING_NUMBERS = 3;

/** Whether the box at `at`, or that of a row there, holds a point. */
const isIn = (words: Int32Array, at: number, stepsX: number, stepsY: number): boolean =>
  stepsX >= (words[at + ROW.west] as number) &&
  stepsX <= (words[at + ROW.east] as number) &&
  stepsY >= (words[at + ROW.south] as number) &&
  stepsY <= (words[at + ROW.north] as number);

/** The numbers of all features that cover a place, ascending. */
function createSearch(held: Held): (place: Place) => number[] {
  const { header, directory } = held;
  const { pages, shelvesAt } = countsOf(header);
  const { shelves } = directory;
  const { ring, place, page, blob } = createParts(held);
  const unpack = createUnpacker();
  let reduced = new Uint32Array(512);

  function pieceCovers(offset: number, length: number, x: number, y: number): boolean {
    const rings = unpack(blob(offset, length));
    if (reduced.length < rings.to) reduced = new Uint32Array(rings.to);
    const to = reduce(rings, { west: x, south: y, east: x, north: y }, reduced, 0);
    return to > 0 && covers(ringsOf({ xy: rings.xy, list: reduced, from: 0, to }), x, y);
  }

  /** What the survey in the row at `row` tells of a point within the row's box. */
  function surveyAt(row: number, stepsX: number, stepsY: number): number {
    const [signed, words] = [ring.signed(), ring.words()];
    const column = partOf(signed[row + ROW.west] as number, signed[row + ROW.east] as number, stepsX);
    const line = partOf(signed[row + ROW.south] as number, signed[row + ROW.north] as number, stepsY);
    const part = line * PARTS + column;
    return ((words[row + ROW.survey + (part >> 4)] as number) >>> ((part & 15) * 2)) & 3;
  }

  /** Adds the features whose pieces in this page are known to cover the point, and the pieces that must be asked. */
  function searchPage(nth: number, stepsX: number, stepsY: number, found: number[], pending: number[]): void {
    const at = page(nth);
    const [signed, words] = [ring.signed(), ring.words()];
    const count = Math.min(PAGE_PIECES, header.pieces - nth * PAGE_PIECES);
    const end = at + count * ROW_WORDS;
    for (let row = at; row < end; row += ROW_WORDS) {
      if (!isIn(signed, row, stepsX, stepsY)) continue;
      const known = surveyAt(row, stepsX, stepsY);
      const feature = words[row + ROW.feature] as number;
      if (known === INSIDE) found.push(feature);
      else if (known === BORDER)
        pending.push(feature, words[row + ROW.offset] as number, words[row + ROW.length] as number);
    }
  }

  /** Adds the pages of a shelf whose boxes hold the point. */
  function searchShelf(nth: number, stepsX: number, stepsY: number, found: number[]): void {
    const at = place(SHELF_KEY + nth, shelvesAt + nth * SHELF_BYTES, SHELF_BYTES, 'a shelf of the map index') / 4;
    const boxes = ring.signed();
    const first = nth * SHELF_PAGES;
    const count = Math.min(SHELF_PAGES, pages - first);
    for (let i = 0; i < count; i++) if (isIn(boxes, at + i * BOX_WORDS, stepsX, stepsY)) found.push(first + i);
  }

  function searchMeridian(x: number, y: number, found: number[]): void {
    const [stepsX, stepsY] = [x * STEPS_PER_DEGREE, y * STEPS_PER_DEGREE];
    const near: number[] = [];
    for (let at = 0; at < shelves.length; at += BOX_WORDS)
      if (isIn(shelves, at, stepsX, stepsY)) searchShelf(at / BOX_WORDS, stepsX, stepsY, near);
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
function createNames(held: Held): (feature: number) => Name {
  const names: Name[] = [];
  return (feature) => {
    const known = names[feature];
    if (known !== undefined) return known;
    const block = Math.floor(feature / BLOCK_NAMES);
    for (const [i, name] of readNames(held, block).entries()) names[block * BLOCK_NAMES + i] = name;
    const name = names[feature];
    if (name === undefined) throw damaged('a feature of the map index has no name');
    return name;
  };
}

/** Damage met while looking up is the disk's trouble to the caller, who may import again. */
function asDiskError(error: unknown): DiskError {
  if (error instanceof DiskError) return error;
  return new DiskError({ kind: 'io', detail: failureOf(error).message });
}

/** The map held for a signal type: undefined when there is none, a failure when it cannot be used. */
export async function openMap(disk: Disk, signalType: string): Promise<RegionMap | MapFailure | undefined> {
  const held = await openHeld(disk, signalType);
  if (held === undefined || 'kind' in held) return held;
  const { file, directory } = held;
  const search = createSearch(held);
  const nameOf = createNames(held);
  return {
    info: { ...directory.info, bytes: file.size },
    async regionAt(place): Promise<RegionFound | undefined> {
      try {
        const features = search(place);
        const [feature] = features;
        if (feature === undefined) return undefined;
        const [region, regionFullName] = nameOf(feature);
        const candidates = features.length === 1 ? [region] : [...new Set(features.map((other) => nameOf(other)[0]))];
        return { region, regionFullName, feature, candidates };
      } catch (error) {
        throw asDiskError(error);
      }
    },
    close: () => file.close(),
  };
}
