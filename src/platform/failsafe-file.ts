/** Writes the fail-safe levels of all relay lines for `systemd/failsafe`, which sets them after this process ends. */

import { join } from 'node:path';
import type { Failsafe, FailsafeLine } from '../domain/ports.ts';
import { rename, unlink, writeFile } from './files.ts';

const FAILSAFE_FILE = 'failsafe';
const FAILSAFE_HEADER =
  '# What gridtide wants of its lines after its death: number on the header, level on the wire.\n';

/** One `LINE high` or `LINE low` a line; later ones count. */
export const formatFailsafe = (lines: readonly FailsafeLine[]): string =>
  FAILSAFE_HEADER + lines.map(({ line, high }) => `${line} ${high ? 'high' : 'low'}\n`).join('');

/** In `$RUNTIME_DIRECTORY`, which is in memory; without one no program would read it, and nothing is written. */
export function createFailsafeFile(runtimeDirectory: string | undefined): Failsafe {
  if (runtimeDirectory === undefined) return { save: async () => false, clear: async () => {} };
  const path = join(runtimeDirectory, FAILSAFE_FILE);
  return {
    async save(lines) {
      try {
        await writeFile(`${path}.new`, formatFailsafe(lines), { mode: 0o600 });
        await rename(`${path}.new`, path);
        return true;
      } catch {
        return false;
      }
    },
    clear: () => unlink(path).catch(() => {}),
  };
}
