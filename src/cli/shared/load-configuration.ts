/** Reads the configuration file of a command: the checked configuration, or all its mistakes at once. */

import { dirname, resolve } from 'node:path';
import type { Config } from '../../config/config.ts';
import { type LocatedConfig, locateConfig } from '../../config/config-paths.ts';
import { CONFIG_TOO_LARGE, MAX_CONFIG_BYTES, parseConfig } from '../../config/parse-config.ts';
import { findWebDevice } from '../../domain/levels.ts';
import { readdir, readFile, stat } from '../../platform/files.ts';
import type { NamedSecretFile } from '../../platform/secret-files.ts';
import { explainReadError, type Terminal, UsageError } from './command.ts';
import { findConfigFile } from './config-file.ts';

/** The cure for a file that cannot be read. */
function suggestFix(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') return 'gridtide init writes one';
  return code === 'EACCES'
    ? 'run this command as its owner or as a member of its group (of the installed agent: sudo adduser "$USER" gridtide, then log in again)'
    : 'name a file';
}

/** Throws `UsageError` with one sentence per mistake. */
export async function loadConfig(file: string): Promise<Config> {
  let text: string;
  try {
    if ((await stat(file)).size > MAX_CONFIG_BYTES) throw new UsageError(`${file}: ${CONFIG_TOO_LARGE}`);
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`--config ${file}: ${explainReadError(error)}; ${suggestFix(error)}`);
  }
  const read = parseConfig(text);
  if (!read.ok) throw new UsageError(...read.mistakes.map((mistake) => `${file}: ${mistake}`));
  return read.config;
}

/** The credentials and certificates that a configuration names. */
export function listConfiguredFiles({ service, mqtt, loads }: Config): readonly NamedSecretFile[] {
  const account = service.url === undefined ? undefined : service;
  const files = [
    ['service.usernameFile', account?.usernameFile, false],
    ['service.passwordFile', account?.passwordFile, true],
    ['service.ca', account?.ca, false],
    ['mqtt.usernameFile', mqtt?.usernameFile, false],
    ['mqtt.passwordFile', mqtt?.passwordFile, true],
    ['mqtt.ca', mqtt?.ca, false],
    ['mqtt.certificate', mqtt?.certificate, false],
    ['mqtt.key', mqtt?.key, true],
    ...loads.map(
      ({ name, output }) => [`loads.${name}.output.tokenFile`, findWebDevice(output)?.tokenFile, true] as const,
    ),
  ] as const;
  return files.flatMap(([at, path, isSecret]) => (path === undefined ? [] : [{ at, path, isSecret }]));
}

export interface PathOptions {
  /** `--state`, relative to the working directory. */
  readonly state?: string | undefined;
  /** For a command that needs no secret. */
  readonly allowsMissingCredentials?: boolean;
}

/** The configuration with absolute paths: relative ones start at the file's directory, `state` at the working directory. */
export async function loadConfigWithPaths(
  given: string | undefined,
  terminal: Pick<Terminal, 'env' | 'installed'>,
  options: PathOptions = {},
): Promise<LocatedConfig> {
  const config = await loadOptionalConfig(given, terminal, options);
  if (config !== undefined) return config;
  const searched = ['./gridtide.yaml', terminal.installed?.config].filter(Boolean).join(' and ');
  throw new UsageError(`no configuration: ${searched} not found; give --config FILE, or write one with gridtide init`);
}

/** Undefined when no configuration is given or found. */
export async function loadOptionalConfig(
  given: string | undefined,
  terminal: Pick<Terminal, 'env' | 'installed'>,
  { state, allowsMissingCredentials = false }: PathOptions = {},
): Promise<LocatedConfig | undefined> {
  const file = await findConfigFile(given, terminal);
  if (file === undefined) return undefined;
  const { env, installed } = terminal;
  const config = await loadConfig(file);
  const credentials = env.CREDENTIALS_DIRECTORY;
  const path = resolve(file);
  const located = locateConfig(config, {
    env,
    directory: dirname(path),
    credentials: credentials === undefined ? [] : await readdir(credentials).catch(() => []),
    allowsMissingCredentials,
    ...(path === installed?.config ? { installedState: installed.state } : {}),
    ...(state === undefined ? {} : { stateDirectory: resolve(state) }),
  });
  if (!located.ok) throw new UsageError(...located.mistakes.map((mistake) => `${file}: ${mistake}`));
  return located.config;
}
