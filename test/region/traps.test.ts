/** Places where lookups go wrong: borders, holes, overlaps, the antimeridian, poles, damaged files. */

import { describe, expect, it } from 'vitest';
import { toPlace } from '../../src/domain/place.ts';
import { DiskError } from '../../src/domain/ports.ts';
import { addDuration, days } from '../../src/domain/units.ts';
import {
  countParts,
  decodeHeader,
  HEADER_BYTES,
  type IndexHeader,
  locatePage,
  ROW,
} from '../../src/region/index/index-layout.ts';
import { isIndexIntact } from '../../src/region/index/index-reader.ts';
import { openMap } from '../../src/region/lookup.ts';
import { createMemoryDisk } from '../../src/simulation/memory-disk.ts';
import { geojsonOf } from '../fixtures/region-map.ts';
import { createMapText, feature, hole, square, TWO_REGIONS } from './map-texts.ts';
import { importAndOpen, importText, NOW, placeAt } from './region-setup.ts';

const candidatesIn = async (text: string, latitude: number, longitude: number) =>
  (await (await importAndOpen(text)).findRegion(placeAt(latitude, longitude)))?.candidates;

describe('borders, holes and overlaps', () => {
  const ringed = createMapText(feature('RING', [square(0, 0, 10), hole(4, 4, 2)]), feature('CORE', [square(4, 4, 2)]));
  const alone = createMapText(feature('RING', [square(0, 0, 10), hole(4, 4, 2)]));
  const over = createMapText(feature('FIRST', [square(0, 0, 10)]), feature('SECOND', [square(5, 0, 10)]));
  const twice = createMapText(
    feature('A', [square(0, 0, 5)]),
    feature('B', [square(5, 0, 5)]),
    feature('A', [square(10, 0, 5)]),
  );
  const four = createMapText(
    ...[
      [0, 0],
      [5, 0],
      [0, 5],
      [5, 5],
    ].map(([x = 0, y = 0], i) => feature(`Q${i}`, [square(x, y, 5)])),
  );
  //  what, text, latitude, longitude, all that cover it
  const rows: readonly (readonly [string, string, number, number, readonly string[] | undefined])[] = [
    ['inside', TWO_REGIONS, 5, 5, ['WEST']],
    ['on a shared border', TWO_REGIONS, 5, 10, ['WEST', 'EAST']],
    ['on a shared corner', TWO_REGIONS, 0, 10, ['WEST', 'EAST']],
    ['on an outer border', TWO_REGIONS, 0, 5, ['WEST']],
    ['a hair outside', TWO_REGIONS, -1e-12, 5, undefined],
    ['a hair inside', TWO_REGIONS, 1e-12, 5, ['WEST']],
    ['where four meet', four, 5, 5, ['Q0', 'Q1', 'Q2', 'Q3']],
    ['in a hole', alone, 5, 5, undefined],
    ['on the edge of a hole', alone, 5, 4, ['RING']],
    ['in an enclave', ringed, 5, 5, ['CORE']],
    ['on the edge of an enclave', ringed, 5, 4, ['RING', 'CORE']],
    ['in an overlap', over, 5, 7, ['FIRST', 'SECOND']],
    ['a region in two features', twice, 2, 12, ['A']],
    ['its name once, where both meet another', twice, 2, 5, ['A', 'B']],
    ['a polygon given twice', createMapText(feature('A', [square(0, 0, 5)], [square(0, 0, 5)])), 2, 2, ['A']],
  ];
  it.each(rows)('%s', async (_, text, latitude, longitude, expected) => {
    expect(await candidatesIn(text, latitude, longitude)).toEqual(expected);
  });
});

describe('the antimeridian and the poles', () => {
  const split = createMapText(feature('DATE', [square(170, -5, 10)], [square(-180, -5, 10)]));
  const beyond = createMapText(feature('DATE', [square(170, -5, 20)]));
  const before = createMapText(feature('DATE', [square(-190, -5, 20)]));
  const eastOnly = createMapText(feature('E', [square(170, -5, 10)]));
  const arctic = createMapText(
    feature('ARCTIC', [
      [
        [-180, 80],
        [180, 80],
        [180, 90],
        [-180, 90],
        [-180, 80],
      ],
    ]),
  );
  const rows: readonly (readonly [string, string, number, number, string | undefined])[] = [
    ['east of it', split, 0, 179.9, 'DATE'],
    ['west of it', split, 0, -179.9, 'DATE'],
    ['on it, said 180', split, 0, 180, 'DATE'],
    ['on it, said -180', split, 0, -180, 'DATE'],
    ['on it, said -180, where the map has 180 only', eastOnly, 0, -180, 'E'],
    ['past it', eastOnly, 0, -179.9, undefined],
    ['a ring that runs on to 190', beyond, 0, -175, 'DATE'],
    ['its end', beyond, 0, -170, 'DATE'],
    ['past its end', beyond, 0, -169.9, undefined],
    ['a ring that comes from -190', before, 0, 175, 'DATE'],
    ['a ring that comes from -190, on the near side', before, 0, -175, 'DATE'],
    ['the pole', arctic, 90, 12, 'ARCTIC'],
    ['the other pole', arctic, -90, 12, undefined],
  ];
  it.each(rows)('%s', async (_, text, latitude, longitude, region) => {
    expect((await (await importAndOpen(text)).findRegion(placeAt(latitude, longitude)))?.region).toBe(region);
  });
});

describe('what counts as a place', () => {
  const rows: readonly (readonly [number, number, number | string])[] = [
    [0, 180, 180],
    [0, -180, -180],
    [0, 181, -179],
    [0, -190, 170],
    [0, 360, 0],
    [90, 0, 0],
    [90.0001, 0, 'latitude 90.0001 is not within -90 to 90; are latitude and longitude swapped?'],
    [-121.5, 38.5, 'latitude -121.5 is not within -90 to 90; are latitude and longitude swapped?'],
    [-121.5, 138.5, 'latitude -121.5 is not within -90 to 90'],
    [0, 360.5, 'longitude 360.5 is not within -360 to 360'],
    [Number.NaN, 0, 'latitude NaN is not within -90 to 90'],
    [0, Number.NaN, 'longitude NaN is not within -360 to 360'],
    [0, Number.POSITIVE_INFINITY, 'longitude Infinity is not within -360 to 360'],
  ];
  it.each(rows)('latitude %d, longitude %d', (north, east, expected) => {
    const place = toPlace(north, east);
    expect(typeof place === 'string' ? place : place.longitude).toBe(expected);
  });
});

describe('a damaged index', () => {
  const shape = { seed: 11, columns: 5, rows: 4, regions: 6, depth: 6 };
  const places = Array.from({ length: 60 }, (_, i) => placeAt(-50 + (i % 10) * 11, -160 + Math.floor(i / 10) * 60));

  it('never answers wrongly: it says that it is damaged, or the damage is elsewhere', async () => {
    const disk = createMemoryDisk();
    await importText(geojsonOf(shape), { disk });
    const whole = (await disk.read('map.co2_moer.idx')) ?? new Uint8Array(0);
    const map = await openMap(disk, 'co2_moer');
    if (map === undefined || 'kind' in map) throw new Error('no map');
    const right = await Promise.all(places.map(async (place) => (await map.findRegion(place))?.region));

    const answers = { refused: 0, thrown: 0, right: 0 };
    const wrong: number[] = [];
    for (let i = 0; i < 200; i++) {
      const at = Math.floor((i / 200) * whole.length);
      const bytes = whole.slice();
      bytes[at] = (bytes[at] ?? 0) ^ (1 << (i % 8));
      await disk.replace('map.co2_moer.idx', bytes);
      const opened = await openMap(disk, 'co2_moer');
      if (opened === undefined || 'kind' in opened) {
        answers.refused++;
        continue;
      }
      for (const [nth, place] of places.entries()) {
        try {
          if ((await opened.findRegion(place))?.region === right[nth]) answers.right++;
          else wrong.push(at);
        } catch (error) {
          if (!(error instanceof DiskError)) throw error;
          answers.thrown++;
        }
      }
    }
    expect(wrong).toEqual([]);
    expect(Math.min(answers.refused, answers.thrown, answers.right)).toBeGreaterThan(0);
  });

  //  a part, where it stands
  const parts: readonly (readonly [string, (header: IndexHeader) => number])[] = [
    ['a piece', () => HEADER_BYTES + 9],
    ['a page', ({ pagesAt }) => pagesAt + ROW.east * 4],
    ['a page group', (header) => countParts(header).groupsAt + 1],
    ['a name', ({ namesAt }) => namesAt + 3],
  ];
  it.each(parts)('%s of it is told, and replaced by the same map', async (part, where) => {
    const disk = createMemoryDisk();
    await importText(TWO_REGIONS, { disk });
    const whole = (await disk.read('map.co2_moer.idx')) ?? new Uint8Array(0);
    const bytes = whole.slice();
    const offset = where(decodeHeader(new Int32Array(bytes.buffer, 0, HEADER_BYTES / 4), bytes.length));
    bytes[offset] = (bytes[offset] ?? 0) ^ 64;
    await disk.replace('map.co2_moer.idx', bytes);

    const map = await openMap(disk, 'co2_moer');
    if (map === undefined || 'kind' in map) throw new Error('it was refused as a whole');
    // A point on a border: every part is asked.
    await expect(map.findRegion(placeAt(0, 5))).rejects.toThrow(`${part} of the map index is damaged`);
    expect(await importText(TWO_REGIONS, { disk })).toMatchObject({ ok: true, unchanged: false });
    expect(await disk.read('map.co2_moer.idx')).toEqual(whole);
  });

  it('a page copied over another, or from another import, is told', async () => {
    const disk = createMemoryDisk();
    const two = { ...shape, columns: 9, rows: 8 };
    await importText(geojsonOf(two), { disk });
    const whole = (await disk.read('map.co2_moer.idx')) ?? new Uint8Array(0);
    const header = decodeHeader(new Int32Array(whole.slice(0, HEADER_BYTES).buffer), whole.length);
    expect(countParts(header).pages).toBeGreaterThan(1);
    await importText(geojsonOf(two), { disk, force: true, now: addDuration(NOW, days(1)) });
    const later = (await disk.read('map.co2_moer.idx')) ?? new Uint8Array(0);
    const [first, second] = [locatePage(header, 0), locatePage(header, 1)];
    for (const [from, { offset }] of [
      [whole, second],
      [later, first],
    ] as const) {
      const bytes = whole.slice();
      bytes.set(from.subarray(offset, offset + first.length), first.offset);
      await disk.replace('map.co2_moer.idx', bytes);
      const map = await openMap(disk, 'co2_moer');
      if (map === undefined || 'kind' in map) throw new Error('it was refused as a whole');
      const answers = await Promise.allSettled(places.map((place) => map.findRegion(place)));
      expect(answers.flatMap((answer) => (answer.status === 'rejected' ? [String(answer.reason)] : []))[0]).toContain(
        'a page of the map index is damaged',
      );
      expect(await isIndexIntact(disk, 'co2_moer')).toBe(false);
    }
  });

  it.each([0, 10, 63, 64, 1_000])('cut to %d bytes', async (length) => {
    const disk = createMemoryDisk();
    await importText(TWO_REGIONS, { disk });
    const whole = (await disk.read('map.co2_moer.idx')) ?? new Uint8Array(0);
    await disk.replace('map.co2_moer.idx', whole.slice(0, Math.min(length, whole.length - 1)));
    expect(await openMap(disk, 'co2_moer')).toMatchObject({ kind: 'damaged' });
    expect(await importText(TWO_REGIONS, { disk })).toMatchObject({ ok: true, unchanged: false });
  });

  it.each([0.05, 0.3, 0.6, 0.8])('flipped at %f of its length is replaced by the same map', async (share) => {
    const disk = createMemoryDisk();
    await importText(geojsonOf(shape), { disk });
    const whole = (await disk.read('map.co2_moer.idx')) ?? new Uint8Array(0);
    expect(await importText(geojsonOf(shape), { disk })).toMatchObject({ ok: true, unchanged: true });
    const bytes = whole.slice();
    const flipped = Math.floor(share * whole.length);
    bytes[flipped] = (bytes[flipped] ?? 0) ^ 4;
    await disk.replace('map.co2_moer.idx', bytes);
    const home = places[0];
    if (home === undefined) throw new Error('no place');
    expect(await importText(geojsonOf(shape), { disk, homePlace: home })).toMatchObject({ ok: true, unchanged: false });
    expect(await disk.read('map.co2_moer.idx')).toEqual(whole);
  });

  it('of another format is imported again, not read', async () => {
    const disk = createMemoryDisk();
    await importText(TWO_REGIONS, { disk });
    const bytes = (await disk.read('map.co2_moer.idx')) ?? new Uint8Array(0);
    bytes[4] = 99;
    await disk.replace('map.co2_moer.idx', bytes);
    expect(await openMap(disk, 'co2_moer')).toMatchObject({ kind: 'damaged' });
  });

  it('none is no failure', async () => {
    expect(await openMap(createMemoryDisk(), 'co2_moer')).toBeUndefined();
  });
});
