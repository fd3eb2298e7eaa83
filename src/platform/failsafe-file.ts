/** Leaves word of what every relay line must be when this process is gone; `systemd/failsafe` carries it out. Sets nothing itself. */

import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A line of the header (BCM number) and the physical level that is safe for its load. */
export interface SafeLine {
  readonly line: number;
  readonly high: boolean;
}

const NAME = 'failsafe';
const HEAD = '# What gridtide wants of its lines after its death: number on the header, level on the wire.\n';

/** One `LINE high` or `LINE low` a line; later ones count. */
export const failsafeText = (lines: readonly SafeLine[]): string =>
  HEAD + lines.map(({ line, high }) => `${line} ${high ? 'high' : 'low'}\n`).join('');

export interface FailsafeFile {
  /** Replaces what was left before; to be called before the first line is driven. False when it cannot be written. */
  leave(lines: readonly SafeLine[]): Promise<boolean>;
  /** After an orderly stop, in which the agent has set what had to be set: nothing is left to do. */
  clear(): Promise<void>;
}

/** In `$RUNTIME_DIRECTORY`, which is in memory; without one nobody would read it, and nothing is written. */
export function createFailsafeFile(runtimeDirectory: string | undefined): FailsafeFile {
  if (runtimeDirectory === undefined) return { leave: async () => false, clear: async () => {} };
  const path = join(runtimeDirectory, NAME);
  return {
    async leave(lines) {
      try {
        await writeFile(`${path}.new`, failsafeText(lines), { mode: 0o600 });
        await rename(`${path}.new`, path);
        return true;
      } catch {
        return false;
      }
    },
    clear: () => rm(path, { force: true }).catch(() => {}),
  };
}
