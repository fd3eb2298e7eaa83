/** The map of each signal: closed counter-clockwise rings, no overlap, holes, islands, the date line; the same for every seed. */

import Flatbush from 'flatbush';
import { describe, expect, it } from 'vitest';
import { createCatalogue, signalTypes } from '../../src/reference/world/catalogue.ts';
import { isInsideRing, type Polygon, type Position, type Ring } from '../../src/reference/world/map-geometry.ts';
import { roundAreas } from '../../src/reference/world/region-table.ts';
import { drawFraction } from '../../src/reference/world/seeded-random.ts';

const catalogue = createCatalogue({ seed: 1, mapDetail: 5 });
const outer = (polygon: Polygon): Ring => polygon[0] ?? [];
const holds = (polygon: Polygon, at: Position) =>
  isInsideRing(outer(polygon), at) && !polygon.slice(1).some((hole) => isInsideRing(hole, at));
/** Twice the enclosed area by the shoelace formula, positive counter-clockwise; apart from the one that draws the map. */
const doubleArea = (ring: Ring) =>
  ring.reduce((sum, [x, y], i) => {
    const [nextX, nextY] = ring[(i + 1) % ring.length] as Position;
    return sum + x * nextY - nextX * y;
  }, 0);

interface Edge {
  readonly a: Position;
  readonly b: Position;
}
/** In hundred-thousandths of a degree, as the map is written: whole numbers, so that the test is exact. */
const edgeOf = (region: string, [x0, y0]: Position, [x1, y1]: Position) => ({
  region,
  a: [Math.round(x0 * 1e5), Math.round(y0 * 1e5)] as const,
  b: [Math.round(x1 * 1e5), Math.round(y1 * 1e5)] as const,
});
const side = ({ a, b }: Edge, [x, y]: Position) => Math.sign((b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0]));
/** Whether each parts the ends of the other; borders that touch or lie on one another do not. */
const crosses = (one: Edge, two: Edge) =>
  side(one, two.a) * side(one, two.b) < 0 && side(two, one.a) * side(two, one.b) < 0;

describe.each(signalTypes)('the map of %s', (type) => {
  const signal = catalogue[type];
  const polygons = [...signal.shapes()].flatMap(([region, shapes]) => shapes.map((polygon) => ({ region, polygon })));
  const holders = (at: Position) => polygons.filter(({ polygon }) => holds(polygon, at)).map(({ region }) => region);

  it('has a shape for each region and a region for each shape', () => {
    expect([...signal.shapes().keys()].sort()).toEqual([...signal.regions.keys()].sort());
  });
  it('closes every ring; outer ones run counter-clockwise, holes clockwise', () => {
    for (const { region, polygon } of polygons)
      polygon.forEach((ring, i) => {
        expect(ring.at(-1), region).toEqual(ring[0]);
        expect(ring.length, region).toBeGreaterThan(8);
        expect(doubleArea(ring) > 0, `${region} ring ${i}`).toBe(i === 0);
      });
  });
  it('no border crosses another, nor itself', () => {
    const edges = polygons.flatMap(({ region, polygon }) =>
      polygon.flatMap((ring) => ring.slice(1).map((to, i) => edgeOf(region, ring[i] as Position, to))),
    );
    const index = new Flatbush(edges.length);
    for (const { a, b } of edges)
      index.add(Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.max(a[0], b[0]), Math.max(a[1], b[1]));
    index.finish();
    const crossings = edges.flatMap(({ region, a, b }, i) =>
      index
        .search(Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.max(a[0], b[0]), Math.max(a[1], b[1]))
        .filter((j) => j > i && crosses({ a, b }, edges[j] as Edge))
        .map((j) => `${region} and ${edges[j]?.region} near ${a[0] / 1e5}, ${a[1] / 1e5}`),
    );
    expect(edges.length).toBeGreaterThan(8_000);
    expect(crossings).toEqual([]);
  });
  it('covers no point twice, and agrees with the lookup', () => {
    for (let i = 0; i < 2_500; i++) {
      // Most of them about North America, where most borders are.
      const wide = i % 3 === 0;
      const longitude = wide ? -180 + 360 * drawFraction(1, i) : -126 + 61 * drawFraction(1, i);
      const latitude = wide ? -60 + 130 * drawFraction(2, i) : 24 + 33 * drawFraction(2, i);
      const found = holders([longitude, latitude]);
      expect(found.length, `${longitude}, ${latitude}: ${found.join(' ')}`).toBeLessThan(2);
      expect(signal.findRegion(latitude, longitude)?.name).toBe(found[0]);
    }
  });
  it('cuts every enclave out of one host, cleanly', () => {
    for (const { name, host, latitude, longitude, radius } of roundAreas.filter(({ host }) => host !== undefined))
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
    expect(catalogue.co2_moer.findRegion(40.8, -111.9)).toBeUndefined();
    expect(catalogue.co2_moer.findRegion(40.8, -112.2)?.name).toBe('PACE_UT');
    expect(shapes.get('HECO_MAUI')).toHaveLength(2);
  });
  it('lies with the authorities of the averages, point by point', () => {
    for (let i = 0; i < 2_500; i++) {
      const [latitude, longitude] = [24 + 33 * drawFraction(3, i), -126 + 61 * drawFraction(4, i)];
      const place = catalogue.co2_moer.findRegion(latitude, longitude);
      expect(catalogue.co2_aoer.findRegion(latitude, longitude)?.name).toBe(place?.parent);
    }
  });
  it('does not depend on the seed', () => {
    const other = createCatalogue({ seed: 99, mapDetail: 5 }).co2_moer.shapes();
    expect(other.get('CAISO_NORTH')).toEqual(shapes.get('CAISO_NORTH'));
  });
  it('is as fine as asked', () => {
    const fine = createCatalogue({ seed: 1, mapDetail: 7 }).co2_moer;
    const count = (of: ReadonlyMap<string, readonly Polygon[]>) =>
      [...of.values()].flat(2).reduce((n, ring) => n + ring.length, 0);
    expect(count(fine.shapes())).toBeGreaterThan(3.5 * count(shapes));
    expect(fine.findRegion(38.5, -122)?.name).toBe('CAISO_NORTH');
  });
});
