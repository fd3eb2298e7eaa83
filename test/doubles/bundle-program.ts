/** Makes a program of one source file, as the build does, so that a test can run it in a process of its own. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
// @ts-expect-error a script without types
import { ESM_PROGRAM } from '../../scripts/esm-program.mjs';

export interface BundledProgram {
  /** Path of the program, for `node`. */
  readonly path: string;
  remove(): Promise<void>;
}

/** The names of packages that the program finds beside itself at run time are `external`. */
export async function bundleProgram(source: string, external: readonly string[] = []): Promise<BundledProgram> {
  const directory = await mkdtemp(join(tmpdir(), 'gridtide-program-'));
  const path = join(directory, 'program.mjs');
  await build({
    entryPoints: [source],
    outfile: path,
    ...ESM_PROGRAM,
    external: [...external],
    logLevel: 'error',
  });
  return { path, remove: () => rm(directory, { recursive: true, force: true }) };
}
