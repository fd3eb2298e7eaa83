/** Polygons too large for a list of their vertices: they are clipped from the polygon itself, and answer as the whole does. */

import { booleanPointInPolygon } from '@turf/boolean-point-in-polygon';
import { expect, it } from 'vitest';
import { createMapText, feature } from './map-texts.ts';
import { importAndOpen, placeAt } from './region-setup.ts';

const VERTICES = 300_000;
const HOLES = 40;

/** A ring around a point whose distance swings. */
function wavyRing(x: number, y: number, radius: number, count: number): number[][] {
  const ring = Array.from({ length: count }, (_, i) => {
    const angle = (2 * Math.PI * i) / count;
    const distance = radius * (1 + 0.2 * Math.sin(angle * 31) + 0.0001 * Math.sin(i * 1.7));
    return [x + distance * Math.cos(angle), y + distance * Math.sin(angle)];
  });
  return [...ring, ring[0] ?? []];
}

it('a polygon of 300,000 vertices and 40 holes answers like the whole, at its borders too', async () => {
  const holes = Array.from({ length: HOLES }, (_, i) =>
    wavyRing(-6 + 1.5 * (i % 8), -4 + 1.5 * Math.floor(i / 8), 0.3, 2_500),
  );
  const rings = [wavyRing(0, 0, 20, VERTICES - 2_500 * HOLES), ...holes];
  const map = await importAndOpen(createMapText(feature('BIG', rings)));
  const whole = { type: 'Polygon' as const, coordinates: rings };
  const turn = (i: number, step: number) => ((i * step) % 1) * 50 - 25;
  const anywhere = Array.from({ length: 60 }, (_, i) => [turn(i, 0.618), turn(i, 0.414)]);
  const inHoles = holes.slice(0, 10).map(([first = [0, 0]], i) => [-6 + 1.5 * (i % 8), (first[1] ?? 0) + 0.01 * i]);
  const onBorders = rings.slice(0, 8).map((ring, i) => ring[i * 311] ?? [0, 0]);
  const points = [...anywhere, ...inHoles, ...onBorders];
  for (const [x = 0, y = 0] of points) {
    const place = placeAt(y, x);
    const expected = booleanPointInPolygon([x, y], whole) ? 'BIG' : undefined;
    expect([x, y, (await map.findRegion(place))?.region]).toEqual([x, y, expected]);
  }
});
