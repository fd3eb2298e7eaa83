/** Reads the options of a bench: a mistake in them is one sentence and exit code 2. */

import { type ParseArgsConfig, parseArgs } from 'node:util';

const isMistake = (error: unknown): error is TypeError =>
  error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS_');

export function parseOptions<const Options extends ParseArgsConfig>(config: Options) {
  try {
    return parseArgs(config);
  } catch (error) {
    if (!isMistake(error)) throw error;
    const [cause] = error.message.split(/\.(?:\s|$)/);
    console.error(`scripts/bench: ${cause}; a value that begins with a dash is written --option=VALUE`);
    process.exit(2);
  }
}
