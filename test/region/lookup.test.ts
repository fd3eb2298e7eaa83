/** Lookups against turf over the whole map: every point, borders and corners above all. */

import { booleanPointInPolygon } from '@turf/boolean-point-in-polygon';
import { describe, expect, it } from 'vitest';
import { chance, featuresOf, geojsonOf, type MapShape } from '../fixtures/region-map.ts';
import { createMapText, feature, square } from './map-texts.ts';
import { createTurfLookup, importAndOpen, placeAt } from './region-setup.ts';

/** Anywhere, near a vertex, at a vertex, near and on an edge. */
function* placesOf(shape: MapShape, count: number) {
  const edges = [...featuresOf(shape)].flatMap(({ polygons }) =>
    polygons.flatMap((rings) => rings.flatMap((ring) => ring.slice(1).map((b, i) => [ring[i] ?? b, b] as const))),
  );
  for (let i = 0; i < count; i++) {
    const draw = (n: number) => chance(shape.seed, 99, i, n);
    const edge = edges[Math.floor(draw(0) * edges.length)];
    if (edge === undefined) return;
    const [a, b] = edge;
    const along = [0, 1, 0.5, draw(1)][i % 4] ?? 0;
    const far = [0, 10 ** (-1 - 11 * draw(2)), 1, 200][Math.floor(draw(3) * 4)] ?? 0;
    const x = a[0] + (b[0] - a[0]) * along + (draw(4) - 0.5) * far;
    const y = a[1] + (b[1] - a[1]) * along + (draw(5) - 0.5) * far;
    yield placeAt(Math.max(-90, Math.min(90, y)), Math.max(-180, Math.min(180, x)));
  }
}

describe('the index answers as turf over the whole map', () => {
  //  map, shape
  const rows: readonly (readonly [string, MapShape])[] = [
    ['all digits', { seed: 1, columns: 12, rows: 8, regions: 20, depth: 6, islands: 4 }],
    ['7 decimals', { seed: 2, columns: 10, rows: 6, regions: 12, depth: 7, decimals: 7, islands: 4 }],
    ['5 decimals', { seed: 3, columns: 16, rows: 10, regions: 40, depth: 5, decimals: 5 }],
    ['whole degrees', { seed: 4, columns: 18, rows: 14, regions: 40, depth: 3, decimals: 0 }],
    ['many shelves and blocks of names', { seed: 6, columns: 60, rows: 40, regions: 300, depth: 3 }],
    ['one large polygon', { seed: 5, columns: 12, rows: 12, regions: 1, depth: 8, islands: 20 }],
  ];
  it.each(rows)('%s', async (_, shape) => {
    const map = await importAndOpen(geojsonOf(shape), 1 + Math.floor(chance(shape.seed) * 5_000));
    const judge = createTurfLookup(shape);
    const wrong: unknown[] = [];
    for (const place of placesOf(shape, 3_000)) {
      const expected = judge(place);
      const found = await map.findRegion(place);
      if (found?.feature !== expected) wrong.push({ ...place, expected, found });
    }
    expect(wrong).toEqual([]);
  });
});

describe('pages, shelves and blocks of names that are just full, or just not', () => {
  it.each([1, 2, 15, 16, 17, 63, 64, 65, 1_023, 1_024, 1_025])('%d regions of one piece each', async (count) => {
    const corner = (i: number): [number, number] => [-170 + (i % 40) * 8, -80 + Math.floor(i / 40) * 5];
    const map = await importAndOpen(
      createMapText(...Array.from({ length: count }, (_, i) => feature(`R${i}`, [square(...corner(i), 4)]))),
    );
    expect(map.info).toMatchObject({ pieces: count, features: count });
    const wrong: unknown[] = [];
    for (let i = 0; i < count; i++) {
      const [west, south] = corner(i);
      const [inside, onCorner, beside] = [
        placeAt(south + 2, west + 2),
        placeAt(south, west),
        placeAt(south + 2, west + 5),
      ];
      const found = [await map.findRegion(inside), await map.findRegion(onCorner), await map.findRegion(beside)];
      if (found[0]?.region !== `R${i}` || found[1]?.region !== `R${i}` || found[2] !== undefined)
        wrong.push([i, found]);
    }
    expect(wrong).toEqual([]);
  });
});

describe('rings that cross themselves, repeat vertices and run past 180 and to the poles', () => {
  //  what, middle, half of its width and height, digits
  const rows: readonly (readonly [string, number, number, number, number, number])[] = [
    ['whole degrees on both sides of 180', 178, 0, 15, 15, 0],
    ['whole degrees on both sides of -180', -182, 0, 15, 15, 0],
    ['all round and round again', 0, 0, 360, 90, 0],
    ['all round, all digits', 0, 0, 360, 90, 15],
    ['about a pole', 0, 88, 200, 10, 1],
    ['smaller than a part of a cell', 180, 90, 1e-6, 1e-6, 15],
  ];
  it.each(rows)('%s', async (_, middleX, middleY, wide, high, digits) => {
    let drawn = 0;
    const draw = () => chance(77, middleX, digits, drawn++);
    const within = (value: number, limit: number) => Number(Math.max(-limit, Math.min(limit, value)).toFixed(digits));
    const vertex = () => [
      within(middleX + (draw() * 2 - 1) * wide, 360),
      within(middleY + (draw() * 2 - 1) * high, 90),
    ];
    const ring = () => {
      const open = Array.from({ length: 3 + Math.floor(draw() ** 4 * 300) }, vertex);
      return [...open.flatMap((one) => (draw() < 0.1 ? [one, one] : [one])), open[0] ?? []];
    };
    const some = <T>(most: number, make: () => T) => Array.from({ length: 1 + Math.floor(draw() * most) }, make);

    const wrong: unknown[] = [];
    for (let nth = 0; nth < 40; nth++) {
      const features = some(4, () => feature('R', ...some(3, () => some(3, ring))));
      const corners = features.flatMap(({ geometry }) => geometry.coordinates.flat(2));
      const map = await importAndOpen(createMapText(...features));
      for (let i = 0; i < 40; i++) {
        const [a, b] = [corners[Math.floor(draw() * corners.length)] ?? [], vertex()];
        const share = [0, 0, 0.5, draw(), 1e-9][i % 5] ?? 0;
        const [x = 0, y = 0] = [0, 1].map((axis) => (a[axis] ?? 0) + ((b[axis] ?? 0) - (a[axis] ?? 0)) * share);
        const longitude = x > 180 ? x - 360 : x < -180 ? x + 360 : x;
        const meridians = [longitude, longitude - 360, longitude + 360];
        const expected = features.findIndex(({ geometry }) =>
          meridians.some((meridian) =>
            booleanPointInPolygon([meridian, y], {
              type: 'MultiPolygon',
              coordinates: geometry.coordinates.map((rings) =>
                rings.map((one) => one.map((position) => [...position])),
              ),
            }),
          ),
        );
        const found = (await map.findRegion(placeAt(y, longitude)))?.feature ?? -1;
        if (found !== expected) wrong.push({ y, longitude, expected, found });
      }
    }
    expect(wrong).toEqual([]);
  });
});
