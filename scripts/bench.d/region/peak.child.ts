/** Loaded before a measured program: leaves its peak memory in the file that $GRIDTIDE_PEAK names. */

import { writeFileSync } from 'node:fs';

process.on('exit', () => {
  const file = process.env.GRIDTIDE_PEAK;
  if (file !== undefined) writeFileSync(file, String(process.resourceUsage().maxRSS));
});
