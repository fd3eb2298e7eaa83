/** Tests whether rings cover a point, by turf alone. */

import { booleanPointInPolygon } from '@turf/boolean-point-in-polygon';
import { clipRings, type RingList, toCoordinates } from './clip.ts';

/** True on the border, and on the borders of holes. */
export type PointTest = (rings: RingList, longitude: number, latitude: number) => boolean;

/** Uses its memory again for each test. */
export function createPointTest(): PointTest {
  let list = new Uint32Array(512);
  return (rings, x, y) => {
    if (list.length < rings.to - rings.from) list = new Uint32Array(rings.to - rings.from);
    const to = clipRings(rings, { west: x, south: y, east: x, north: y }, list, 0);
    if (to === 0) return false;
    const coordinates = toCoordinates({ xy: rings.xy, list, from: 0, to });
    return booleanPointInPolygon([x, y], { type: 'Polygon', coordinates });
  };
}
