/** Reads the id of the kernel's present boot, which shows whether saved uptimes still count. */

import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const KERNEL_BOOT_ID = '/proc/sys/kernel/random/boot_id';

function readTrimmed(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim() || undefined;
  } catch {
    return undefined;
  }
}

/** An id of our own, stored in a directory that the next boot empties. */
function readOrCreateBootId(directory: string): string | undefined {
  const path = join(directory, 'boot');
  const temporaryPath = `${path}.${process.pid}`;
  try {
    // Loaded only where the kernel has no id to read.
    writeFileSync(temporaryPath, process.getBuiltinModule('node:crypto').randomUUID());
    linkSync(temporaryPath, path); // whole or not at all, and the first one stays
  } catch {
    // It exists already, or cannot be created: reading it decides.
  }
  rmSync(temporaryPath, { force: true });
  return readTrimmed(path);
}

/**
 * The same text during one boot and another in the next; undefined where that cannot be known. The kernel's own name is
 * hidden from a locked-down service, for which `runtimeDirectory` (`$RUNTIME_DIRECTORY`, kept over restarts) does.
 */
export function readBootId(runtimeDirectory: string | undefined, kernel: string = KERNEL_BOOT_ID): string | undefined {
  return readTrimmed(kernel) ?? (runtimeDirectory === undefined ? undefined : readOrCreateBootId(runtimeDirectory));
}
