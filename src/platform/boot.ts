/** Names the present boot of the kernel, so that uptimes kept from before a restart are known to go on or not; guesses nothing. */

import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const KERNEL = '/proc/sys/kernel/random/boot_id';

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim() || undefined;
  } catch {
    return undefined;
  }
}

/** A name of our own, kept in a directory that the next boot empties. */
function keptName(directory: string): string | undefined {
  const path = join(directory, 'boot');
  const fresh = `${path}.${process.pid}`;
  try {
    // Loaded only where the kernel does not tell.
    writeFileSync(fresh, process.getBuiltinModule('node:crypto').randomUUID());
    linkSync(fresh, path); // whole or not at all, and the first one stays
  } catch {
    // It is there already, or cannot be: the reading tells.
  }
  rmSync(fresh, { force: true });
  return textOf(path);
}

/**
 * The same text during one boot and another in the next; undefined where that cannot be known. The kernel's own name is
 * hidden from a locked-down service, for which `runtimeDirectory` (`$RUNTIME_DIRECTORY`, kept over restarts) does.
 */
export function bootName(runtimeDirectory: string | undefined, kernel: string = KERNEL): string | undefined {
  return textOf(kernel) ?? (runtimeDirectory === undefined ? undefined : keptName(runtimeDirectory));
}
