/** The map of each signal: closed counter-clockwise rings, no overlap, holes, islands, the date line; the same for every seed. */

import { describe, expect, it } from 'vitest';
import { catalogueOf, signalTypes } from '../../src/reference/catalogue.ts';
import { contains, type Polygon, type Position, type Ring, turn } from '../../src/reference/lattice.ts';
import { fraction } from '../../src/reference/noise.ts';
import { blobs } from '../../src/reference/regions.ts';

const catalogue = catalogueOf({ seed: 1, mapDetail: 5 });
const outer = (polygon: Polygon): Ring => polygon[0] ?? [];
const holds = (polygon: Polygon, at: Position) =>
  contains(outer(polygon), at) && !polygon.slice(1).some((hole) => contains(hole, at));

describe.each(signalTypes)('the map of %s', (type) => {
  const signal = catalogue[type];
  const polygons = [...signal.shapes()].flatMap(([region, shapes]) => shapes.map((polygon) => ({ region, polygon })));
  const holders = (at: Position) => polygons.filter(({ polygon }) => holds(polygon, at)).map(({ region }) => region);

  it('has a shape for each region and a region for each shape', () => {
    expect([...signal.shapes().keys()].sort()).toEqual([...signal.places.keys()].sort());
  });
  it('closes every ring; outer ones run counter-clockwise, holes clockwise', () => {
    for (const { region, polygon } of polygons)
      polygon.forEach((ring, i) => {
        expect(ring.at(-1), region).toEqual(ring[0]);
        expect(ring.length, region).toBeGreaterThan(8);
        expect(turn(ring) > 0, `${region} ring ${i}`).toBe(i === 0);
      });
  });
  it('covers no point twice, and agrees with the lookup', () => {
    for (let i = 0; i < 2_500; i++) {
      // Most of them about North America, where most borders are.
      const wide = i % 3 === 0;
      const longitude = wide ? -180 + 360 * fraction(1, i) : -126 + 61 * fraction(1, i);
      const latitude = wide ? -60 + 130 * fraction(2, i) : 24 + 33 * fraction(2, i);
      const found = holders([longitude, latitude]);
      expect(found.length, `${longitude}, ${latitude}: ${found.join(' ')}`).toBeLessThan(2);
      expect(signal.placeAt(latitude, longitude)?.region).toBe(found[0]);
    }
  });
  it('cuts every enclave out of one host, cleanly', () => {
    for (const { name, host, latitude, longitude, radius } of blobs.filter(({ host }) => host !== undefined))
      for (let i = 0; i < 60; i++) {
        const angle = (i * Math.PI) / 30;
        const reach = radius * (0.6 + 0.012 * i);
        const at: Position = [
          longitude + (reach * Math.cos(angle)) / Math.cos((latitude * Math.PI) / 180),
          latitude + reach * Math.sin(angle),
        ];
        expect(holders(at).length, `${name} in ${host} at ${at}`).toBeLessThan(2);
      }
  });
  it('stays between -180 and 180, with straight borders on the date line', () => {
    const all = polygons.flatMap(({ polygon }) => polygon.flat());
    expect(all.every(([x, y]) => Math.abs(x) <= 180 && Math.abs(y) <= 90)).toBe(true);
    // Health damages are told of North America only.
    const least = type === 'health_damage' ? 0 : 90;
    expect(all.filter(([x]) => x === 180).length).toBeGreaterThanOrEqual(least);
    expect(all.filter(([x]) => x === -180).length).toBeGreaterThanOrEqual(least);
  });
});

describe('the map of co2_moer', () => {
  const shapes = catalogue.co2_moer.shapes();
  it('shares borders point for point between neighbours', () => {
    const points = (region: string) => new Set((shapes.get(region) ?? []).flatMap(outer).map(String));
    const psco = points('PSCO');
    const shared = [...points('WACM')].filter((at) => psco.has(at));
    expect(shared.length).toBeGreaterThan(30);
  });
  it('has holes filled by another region, a lake with an island in it, and regions of many islands', () => {
    expect((shapes.get('CAISO_NORTH') ?? []).some((polygon) => polygon.length === 3)).toBe(true);
    expect(shapes.get('BANC')).toHaveLength(1);
    expect(catalogue.co2_moer.placeAt(40.8, -111.9)).toBeUndefined();
    expect(catalogue.co2_moer.placeAt(40.8, -112.2)?.region).toBe('PACE_UT');
    expect(shapes.get('HECO_MAUI')).toHaveLength(2);
  });
  it('lies with the authorities of the averages, point by point', () => {
    for (let i = 0; i < 2_500; i++) {
      const [latitude, longitude] = [24 + 33 * fraction(3, i), -126 + 61 * fraction(4, i)];
      const place = catalogue.co2_moer.placeAt(latitude, longitude);
      expect(catalogue.co2_aoer.placeAt(latitude, longitude)?.region).toBe(place?.parent ?? place?.region);
    }
  });
  it('does not depend on the seed', () => {
    const other = catalogueOf({ seed: 99, mapDetail: 5 }).co2_moer.shapes();
    expect(other.get('CAISO_NORTH')).toEqual(shapes.get('CAISO_NORTH'));
  });
  it('is as fine as asked', () => {
    const fine = catalogueOf({ seed: 1, mapDetail: 7 }).co2_moer;
    const count = (of: ReadonlyMap<string, readonly Polygon[]>) =>
      [...of.values()].flat(2).reduce((n, ring) => n + ring.length, 0);
    expect(count(fine.shapes())).toBeGreaterThan(3.5 * count(shapes));
    expect(fine.placeAt(38.5, -122)?.region).toBe('CAISO_NORTH');
  });
});
