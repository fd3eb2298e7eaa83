/** Seeded places: anywhere on the sphere, and near, at and on the borders of a parsed map. Shared by the region bench's children. */

import { readFileSync } from 'node:fs';
import type { Latitude, Longitude, Place } from '../../../src/domain/units.ts';
import { chance } from '../../../test/fixtures/region-map.ts';

export interface MapFeature {
  readonly properties: { readonly region: string };
  readonly geometry: { readonly type: 'MultiPolygon'; readonly coordinates: number[][][][] };
}
export interface MapDocument {
  readonly features: readonly MapFeature[];
}

export const parsedMap = (file: string) => JSON.parse(readFileSync(file, 'utf8')) as MapDocument;

export const placeOf = (x: number, y: number): Place => ({
  latitude: Math.max(-90, Math.min(90, y)) as Latitude,
  longitude: Math.max(-180, Math.min(180, x)) as Longitude,
});

/** Uniform on the sphere. */
export const anywhere = (seed: number, i: number): Place =>
  placeOf(chance(seed, i, 1) * 360 - 180, (Math.asin(chance(seed, i, 2) * 2 - 1) * 180) / Math.PI);

/** Draws an edge of the map, each as likely as any other, without a list of all of them. */
export function edgeDrawer({ features }: MapDocument): (fraction: number) => readonly [number[], number[]] {
  const rings = features.flatMap(({ geometry }) => geometry.coordinates.flat());
  const ends = new Float64Array(rings.length);
  let total = 0;
  for (const [i, ring] of rings.entries()) ends[i] = total += ring.length - 1;
  return (fraction) => {
    const nth = Math.floor(fraction * total);
    let low = 0;
    for (let high = ends.length - 1; low < high; ) {
      const middle = (low + high) >> 1;
      if ((ends[middle] ?? 0) > nth) high = middle;
      else low = middle + 1;
    }
    const ring = rings[low] ?? [];
    const at = nth - ((ends[low] ?? 0) - (ring.length - 1));
    return [ring[at] ?? [0, 0], ring[at + 1] ?? [0, 0]];
  };
}

/** A point of the edge moved by up to `far` degrees. */
export function besides(
  [a, b]: readonly [number[], number[]],
  along: number,
  far: number,
  seed: number,
  i: number,
): Place {
  const [ax = 0, ay = 0] = a;
  const [bx = 0, by = 0] = b;
  const x = ax + (bx - ax) * along + (chance(seed, i, 5) - 0.5) * far;
  const y = ay + (by - ay) * along + (chance(seed, i, 6) - 0.5) * far;
  return placeOf(x, y);
}

/** 1e-1 to 1e-12 degrees from an edge. */
export function nearBorder(draw: ReturnType<typeof edgeDrawer>, seed: number, i: number): Place {
  return besides(draw(chance(seed, i, 3)), chance(seed, i, 4), 10 ** (-1 - 11 * chance(seed, i, 7)), seed, i);
}
