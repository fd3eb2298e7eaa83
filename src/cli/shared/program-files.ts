/** Where the build puts the files that the program reads or names. */

import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export function locateProgramFile(name: string): string {
  // In the built program this is a path already.
  const program = import.meta.url;
  return join(dirname(program.startsWith('file:') ? fileURLToPath(program) : program), name);
}
