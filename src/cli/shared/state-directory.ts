/** Where the state directory is: the option, the configuration, systemd's, else the user's. Makes nothing. */

import { join } from 'node:path';
import type { DiskError } from '../../domain/ports.ts';
import type { Terminal } from './command.ts';

/** The row for commands that take it. */
export const STATE_ROW = { value: 'DIR', help: 'state directory; default $STATE_DIRECTORY or ~/.local/state/gridtide' };

export function locateStateDirectory(
  env: Terminal['env'],
  given: { readonly option?: string | undefined; readonly config?: string | undefined },
): string {
  // systemd lists several with colons; ours is the first.
  const ofService = env.STATE_DIRECTORY?.split(':')[0];
  return (
    given.option ??
    given.config ??
    (ofService || join(env.HOME || process.getBuiltinModule('node:os').homedir(), '.local', 'state', 'gridtide'))
  );
}

/** For a store: what is wrong with its files, each sentence once. */
export function createDiskErrorPrinter({ err }: Terminal): (failure: DiskError | undefined) => void {
  const printed = new Set<string>();
  return (failure) => {
    if (failure === undefined || printed.has(failure.message)) return;
    printed.add(failure.message);
    err(`${failure.message}\n`);
  };
}
