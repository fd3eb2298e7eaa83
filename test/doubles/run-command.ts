/** Runs a command as the process edge does, with what it writes kept and its errors as exit code and words. */

import { type CommandModule, JobError, type Terminal, UsageError } from '../../src/cli/shared/command.ts';
import { parseArguments } from '../../src/cli/shared/parse-arguments.ts';

export interface CommandResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface CommandOptions {
  readonly env?: Terminal['env'];
  readonly installed?: Terminal['installed'];
  readonly input?: string;
  readonly stop?: AbortSignal;
  readonly columns?: number;
  /** Told after each line to people. */
  readonly onStderr?: () => void;
}

export async function runCommand(
  command: CommandModule,
  argv: readonly string[],
  { env = {}, installed, input = '', stop = new AbortController().signal, columns = 80, onStderr }: CommandOptions = {},
): Promise<CommandResult> {
  let out = '';
  let err = '';
  const terminal: Terminal = {
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
      onStderr?.();
    },
    input: (async function* () {
      yield new TextEncoder().encode(input);
    })(),
    env,
    ...(installed === undefined ? {} : { installed }),
    interactive: false,
    showsProgress: false,
    columns,
    stop,
  };
  try {
    const code = await command.run(parseArguments(command.spec, argv), terminal);
    return { code, out, err };
  } catch (error) {
    if (error instanceof UsageError) return { code: 2, out, err: err + error.mistakes.join('\n') };
    if (error instanceof JobError) return { code: 1, out, err: err + error.message };
    throw error;
  }
}
