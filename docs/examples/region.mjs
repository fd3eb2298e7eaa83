// Imports a region map (GeoJSON) and prints the region of a place, offline.
// Usage: node region.mjs MAP.geojson LATITUDE LONGITUDE
import { createReadStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { importRegionMap, openRegionMap, toPlace } from 'gridtide/region';

const [file, latitude, longitude] = process.argv.slice(2);
if (file === undefined || latitude === undefined || longitude === undefined) {
  console.error('usage: node region.mjs MAP.geojson LATITUDE LONGITUDE');
  process.exit(2);
}
const location = { directory: 'map-index', signalType: 'co2_moer' };

const place = toPlace(Number(latitude), Number(longitude));
if (typeof place === 'string') throw new Error(place);
await mkdir(location.directory, { recursive: true });

// One pass in bounded memory; the earlier index stays until the new one has passed every check.
const imported = await importRegionMap({ ...location, chunks: createReadStream(file) });
if (!imported.ok) throw new Error(imported.failure.message);
console.log(`regions: ${imported.info.regions}`);

const map = await openRegionMap(location);
if (map === undefined || 'kind' in map) throw new Error(map?.message ?? 'no map was imported');
try {
  const found = await map.findRegion(place);
  console.log(`region: ${found?.region ?? 'none covers this place'}`);
} finally {
  await map.close();
}
