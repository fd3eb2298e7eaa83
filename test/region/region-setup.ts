/** What the tests of the region floor share: chunks of a text, an import into memory, the whole-file answer by turf. */

import { booleanPointInPolygon } from '@turf/boolean-point-in-polygon';
import type { Disk } from '../../src/domain/ports.ts';
import type { Instant, Latitude, Longitude, Place } from '../../src/domain/units.ts';
import { importHomeMap } from '../../src/region/home-region.ts';
import { openMap } from '../../src/region/lookup.ts';
import type { ImportOptions, RegionMap } from '../../src/region/region-types.ts';
import { createMemoryDisk } from '../../src/simulation/memory-disk.ts';
import { featuresOf, type MapShape } from '../fixtures/region-map.ts';

export const placeAt = (latitude: number, longitude: number): Place => ({
  latitude: latitude as Latitude,
  longitude: longitude as Longitude,
});

export const NOW = Date.UTC(2026, 2, 2) as Instant;

/** The text in chunks of `size` bytes, in one buffer that is used again for each. */
export async function* splitChunks(text: string | Iterable<string>, size = 65_536): AsyncGenerator<Uint8Array> {
  const reused = new Uint8Array(size);
  let filled = 0;
  for (const part of typeof text === 'string' ? [text] : text) {
    const bytes = new TextEncoder().encode(part);
    for (let from = 0; from < bytes.length; ) {
      const take = Math.min(size - filled, bytes.length - from);
      reused.set(bytes.subarray(from, from + take), filled);
      filled += take;
      from += take;
      if (filled === size) {
        yield reused;
        filled = 0;
      }
    }
  }
  if (filled > 0) yield reused.subarray(0, filled);
}

export const importText = (
  text: string | Iterable<string>,
  options: Partial<ImportOptions> & { readonly disk: Disk },
  size?: number,
) => importHomeMap({ signalType: 'co2_moer', now: NOW, chunks: splitChunks(text, size), ...options });

/** The map of a text, opened; throws when it is not taken. */
export async function importAndOpen(text: string | Iterable<string>, size?: number): Promise<RegionMap> {
  const disk = createMemoryDisk();
  const result = await importText(text, { disk }, size);
  if (!result.ok) throw new Error(result.failure.message);
  const map = await openMap(disk, 'co2_moer');
  if (map === undefined || 'kind' in map) throw new Error('the map does not open');
  return map;
}

/** The number of the first feature that covers the place by turf over whole polygons, asked at both names of the antimeridian. */
export function createTurfLookup(shape: MapShape): (place: Place) => number | undefined {
  const features = [...featuresOf(shape)].map(({ polygons }) => ({
    type: 'MultiPolygon' as const,
    coordinates: polygons.map((rings) => rings.map((ring) => ring.map(([x, y]) => [x, y]))),
  }));
  return ({ latitude, longitude }) => {
    const xs = Math.abs(longitude) === 180 ? [180, -180] : [longitude];
    const nth = features.findIndex((polygon) => xs.some((x) => booleanPointInPolygon([x, latitude], polygon)));
    return nth === -1 ? undefined : nth;
  };
}
