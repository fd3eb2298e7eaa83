/** Imports the map on stdin into the state directory it is given, with the real disk: a process for tests to kill. */

import { createDisk } from '../../src/platform/disk.ts';
import { importMap } from '../../src/region/import.ts';
import type { Instant } from '../../src/units.ts';

const result = await importMap({
  chunks: process.stdin,
  disk: createDisk(process.argv[2] ?? ''),
  signalType: 'co2_moer',
  now: Date.now() as Instant,
  force: true,
});
if (!result.ok) console.error(result.failure.message);
process.exitCode = result.ok ? 0 : 1;
