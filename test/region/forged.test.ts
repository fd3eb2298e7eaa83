/** Index files that nobody wrote by accident: every seal is right, what stands under it is not. One sentence each, no crash, no memory beyond the file's own. */

import { describe, expect, it } from 'vitest';
import { DiskError } from '../../src/domain/ports.ts';
import { resolveHome } from '../../src/region/home-region.ts';
import { writeChecksum } from '../../src/region/index/checksum.ts';
import {
  BOX_WORDS,
  countParts,
  decodeHeader,
  HEADER_BYTES,
  type IndexHeader,
  locateGroup,
  locatePage,
  ROW,
  ROW_WORDS,
} from '../../src/region/index/index-layout.ts';
import { isIndexIntact, readMapInfo } from '../../src/region/index/index-reader.ts';
import { openMap } from '../../src/region/lookup.ts';
import { createMemoryDisk, type MemoryDisk } from '../../src/simulation/memory-disk.ts';
import { chance } from '../fixtures/region-map.ts';
import { createMapText, feature, hole, square } from './map-texts.ts';
import { importText, placeAt } from './region-setup.ts';

const FILE = 'map.co2_moer.idx';
/** A ring with a hole, so that borders are asked; numbers that need all their digits, and so many features that names stand in two blocks. */
const TEXT = createMapText(
  feature('RING', [square(0, 0, 10), hole(4, 4, 2)]),
  feature('THIRD', [square(1 / 3, 10 + 1e-300, 10 / 3)]),
  ...Array.from({ length: 18 }, (_, i) => feature(`R${i}`, [square(20 + i, 0, 1)])),
);
const PLACES = [
  placeAt(0, 5),
  placeAt(4, 5),
  placeAt(5, 5),
  placeAt(11, 1 / 3),
  placeAt(0.5, 20),
  placeAt(1, 37),
  placeAt(-50, 100),
];

/** Of the header. */
const SALT_WORD = 9;
/** A part of the file: where it starts, and how long it is, both in words; the last is its seal. */
type Part = readonly [from: number, length: number];
interface Index {
  readonly bytes: Uint8Array;
  readonly words: Int32Array;
  readonly header: IndexHeader;
  /** Of header, directory, names, pages, groups and blobs, all there are. */
  readonly parts: readonly Part[];
}

async function written(): Promise<Uint8Array> {
  const disk = createMemoryDisk();
  const result = await importText(TEXT, { disk });
  if (!result.ok) throw new Error(result.failure.message);
  return (await disk.read(FILE)) ?? new Uint8Array(0);
}

function indexOf(whole: Uint8Array): Index {
  const bytes = whole.slice();
  const words = new Int32Array(bytes.buffer);
  const header = decodeHeader(words.slice(0, HEADER_BYTES / 4), bytes.length);
  const { pages, groups, nameBlocks } = countParts(header);
  const part = (offset: number, length: number): Part => [offset / 4, length / 4];
  const located = ({ offset, length }: { offset: number; length: number }) => part(offset, length);
  const ends = words.subarray(header.directoryAt / 4 + groups * BOX_WORDS).subarray(0, nameBlocks);
  const rows = Array.from({ length: header.pieces }, (_, i) => header.pagesAt / 4 + i * ROW_WORDS);
  return {
    bytes,
    words,
    header,
    parts: [
      part(0, HEADER_BYTES),
      part(header.directoryAt, header.directoryBytes),
      ...[...ends].map((end, i) => part(header.namesAt + (ends[i - 1] ?? 0), end - (ends[i - 1] ?? 0))),
      ...Array.from({ length: pages }, (_, i) => located(locatePage(header, i))),
      ...Array.from({ length: groups }, (_, i) => located(locateGroup(header, i))),
      ...rows.map((row) => part(words[row + ROW.offset] ?? 0, words[row + ROW.length] ?? 0)),
    ].filter(([, length]) => length > 0),
  };
}

/** Makes the seals right again; the header last, for it holds that of the directory. */
function sealed({ words, parts }: Index): void {
  for (const [from, length] of [...parts].reverse())
    writeChecksum(words.subarray(from, from + length), words[SALT_WORD] as number, from * 4);
}

/** All that reads an index; gives what each said, and lets through what is not meant to be thrown. */
async function listAnswers(disk: MemoryDisk): Promise<readonly string[]> {
  const answers: string[] = [];
  const info = await readMapInfo(disk, 'co2_moer');
  if (info !== undefined && 'kind' in info) answers.push(info.message);
  await isIndexIntact(disk, 'co2_moer');
  const map = await openMap(disk, 'co2_moer');
  for (const place of PLACES) {
    const ask = [
      async () => void (map !== undefined && !('kind' in map) && (await map.findRegion(place))),
      async () => void (await resolveHome(disk, 'co2_moer', place)),
    ];
    for (const one of ask)
      await one().catch((error: unknown) => {
        if (!(error instanceof DiskError)) throw error;
        answers.push(error.failure.detail);
      });
  }
  return answers;
}

async function forged(change: (index: Index) => void, whole: Uint8Array): Promise<readonly string[]> {
  const index = indexOf(whole);
  change(index);
  sealed(index);
  const disk = createMemoryDisk();
  await disk.replace(FILE, index.bytes);
  return listAnswers(disk);
}

const HEADER_WORD = { pieces: 2, features: 3, pagesAt: 4, namesAt: 5, directoryAt: 6, directoryBytes: 7 };
const NOT_THERE = 'the header of the map index tells of parts that are not there';

describe('a forged index', () => {
  const word = (at: number, value: number) => (index: Index) => {
    index.words[at] = value;
  };
  const inRow = (name: keyof typeof ROW, value: number) => (index: Index) => {
    index.words[index.header.pagesAt / 4 + ROW[name]] = value;
  };
  /** Writes a text over the start of a part that holds one, spaces behind it. */
  const text = (nth: number, skip: (index: Index) => number, what: string) => (index: Index) => {
    const [from, length] = index.parts[nth] ?? [0, 0];
    const room = index.bytes.subarray((from + skip(index)) * 4, (from + length - 1) * 4);
    room.fill(0x20).set(new TextEncoder().encode(what));
  };
  const boxesAndEnds = ({ header }: Index) => countParts(header).groups * BOX_WORDS + countParts(header).nameBlocks;
  const endOfNames = (nth: number, value: number) => (index: Index) => {
    const { directoryAt } = index.header;
    index.words[directoryAt / 4 + countParts(index.header).groups * BOX_WORDS + nth] = value;
  };

  //  what, the forgery, the sentence
  const rows: readonly (readonly [string, (index: Index) => void, string])[] = [
    ['billions of pieces', word(HEADER_WORD.pieces, 0xffff_ffff), NOT_THERE],
    ['no pieces', word(HEADER_WORD.pieces, 0), NOT_THERE],
    ['billions of features', word(HEADER_WORD.features, 0xffff_ffff), NOT_THERE],
    ['pages in the header', word(HEADER_WORD.pagesAt, 0), NOT_THERE],
    ['pages at the end of the earth', word(HEADER_WORD.pagesAt, 0xffff_fffc), NOT_THERE],
    ['names behind the directory', word(HEADER_WORD.namesAt, 0xffff_fffc), NOT_THERE],
    [
      'a directory that begins at half a word',
      ({ words, header }) => words.set([header.directoryAt + 2, header.directoryBytes - 2], HEADER_WORD.directoryAt),
      NOT_THERE,
    ],
    ['a directory of nothing', ({ words, bytes }) => words.set([bytes.length, 0], HEADER_WORD.directoryAt), NOT_THERE],
    ['a directory that is no JSON', text(1, boxesAndEnds, '{'), 'the directory of the map index is no JSON'],
    ['a directory of null', text(1, boxesAndEnds, 'null'), 'does not tell what map it is of'],
    [
      'a map of no day there is',
      text(1, boxesAndEnds, '{"signalType":"x","importedAt":1e300,"lastUpdated":1e300,"regions":1}'),
      'does not tell what map it is of',
    ],
    ['names that are no JSON', text(2, () => 0, '[["R'), 'a name of the map index is no JSON'],
    ['names that are no list', text(2, () => 0, '{"length":1}'), 'a name of the map index is no text'],
    ['names that are numbers', text(2, () => 0, '[[1,2],[3,4]]'), 'a name of the map index is no text'],
    ['too few names', text(2, () => 0, '[]'), 'a feature of the map index has no name'],
    ['names that end before they start', endOfNames(1, 4), 'a name of the map index stands where none can be'],
    ['names of gigabytes', endOfNames(0, 0xffff_fffc), 'a name of the map index stands where none can be'],
    ['a feature behind the last', inRow('feature', 32), 'a name of the map index stands where none can be'],
    ['a feature far behind', inRow('feature', 0xffff_ffff), 'a name of the map index stands where none can be'],
    ['a piece of gigabytes', inRow('length', 0xffff_fffc), 'a piece of the map index stands where none can be'],
    ['a piece of five bytes', inRow('length', 5), 'a piece of the map index stands where none can be'],
    ['a piece of a checksum alone', inRow('length', 4), 'a piece of the map index is damaged'],
    ['a piece in the header', inRow('offset', 0), 'a piece of the map index stands where none can be'],
    ['a piece behind all others', inRow('offset', 0xffff_fffc), 'a piece of the map index stands where none can be'],
  ];
  it.each(rows)('with %s', async (_, change, sentence) => {
    expect((await forged(change, await written())).join('\n')).toContain(sentence);
  });

  it('as it was written has nothing to be said of', async () => {
    expect(await forged(() => {}, await written())).toEqual([]);
  });

  it('with any word or byte of any part changed crashes nothing', async () => {
    const whole = await written();
    const values = [0, 1, 2, 3, 5, 64, 0x80, 0xff, 0x7fff_ffff, 0x8000_0000, 0xffff_fff8, 0xffff_ffff];
    let refusals = 0;
    for (let i = 0; i < 1_500; i++) {
      const draw = (n: number, below: number) => Math.floor(chance(41, i, n) * below);
      const answers = await forged(({ bytes, words, parts }) => {
        for (let nth = 0; nth <= draw(0, 3); nth++) {
          const [from, length] = parts[draw(4 * nth + 1, parts.length)] ?? [0, 0];
          const at = from + draw(4 * nth + 2, length - 1);
          const value = values[draw(4 * nth + 3, values.length)] ?? 0;
          if (draw(4 * nth + 4, 2) === 0) words[at] = value;
          else bytes[at * 4 + (i % 4)] = value;
        }
      }, whole);
      if (answers.length > 0) refusals++;
    }
    expect(refusals).toBeGreaterThan(100);
  });
});
