/** Finds the configuration of a command without `--config`. A file of its own, so that a command without one loads no reader. */

import { access } from '../../platform/files.ts';
import type { Terminal } from './command.ts';

export const LOCAL_FILE = 'gridtide.yaml';

/** Whether a file exists; one in a directory that this user may not enter counts, so that reading it explains the problem. */
export const fileExists = (file: string) =>
  access(file).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code === 'EACCES',
  );

/** `--config`, else `./gridtide.yaml`, else the file of the installed unit; undefined when there is none. */
export async function findConfigFile(given: string | undefined, { installed }: Pick<Terminal, 'installed'>) {
  if (given !== undefined) return given;
  for (const file of [LOCAL_FILE, installed?.config]) if (file !== undefined && (await fileExists(file))) return file;
  return undefined;
}
