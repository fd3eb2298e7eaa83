/** Runs a command as the process edge does, with what it writes kept and its errors as exit code and words. */

import { type CommandModule, JobError, readArguments, type Terminal, UsageError } from '../../src/commands/command.ts';

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface Surroundings {
  readonly env?: Terminal['env'];
  readonly input?: string;
  readonly stop?: AbortSignal;
  readonly columns?: number;
  /** Told after each line to people. */
  readonly heard?: () => void;
}

export async function ran(
  command: CommandModule,
  argv: readonly string[],
  { env = {}, input = '', stop = new AbortController().signal, columns = 80, heard }: Surroundings = {},
): Promise<Ran> {
  let out = '';
  let err = '';
  const terminal: Terminal = {
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
      heard?.();
    },
    input: (async function* () {
      yield new TextEncoder().encode(input);
    })(),
    env,
    interactive: false,
    columns,
    stop,
  };
  try {
    const code = await command.run(readArguments(command.spec, argv), terminal);
    return { code, out, err };
  } catch (error) {
    if (error instanceof UsageError) return { code: 2, out, err: err + error.mistakes.join('\n') };
    if (error instanceof JobError) return { code: 1, out, err: err + error.message };
    throw error;
  }
}
