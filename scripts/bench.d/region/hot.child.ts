/** Lookups a second, in windows turn about: the index with its cache, which-polygon, turf with a box a feature. Prints one JSON line. */

import { booleanPointInPolygon } from '@turf/boolean-point-in-polygon';
import whichPolygon from 'which-polygon';
import type { Place } from '../../../src/domain/units.ts';
import { createFileDisk } from '../../../src/platform/file-disk.ts';
import { openMap } from '../../../src/region/lookup.ts';
import { anywhere, edgeDrawer, nearBorder, parsedMap } from './points.ts';

const [file = '', state = '', windows = '3', milliseconds = '700'] = process.argv.slice(2);
const document = parsedMap(file);
const query = whichPolygon<{ region: string }>(document);
const map = await openMap(createFileDisk(state), 'co2_moer');
if (map === undefined || 'kind' in map) throw new Error('no map');

const POINTS = 1 << 16;
const draw = edgeDrawer(document);
const uniform = Array.from({ length: POINTS }, (_, i) => anywhere(1, i));
const border = Array.from({ length: POINTS }, (_, i) => nearBorder(draw, 2, i));
const repeated = Array.from({ length: POINTS }, () => border[7] as Place);

const naive = ({ longitude, latitude }: Place) =>
  document.features.find(({ geometry }) => booleanPointInPolygon([longitude, latitude], geometry));

const runners: Record<string, (place: Place) => unknown> = {
  index: (place) => map.findRegion(place),
  'which-polygon': ({ longitude, latitude }) => query([longitude, latitude]),
  turf: naive,
};

async function rate(run: (place: Place) => unknown, points: readonly Place[], from: number): Promise<number> {
  const start = performance.now();
  let done = 0;
  for (let i = from; performance.now() - start < Number(milliseconds); )
    for (let k = 0; k < 16; k++, i++, done++) await run(points[i % POINTS] as Place);
  return (done / (performance.now() - start)) * 1_000;
}

const median = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1] ?? 0;
const result: Record<string, Record<string, number>> = {};
for (const [kind, points] of Object.entries({ uniform, border, repeated })) {
  const rates: Record<string, number[]> = {};
  for (let w = 0; w < Number(windows) + 1; w++)
    for (const [name, run] of Object.entries(runners)) {
      if (name === 'turf' && (w === 0 || kind !== 'uniform')) continue;
      const got = await rate(run, points, w * 20_011);
      if (w > 0) {
        const list = rates[name] ?? [];
        list.push(got);
        rates[name] = list;
      } // the first window warms up
    }
  result[kind] = Object.fromEntries(Object.entries(rates).map(([name, list]) => [name, Math.round(median(list))]));
}
await map.close();
console.log(JSON.stringify(result));
