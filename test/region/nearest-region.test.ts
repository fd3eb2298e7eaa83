/** The nearest border of the index against every edge of the whole map, each cut into many points of which the best is looked at closer. */

import { describe, expect, it } from 'vitest';
import type { Place } from '../../src/domain/units.ts';
import { openMap } from '../../src/region/lookup.ts';
import { findNearestRegion } from '../../src/region/nearest-region.ts';
import { createMemoryDisk } from '../../src/simulation/memory-disk.ts';
import { chance, featuresOf, geojsonOf, type MapShape } from '../fixtures/region-map.ts';
import { createMapText, feature, hole, square } from './map-texts.ts';
import { importText, placeAt } from './region-setup.ts';

const KM_A_DEGREE = 111.195;
const sin = (degrees: number) => Math.sin((degrees * Math.PI) / 180);
const cos = (degrees: number) => Math.cos((degrees * Math.PI) / 180);

/** By the law of cosines, and by haversines where that is blunt. */
function distance(latitude: number, longitude: number, y: number, x: number): number {
  const cosine = sin(latitude) * sin(y) + cos(latitude) * cos(y) * cos(x - longitude);
  const half = sin((y - latitude) / 2) ** 2 + cos(latitude) * cos(y) * sin((x - longitude) / 2) ** 2;
  return 6_371.0088 * (cosine < 0.9 ? Math.acos(Math.max(-1, cosine)) : 2 * Math.asin(Math.sqrt(half)));
}

type Point = readonly [number, number];

function distanceToEdge({ latitude, longitude }: Place, a: Point, b: Point, best: number): number {
  const far = (share: number) =>
    distance(latitude, longitude, a[1] + (b[1] - a[1]) * share, a[0] + (b[0] - a[0]) * share);
  if (far(0.5) - (KM_A_DEGREE * Math.hypot(b[0] - a[0], b[1] - a[1])) / 2 > best) return best;
  const POINTS = 200;
  let [from, step, near] = [0, 1 / POINTS, best];
  for (let closer = 0; closer < 3; closer++) {
    const shares = Array.from({ length: POINTS + 1 }, (_, i) => Math.max(0, Math.min(1, from + step * i)));
    const share = shares.reduce((one, other) => (far(other) < far(one) ? other : one));
    near = Math.min(near, far(share));
    [from, step] = [share - step, (2 * step) / POINTS];
  }
  return near;
}

function bruteForce(shape: MapShape, place: Place): { readonly region: string; readonly km: number } {
  let found = { region: '', km: Number.POSITIVE_INFINITY };
  for (const { region, polygons } of featuresOf(shape))
    for (const ring of polygons.flat())
      for (const [i, b] of ring.entries()) {
        const km = distanceToEdge(place, ring[i - 1] ?? b, b, found.km);
        if (km < found.km) found = { region, km };
      }
  return found;
}

async function openImported(text: string | Iterable<string>) {
  const disk = createMemoryDisk();
  const result = await importText(text, { disk });
  if (!result.ok) throw new Error(result.failure.message);
  return disk;
}

describe('the nearest region is that of every edge of the map', () => {
  const rows: readonly (readonly [string, MapShape])[] = [
    ['all digits', { seed: 1, columns: 12, rows: 8, regions: 20, depth: 5, islands: 4 }],
    ['5 decimals', { seed: 3, columns: 16, rows: 10, regions: 40, depth: 5, decimals: 5 }],
    ['long edges', { seed: 4, columns: 6, rows: 5, regions: 8, depth: 1, decimals: 0 }],
    ['many pages', { seed: 6, columns: 60, rows: 40, regions: 300, depth: 3 }],
  ];
  it.each(rows)('%s', async (_, shape) => {
    const disk = await openImported(geojsonOf(shape));
    const map = await openMap(disk, 'co2_moer');
    if (map === undefined || 'kind' in map) throw new Error('the map does not open');
    const shores = [...featuresOf(shape)].flatMap(({ polygons }) => polygons.flat(2));
    let asked = 0;
    for (let i = 0; asked < 25 && i < 4_000; i++) {
      const [x, y] = shores[Math.floor(chance(shape.seed, 7, i) * shores.length)] ?? [0, 0];
      const off = i % 2 === 0 ? 400 : 10 ** (2 - 6 * chance(shape.seed, 8, i));
      const longitude = ((x + (chance(shape.seed, 9, i) - 0.5) * off + 540) % 360) - 180;
      const latitude = Math.max(-90, Math.min(90, y + (chance(shape.seed, 10, i) - 0.5) * off));
      const place = placeAt(latitude, longitude);
      if ((await map.findRegion(place)) !== undefined) continue;
      asked += 1;
      const wanted = bruteForce(shape, place);
      const found = await findNearestRegion(disk, 'co2_moer', place);
      const error = Math.abs((found?.distance ?? 0) - wanted.km);
      expect(error / wanted.km < 0.001 || error < 0.001, JSON.stringify({ place, wanted, found })).toBe(true);
    }
    await map.close();
    expect(asked).toBe(25);
  });
});

describe('the nearest region', () => {
  const island = createMapText(
    feature('A', [square(170, -5, 20), hole(175, 0, 10)]),
    feature('B', [square(-60, 60, 20)]),
  );
  //  place                       of    km
  const rows: readonly (readonly [Place, string, number])[] = [
    [placeAt(-15, 175), 'A', 10 * KM_A_DEGREE],
    [placeAt(1, 180), 'A', KM_A_DEGREE], // in its hole, on the antimeridian
    [placeAt(5, -169), 'A', KM_A_DEGREE * cos(5)], // the map runs on past 180
    [placeAt(90, 0), 'B', 10 * KM_A_DEGREE],
    [placeAt(90, 140), 'B', 10 * KM_A_DEGREE],
    [placeAt(85, 130), 'B', distance(85, 130, 80, -60)], // over the pole, to a corner: the side between is farther
  ];
  it.each(rows)('of %j is %s, %d km away', async (place, region, km) => {
    const found = await findNearestRegion(await openImported(island), 'co2_moer', place);
    expect(found?.region).toBe(region);
    expect((found?.distance ?? 0) / km).toBeCloseTo(1, 3);
  });

  it('is none where no map is held', async () =>
    expect(await findNearestRegion(createMemoryDisk(), 'co2_moer', placeAt(0, 0))).toBeUndefined());

  it('is none where the index is damaged', async () => {
    const disk = await openImported(island);
    const bytes = (await disk.read('map.co2_moer.idx')) ?? new Uint8Array(0);
    bytes[100] = (bytes[100] as number) ^ 255;
    await disk.replace('map.co2_moer.idx', bytes);
    expect(await findNearestRegion(disk, 'co2_moer', placeAt(1, 180))).toBeUndefined();
  });
});
