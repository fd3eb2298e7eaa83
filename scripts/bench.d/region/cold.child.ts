/** The peers of a cold lookup: `naive` asks turf for each feature, `which-polygon` builds its tree; both parse the file first. */

import { parsedMap } from './points.ts';

const [how, file = '', longitude = '0', latitude = '0'] = process.argv.slice(2);
const point = [Number(longitude), Number(latitude)] as const;
const map = parsedMap(file);
if (how === 'naive') {
  const { booleanPointInPolygon } = await import('@turf/boolean-point-in-polygon');
  console.log(map.features.find(({ geometry }) => booleanPointInPolygon([...point], geometry))?.properties.region);
} else {
  const { default: whichPolygon } = await import('which-polygon');
  console.log(whichPolygon<{ region: string }>(map)(point)?.region);
}
