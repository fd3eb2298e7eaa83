/** The peer of the import: the whole file through JSON.parse. */

import { parsedMap } from './points.ts';

console.log(parsedMap(process.argv[2] ?? '').features.length);
