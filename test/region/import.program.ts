/** Imports the map on stdin into the state directory it is given, with the real disk: a process for tests to kill. */

import type { Instant } from '../../src/domain/units.ts';
import { createFileDisk } from '../../src/platform/file-disk.ts';
import { importHomeMap } from '../../src/region/home-region.ts';

const result = await importHomeMap({
  chunks: process.stdin,
  disk: createFileDisk(process.argv[2] ?? ''),
  signalType: 'co2_moer',
  now: Date.now() as Instant,
  force: true,
});
if (!result.ok) console.error(result.failure.message);
process.exitCode = result.ok ? 0 : 1;
