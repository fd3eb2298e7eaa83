/** Reads the configuration file a command was given: the checked configuration, or every mistake in it at once. */

import { readFile, stat } from 'node:fs/promises';
import type { Config } from '../config/config.ts';
import { readConfig } from '../config/read.ts';
import { UsageError } from './command.ts';

/** Far more than any house needs; a larger file is another file. */
const MOST_BYTES = 1024 * 1024;

/** Throws `UsageError` with one sentence a mistake. */
export async function loadConfig(file: string | undefined): Promise<Config> {
  if (file === undefined) throw new UsageError('which configuration? give --config FILE; gridtide init writes one');
  let text: string;
  try {
    if ((await stat(file)).size > MOST_BYTES) throw new UsageError(`--config ${file}: too large to be a configuration`);
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const why =
      error instanceof Error && 'code' in error && error.code === 'ENOENT'
        ? 'there is no such file'
        : 'it cannot be read';
    throw new UsageError(`--config ${file}: ${why}; gridtide init writes one`);
  }
  const read = readConfig(text);
  if (!read.ok) throw new UsageError(...read.mistakes.map((mistake) => `${file}: ${mistake}`));
  return read.config;
}
