/** Lookups against turf over the whole map: every point, borders and corners above all. */

import { describe, expect, it } from 'vitest';
import { chance, featuresOf, geojsonOf, type MapShape } from '../fixtures/region-map.ts';
import { at, judgeOf, mapOf } from './doubles.ts';

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
    yield at(Math.max(-90, Math.min(90, y)), Math.max(-180, Math.min(180, x)));
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
    const map = await mapOf(geojsonOf(shape), 1 + Math.floor(chance(shape.seed) * 5_000));
    const judge = judgeOf(shape);
    const wrong: unknown[] = [];
    for (const place of placesOf(shape, 3_000)) {
      const expected = judge(place);
      const found = await map.regionAt(place);
      if (found?.feature !== expected) wrong.push({ ...place, expected, found });
    }
    expect(wrong).toEqual([]);
  });
});
