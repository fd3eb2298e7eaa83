/** Reads the configuration file of a command: the checked configuration, or all its mistakes at once. */

import { readdir, readFile, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Config } from '../../config/config.ts';
import { type Environment, type LocatedConfig, locateConfig } from '../../config/config-paths.ts';
import { parseConfig } from '../../config/parse-config.ts';
import type { NamedSecretFile } from '../../platform/secret-files.ts';
import { fileErrorText, UsageError } from './command.ts';

/** Far more than any house needs: a larger file is not a configuration. */
const MAX_CONFIG_BYTES = 1024 * 1024;

/** The cure for a file that cannot be read. */
function suggestFix(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') return 'gridtide init writes one';
  return code === 'EACCES' ? 'run this command as its owner, or let this user read it' : 'name a file';
}

/** Throws `UsageError` with one sentence per mistake. */
export async function loadConfig(file: string | undefined): Promise<Config> {
  if (file === undefined) throw new UsageError('--config FILE is missing; gridtide init writes a configuration');
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

export interface PathOptions {
  readonly env: Environment;
  /** `--state`, relative to the working directory. */
  readonly state?: string | undefined;
  readonly allowsMissingCredentials?: boolean;
}

/** The configuration with absolute paths: relative ones start at the file's directory, `state` at the working directory. */
export async function loadConfigWithPaths(
  file: string | undefined,
  { env, state, allowsMissingCredentials = false }: PathOptions,
): Promise<LocatedConfig> {
  const config = await loadConfig(file);
  const credentials = env.CREDENTIALS_DIRECTORY;
  const located = locateConfig(config, {
    env,
    directory: resolve(dirname(file ?? '.')),
    credentials: credentials === undefined ? [] : await readdir(credentials).catch(() => []),
    allowsMissingCredentials,
    ...(state === undefined ? {} : { stateDirectory: resolve(state) }),
  });
  if (!located.ok) throw new UsageError(...located.mistakes.map((mistake) => `${file}: ${mistake}`));
  return located.config;
}

/** The configuration of a command that works without one and needs no secret. */
export const loadOptionalConfig = async (file: string | undefined, options: PathOptions) =>
  file === undefined ? undefined : loadConfigWithPaths(file, { ...options, allowsMissingCredentials: true });
