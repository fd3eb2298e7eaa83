/** Compares the index with turf over the whole map at many points, half of them at borders. Prints one JSON line, writes points and answers. */

import { writeFileSync } from 'node:fs';
import { booleanPointInPolygon } from '@turf/boolean-point-in-polygon';
import whichPolygon from 'which-polygon';
import type { Place } from '../../../src/domain/units.ts';
import { createFileDisk } from '../../../src/platform/file-disk.ts';
import { openMap } from '../../../src/region/lookup.ts';
import { chance } from '../../../test/fixtures/region-map.ts';
import { anywhere, besides, edgeDrawer, nearBorder, parsedMap } from './points.ts';

const [file = '', state = '', count = '500000', output = ''] = process.argv.slice(2);
const document = parsedMap(file);
const map = await openMap(createFileDisk(state), 'co2_moer');
if (map === undefined || 'kind' in map) throw new Error('no map');
const numbered = {
  features: document.features.map((feature, nth) => ({ ...feature, type: 'Feature', properties: { nth } })),
};
const query = whichPolygon<{ nth: number }>(numbered);

/** Every polygon with the box of all its rings: outside it turf cannot answer inside, so leaving it out changes nothing. */
const polygons = document.features.flatMap(({ geometry }, feature) =>
  geometry.coordinates.map((coordinates) => {
    const box = [Infinity, Infinity, -Infinity, -Infinity] as [number, number, number, number];
    for (const ring of coordinates)
      for (const [x = 0, y = 0] of ring) {
        box[0] = Math.min(box[0], x);
        box[1] = Math.min(box[1], y);
        box[2] = Math.max(box[2], x);
        box[3] = Math.max(box[3], y);
      }
    return { feature, box, polygon: { type: 'Polygon' as const, coordinates } };
  }),
);

const byTurf = ({ longitude: x, latitude: y }: Place) =>
  polygons.find(
    ({ box, polygon }) =>
      x >= box[0] && y >= box[1] && x <= box[2] && y <= box[3] && booleanPointInPolygon([x, y], polygon),
  )?.feature ?? -1;
/** Without the boxes, for a part of the points. */
const byPlainTurf = ({ longitude, latitude }: Place) =>
  document.features.findIndex(({ geometry }) => booleanPointInPolygon([longitude, latitude], geometry));

const draw = edgeDrawer(document);
/** Of ten: two and a half anywhere, two and a half within a degree of a vertex, three near an edge, a vertex, the middle of an edge. */
function pointOf(i: number): Place {
  const edge = draw(chance(9, i, 1));
  const kind = i % 20;
  if (kind < 5) return anywhere(9, i);
  if (kind < 10) return besides(edge, 0, 2, 9, i);
  if (kind < 16) return nearBorder(draw, 9, i);
  return besides(edge, kind < 18 ? 0 : 0.5, 0, 9, i);
}

const total = Number(count);
const points = new Float64Array(total * 2);
const answers = new Int32Array(total);
const result = { points: total, differences: 0, plain: 0, plainDifferences: 0, whichPolygonDifferences: 0 };
for (let i = 0; i < total; i++) {
  const place = pointOf(i);
  const found = (await map.findRegion(place))?.feature ?? -1;
  points.set([place.longitude, place.latitude], i * 2);
  answers[i] = found;
  if (found !== byTurf(place)) result.differences++;
  if ((query([place.longitude, place.latitude])?.nth ?? -1) !== found) result.whichPolygonDifferences++;
  if (i % 1_000 < 2) {
    result.plain++;
    if (found !== byPlainTurf(place)) result.plainDifferences++;
  }
}
await map.close();
if (output !== '') {
  writeFileSync(`${output}.points`, points);
  writeFileSync(`${output}.answers`, answers);
}
console.log(JSON.stringify(result));
