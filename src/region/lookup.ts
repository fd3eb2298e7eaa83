/** Opens an index and finds the region of a place: the one file that asks turf, the only judge of inside. Never writes. */

import { booleanPointInPolygon } from '@turf/boolean-point-in-polygon';
import Flatbush from 'flatbush';
import type { Place } from '../units.ts';
import { type Disk, DiskError, type OpenFile } from '../world.ts';
import { createUnpacker } from './blob.ts';
import { createByteCache } from './byte-cache.ts';
import { reduce, ringsOf } from './cell.ts';
import { failureOf } from './failure.ts';
import { lineAbove, lineBelow, STEPS_PER_DEGREE } from './grid.ts';
import { type Held, openHeld } from './held.ts';
import { PAGE_BYTES, PAGE_PIECES, type Page, pageOver, unsealed } from './layout.ts';
import type { MapFailure, RegionFound, RegionMap } from './map.ts';

/** Whether a polygon covers a point, its border and the borders of its holes included. */
export const covers = (rings: number[][][], longitude: number, latitude: number): boolean =>
  booleanPointInPolygon([longitude, latitude], { type: 'Polygon', coordinates: rings });

/** Pages and blobs kept in memory. */
const CACHE_BYTES = 4 << 20;
/** Keys of pages lie beyond those of blobs, which are offsets in the file. */
const PAGE_KEY = 2 ** 32;

/** What a lookup must read before it can go on. */
interface Lacking {
  readonly key: number;
  readonly offset: number;
  readonly length: number;
}

type Part = Page | Uint8Array;
type Parts = (key: number) => Part | undefined;

/** Finds all features that cover a place, or says which part it lacks: it never waits, so the hot path is plain code. */
function createSearch(held: Held) {
  const tree = Flatbush.from(held.tree);
  const unpack = createUnpacker();
  const { header, directory } = held;

  function blobCovers(bytes: Uint8Array, x: number, y: number): boolean {
    const { xy, list, vertices } = unpack(bytes);
    const end = reduce(xy, list, 0, vertices, vertices, { west: x, south: y, east: x, north: y });
    return covers(ringsOf(xy, list, vertices, end), x, y);
  }

  /** Adds the features whose pieces in this page cover the point. */
  function searchPage(nth: number, x: number, y: number, parts: Parts, found: Set<number>): Lacking | undefined {
    const page = parts(PAGE_KEY + nth) as Page | undefined;
    if (page === undefined)
      return { key: PAGE_KEY + nth, offset: header.pagesAt + nth * PAGE_BYTES, length: PAGE_BYTES };
    const { boxes, features, offsets, lengths } = page;
    const count = Math.min(PAGE_PIECES, header.pieces - nth * PAGE_PIECES);
    const stepsX = x * STEPS_PER_DEGREE;
    const stepsY = y * STEPS_PER_DEGREE;
    for (let i = 0; i < count; i++) {
      if (
        stepsX < (boxes[i * 4] as number) ||
        stepsX > (boxes[i * 4 + 2] as number) ||
        stepsY < (boxes[i * 4 + 1] as number) ||
        stepsY > (boxes[i * 4 + 3] as number)
      )
        continue;
      const feature = features[i] as number;
      const length = lengths[i] as number;
      if (found.has(feature)) continue;
      if (length > 0) {
        const offset = offsets[i] as number;
        const bytes = parts(offset) as Uint8Array | undefined;
        if (bytes === undefined) return { key: offset, offset, length };
        if (!blobCovers(bytes, x, y)) continue;
      }
      found.add(feature);
    }
    return undefined;
  }

  return (place: Place, parts: Parts): Set<number> | Lacking => {
    const found = new Set<number>();
    const y = place.latitude;
    // A map may run on past ±180, and 180 and -180 are one meridian.
    for (const x of [place.longitude, place.longitude - 360, place.longitude + 360]) {
      const stepsX = x * STEPS_PER_DEGREE;
      if (stepsX < directory.west || stepsX > directory.east) continue;
      for (const nth of tree.search(lineBelow(x), lineBelow(y), lineAbove(x), lineAbove(y))) {
        const lacking = searchPage(nth, x, y, parts, found);
        if (lacking !== undefined) return lacking;
      }
    }
    return found;
  };
}

async function readPart(file: OpenFile, { key, offset, length }: Lacking): Promise<Part> {
  const bytes = await file.read(offset, length);
  const isPage = key >= PAGE_KEY;
  const body = unsealed(bytes, length, isPage ? 'a page of the map index' : 'a piece of the map index');
  if (!isPage) return body;
  return pageOver(bytes.byteOffset % 4 === 0 ? bytes : bytes.slice());
}

/** Damage met while looking up is the disk's trouble to the caller, who may import again. */
async function asDiskError<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof DiskError) throw error;
    throw new DiskError({ kind: 'io', detail: failureOf(error).message });
  }
}

/** The map held for a signal type: undefined when there is none, a failure when it cannot be used. */
export async function openMap(disk: Disk, signalType: string): Promise<RegionMap | MapFailure | undefined> {
  const held = await openHeld(disk, signalType);
  if (held === undefined || 'kind' in held) return held;
  const { file, directory } = held;
  const { names, info } = directory;
  const cache = createByteCache<Part>(CACHE_BYTES);
  const search = createSearch(held);

  async function featuresAt(place: Place): Promise<number[]> {
    // What this lookup reads stays with it: a part larger than the cache would push out what it needs next.
    let read: Map<number, Part> | undefined;
    for (;;) {
      const found = search(place, read === undefined ? cache.get : (key) => read?.get(key) ?? cache.get(key));
      if (found instanceof Set) return [...found].sort((a, b) => a - b);
      const part = await asDiskError(() => readPart(file, found));
      read ??= new Map();
      read.set(found.key, part);
      cache.put(found.key, part, found.length);
    }
  }

  return {
    info: { ...info, bytes: file.size },
    async regionAt(place): Promise<RegionFound | undefined> {
      const features = await featuresAt(place);
      const [feature] = features;
      const name = feature === undefined ? undefined : names[feature];
      if (feature === undefined || name === undefined) return undefined;
      const [region, regionFullName] = name;
      const candidates = [...new Set(features.map((nth) => names[nth]?.[0] ?? ''))];
      return { region, regionFullName, feature, candidates };
    },
    close: () => file.close(),
  };
}
