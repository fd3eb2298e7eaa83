/** Makes a directory with its parents. */

import { dirname } from 'node:path';
import { getFileErrorCode } from './disk-error-text.ts';
import { mkdir, stat } from './files.ts';

/** True when it was made, false when it was there. */
async function makeSingleDirectory(path: string, mode: number): Promise<boolean> {
  try {
    await mkdir(path, { mode });
    return true;
  } catch (error) {
    // A directory that is there may be refused for another reason as well: a file system that is read only.
    const existing = getFileErrorCode(error) === 'ENOENT' ? undefined : await stat(path).catch(() => undefined);
    if (existing?.isDirectory()) return false;
    throw error;
  }
}

/**
 * The topmost directory that was made, or undefined when all were there. Rejects with the error of the file system.
 *
 * Node's own recursive way never ends where nothing can be made and the answer is that something above is missing, as under /proc.
 */
export async function makeDirectory(path: string, mode: number): Promise<string | undefined> {
  try {
    return (await makeSingleDirectory(path, mode)) ? path : undefined;
  } catch (error) {
    if (getFileErrorCode(error) !== 'ENOENT' || dirname(path) === path) throw error;
  }
  const first = await makeDirectory(dirname(path), mode);
  const made = await makeSingleDirectory(path, mode);
  return first ?? (made ? path : undefined);
}
