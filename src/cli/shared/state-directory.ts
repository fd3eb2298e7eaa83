/** The `--state` option of the commands, and the errors of the files it names. */

import { resolve } from 'node:path';
import { resolveStateDirectory } from '../../config/config-paths.ts';
import type { DiskError } from '../../domain/ports.ts';
import type { Terminal } from './command.ts';

/** The row of commands with `--state`. */
export const STATE_ROW = { value: 'DIR', help: 'state directory; default $STATE_DIRECTORY or ~/.local/state/gridtide' };

/** The state directory of a command that has no configuration. */
export function locateStateDirectory({ env }: Pick<Terminal, 'env'>, option: string | undefined): string {
  const home = env.HOME || process.getBuiltinModule('node:os').homedir();
  const stateDirectory = option === undefined ? {} : { stateDirectory: resolve(option) };
  return resolveStateDirectory(undefined, { env: { ...env, HOME: home }, directory: '.', ...stateDirectory }) ?? home;
}

/** Prints each failure of the state directory's files once. */
export function createDiskErrorPrinter({ err }: Pick<Terminal, 'err'>): (failure: DiskError | undefined) => void {
  const printed = new Set<string>();
  return (failure) => {
    if (failure === undefined || printed.has(failure.message)) return;
    printed.add(failure.message);
    err(`${failure.message}\n`);
  };
}
