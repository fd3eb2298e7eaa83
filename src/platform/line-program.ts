/** Finds the program gridtide-lines, starts it, and asks it who uses a line. */

import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { makeDirectory } from './make-directory.ts';

const runFile = promisify(execFile);

/** Beside the built program, where a C compiler was there at the build. */
export function findLineProgram(): string | undefined {
  try {
    return createRequire(import.meta.url).resolve(`./gridtide-lines-${process.arch}`);
  } catch {
    return undefined;
  }
}

/** For people: how the program comes to be there. */
export const PROGRAM_CURE =
  'apt install gcc libc6-dev, then npm run build, or install the Debian package, which holds it (docs/relays.md)';

/** Undefined once the program listens on `socket`, else why it does not. It goes on when this process ends. */
export async function startLineProgram(program: string, socket: string): Promise<string | undefined> {
  try {
    await makeDirectory(dirname(socket), 0o700);
    await runFile(program, [socket]);
    return undefined;
  } catch (error) {
    return describeRunError(error);
  }
}

/** One answer for each line, as of a request. */
export async function probeByProgram(program: string, lines: readonly number[]): Promise<readonly string[]> {
  try {
    const { stdout } = await runFile(program, ['probe', ...lines.map(String)]);
    return stdout.trimEnd().split('\n');
  } catch (error) {
    return lines.map(() => `no ESTART ${describeRunError(error)}`);
  }
}

function describeRunError(error: unknown): string {
  const printed = error instanceof Error && 'stderr' in error ? `${error.stderr}`.trim() : '';
  return printed === '' ? `${error instanceof Error ? error.message : error}` : printed;
}
