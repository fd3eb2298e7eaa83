/** Reads the configuration file a command was given: the checked configuration, or every mistake in it at once. */

import { readdir, readFile, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Config } from '../../config/config.ts';
import { type Environment, type LocatedConfig, locateConfig } from '../../config/config-paths.ts';
import { parseConfig } from '../../config/parse-config.ts';
import type { NamedSecretFile } from '../../platform/secret-files.ts';
import { fileErrorText, UsageError } from './command.ts';

/** Far more than any house needs; a larger file is another file. */
const MAX_CONFIG_BYTES = 1024 * 1024;

/** What is done about a file that is not read. */
function suggestFix(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') return 'gridtide init writes one';
  return code === 'EACCES' ? 'run this as its owner, or let this user read it' : 'name a file';
}

/** Throws `UsageError` with one sentence a mistake. */
export async function loadConfig(file: string | undefined): Promise<Config> {
  if (file === undefined) throw new UsageError('which configuration? give --config FILE; gridtide init writes one');
  let text: string;
  try {
    if ((await stat(file)).size > MAX_CONFIG_BYTES)
      throw new UsageError(`--config ${file}: too large to be a configuration`);
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`--config ${file}: ${fileErrorText(error)}; ${suggestFix(error)}`);
  }
  const read = parseConfig(text);
  if (!read.ok) throw new UsageError(...read.mistakes.map((mistake) => `${file}: ${mistake}`));
  return read.config;
}

/** The credentials and certificates that a configuration names. */
export function listConfiguredFiles({ service, mqtt }: Config): readonly NamedSecretFile[] {
  const files = [
    ['service.usernameFile', service.usernameFile, false],
    ['service.passwordFile', service.passwordFile, true],
    ['service.ca', service.ca, false],
    ['mqtt.usernameFile', mqtt?.usernameFile, false],
    ['mqtt.passwordFile', mqtt?.passwordFile, true],
    ['mqtt.ca', mqtt?.ca, false],
    ['mqtt.certificate', mqtt?.certificate, false],
    ['mqtt.key', mqtt?.key, true],
  ] as const;
  return files.flatMap(([at, path, isSecret]) => (path === undefined ? [] : [{ at, path, isSecret }]));
}

/** What the service manager handed over. */
async function listCredentials(directory: string | undefined): Promise<readonly string[]> {
  return directory === undefined ? [] : readdir(directory).catch(() => []);
}

/** The configuration with every path absolute: relative ones start at the file's directory, `state` at the working one. */
export async function loadConfigWithPaths(
  file: string | undefined,
  { env, state }: { readonly env: Environment; readonly state?: string | undefined },
): Promise<LocatedConfig> {
  const config = await loadConfig(file);
  const located = locateConfig(config, {
    env,
    directory: resolve(dirname(file ?? '.')),
    credentials: await listCredentials(env.CREDENTIALS_DIRECTORY),
    ...(state === undefined ? {} : { stateDirectory: resolve(state) }),
  });
  if (!located.ok) throw new UsageError(...located.mistakes.map((mistake) => `${file}: ${mistake}`));
  return located.config;
}
