/** Finds the region of a place in the stored map. */

import { type Disk, DiskError } from '../domain/ports.ts';
import type { Place } from '../domain/units.ts';
import { STEPS_PER_DEGREE } from './index/cell-grid.ts';
import {
  BOX_WORDS,
  countParts,
  countRows,
  decodeRow,
  GROUP_PAGES,
  NAMES_PER_BLOCK,
  type PieceRow,
  ROW,
  ROW_WORDS,
} from './index/index-layout.ts';
import { type IndexFile, type NamePair, openIndex, readNameBlock, toMapInfo } from './index/index-reader.ts';
import { createPartReader } from './index/part-reader.ts';
import { createPointTest } from './index/point-test.ts';
import { createVertexDecoder } from './index/vertex-codec.ts';
import { buildDamagedError, toMapFailure } from './map-failure.ts';
import type { MapFailure, RegionMap, RegionMatch } from './region-types.ts';

/** Calls `onRow` with the position of each of `count` rows from `at` on whose box holds the point. */
function forEachRowAround(
  words: Int32Array,
  at: number,
  count: number,
  rowWords: number,
  [x, y]: readonly [number, number],
  onRow: (at: number, i: number) => void,
): void {
  for (let i = 0, row = at; i < count; i++, row += rowWords)
    if (
      x >= (words[row + ROW.west] as number) &&
      x <= (words[row + ROW.east] as number) &&
      y >= (words[row + ROW.south] as number) &&
      y <= (words[row + ROW.north] as number)
    )
      onRow(row, i);
}

/** The numbers of all features that cover a place, ascending. */
function createFeatureSearch(index: IndexFile): (place: Place) => number[] {
  const { header, directory } = index;
  const { pages: pageCount, groups: groupCount } = countParts(header);
  const parts = createPartReader(index);
  const decodeRings = createVertexDecoder();
  const covers = createPointTest();

  /** The pieces whose boxes hold the point, by the boxes of groups, of pages and of pieces. */
  function findPieces(steps: readonly [number, number]): PieceRow[] {
    const pages: number[] = [];
    const rows: PieceRow[] = [];
    forEachRowAround(directory.groupBoxes, 0, groupCount, BOX_WORDS, steps, (_, group) => {
      const first = group * GROUP_PAGES;
      const at = parts.locateGroup(group);
      const count = Math.min(GROUP_PAGES, pageCount - first);
      forEachRowAround(parts.words(), at, count, BOX_WORDS, steps, (_, i) => pages.push(first + i));
    });
    for (const page of pages) {
      const at = parts.locatePage(page);
      const words = parts.words();
      forEachRowAround(words, at, countRows(header, page), ROW_WORDS, steps, (row) => rows.push(decodeRow(words, row)));
    }
    return rows;
  }

  return ({ latitude: y, longitude }) => {
    const found = new Set<number>();
    // A map may run on past ±180, and 180 and -180 are one meridian.
    for (const x of [longitude, longitude - 360, longitude + 360])
      for (const row of findPieces([x * STEPS_PER_DEGREE, y * STEPS_PER_DEGREE]))
        if (!found.has(row.feature) && (row.length === 0 || covers(decodeRings(parts.readRings(row)), x, y)))
          found.add(row.feature);
    return [...found].sort((a, b) => a - b);
  };
}

/** Names by the number of their feature; a block of them is read at its first use. */
function createNameLookup(index: IndexFile): (feature: number) => NamePair {
  const names: NamePair[] = [];
  return (feature) => {
    const known = names[feature];
    if (known !== undefined) return known;
    const block = Math.floor(feature / NAMES_PER_BLOCK);
    for (const [i, name] of readNameBlock(index, block).entries()) names[block * NAMES_PER_BLOCK + i] = name;
    const name = names[feature];
    if (name === undefined) throw buildDamagedError('a feature of the map index has no name');
    return name;
  };
}

/** Damage found by a lookup is a disk error to the caller, who may import again. */
function toDiskError(error: unknown): DiskError {
  if (error instanceof DiskError) return error;
  return new DiskError({ kind: 'io', detail: toMapFailure(error).message });
}

/** The stored map of a signal type: undefined when there is none, a failure when it cannot be used. */
export async function openMap(disk: Disk, signalType: string): Promise<RegionMap | MapFailure | undefined> {
  const index = await openIndex(disk, signalType);
  if (index === undefined || 'kind' in index) return index;
  const search = createFeatureSearch(index);
  const findName = createNameLookup(index);
  return {
    info: toMapInfo(index),
    async findRegion(place): Promise<RegionMatch | undefined> {
      try {
        const features = search(place);
        const [feature] = features;
        if (feature === undefined) return undefined;
        const [region, regionFullName] = findName(feature);
        return {
          region,
          regionFullName,
          feature,
          candidates: [...new Set(features.map((other) => findName(other)[0]))],
        };
      } catch (error) {
        throw toDiskError(error);
      }
    },
    close: () => index.file.close(),
  };
}
