/** Makes the paths of a configuration absolute: state directory, credentials and certificates, by the environment and the file's directory. */

import { isAbsolute, join, resolve } from 'node:path';
import { listCredentialNames } from '../domain/credential-names.ts';
import { findWebDevice } from '../domain/levels.ts';
import type { LoadConfig } from '../domain/load-types.ts';
import type { Config } from './config.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export interface PathContext {
  readonly env: Environment;
  /** Of the configuration file: where relative paths start. */
  readonly directory: string;
  /** The names of the files in `$CREDENTIALS_DIRECTORY`. */
  readonly credentials?: readonly string[];
  /** `--state`, absolute. */
  readonly stateDirectory?: string;
  /** The state directory of the installed unit, for its configuration: it passes the file's directory as credentials. */
  readonly installedState?: string;
  /** For commands that need no secret: a credential that the service manager did not pass stays as written. */
  readonly allowsMissingCredentials?: boolean;
}

/** A configuration whose paths are absolute and whose state directory is known. */
export type LocatedConfig = Config & { readonly state: string };
export type LocateConfigResult =
  | { readonly ok: true; readonly config: LocatedConfig }
  | { readonly ok: false; readonly mistakes: readonly string[] };

const CREDENTIALS_PREFIX = '$CREDENTIALS_DIRECTORY/';

/** The path of a file that the configuration names; undefined for a credential when the service manager passed none. */
function resolveFile(written: string, { env, directory, installedState }: PathContext): string | undefined {
  if (written.startsWith(CREDENTIALS_PREFIX)) {
    const credentialsDirectory = env.CREDENTIALS_DIRECTORY || (installedState === undefined ? undefined : directory);
    return credentialsDirectory === undefined
      ? undefined
      : join(credentialsDirectory, written.slice(CREDENTIALS_PREFIX.length));
  }
  if (written.startsWith('~/') && env.HOME) return join(env.HOME, written.slice(2));
  return isAbsolute(written) ? written : resolve(directory, written);
}

/** `--state`, else the configuration's, else systemd's (the first of several), the installed unit's, the user's; undefined without a home directory. */
export function resolveStateDirectory(written: string | undefined, context: PathContext): string | undefined {
  const { env, stateDirectory } = context;
  if (stateDirectory !== undefined) return stateDirectory;
  if (written !== undefined) return resolveFile(written, context);
  const systemdDirectory = env.STATE_DIRECTORY?.split(':')[0];
  if (systemdDirectory) return systemdDirectory;
  if (context.installedState !== undefined) return context.installedState;
  return env.HOME ? join(env.HOME, '.local', 'state', 'gridtide') : undefined;
}

/** The broker's files: the configuration's, else the credentials `mqtt-username` and `mqtt-password` where the service manager passed them. */
function chooseBrokerFiles(mqtt: NonNullable<Config['mqtt']>, credentials: readonly string[]) {
  const findCredential = (name: string) =>
    listCredentialNames('/', `/${name}`).some((one) => credentials.includes(one))
      ? `${CREDENTIALS_PREFIX}${name}`
      : undefined;
  if (mqtt.usernameFile !== undefined) return { usernameFile: mqtt.usernameFile, passwordFile: mqtt.passwordFile };
  const usernameFile = findCredential('mqtt-username');
  return usernameFile === undefined ? {} : { usernameFile, passwordFile: findCredential('mqtt-password') };
}

type FileOptions = Readonly<Record<string, string | undefined>>;

/** Absolute paths of all files that are given; a path that cannot be resolved is a mistake. */
function resolveFiles(
  files: FileOptions,
  section: string,
  context: PathContext,
  mistakes: string[],
): Record<string, string> {
  const paths: Record<string, string> = {};
  for (const [key, written] of Object.entries(files)) {
    if (written === undefined) continue;
    const path = resolveFile(written, context) ?? (context.allowsMissingCredentials ? written : undefined);
    if (path !== undefined) paths[key] = path;
    else mistakes.push(`${section}.${key}: the service manager passed no credentials; write the path of a file`);
  }
  return paths;
}

function locateToken(load: LoadConfig, context: PathContext, mistakes: string[]): LoadConfig {
  const { name, output } = load;
  const access = findWebDevice(output);
  const files = resolveFiles({ tokenFile: access?.tokenFile }, `loads.${name}.output`, context, mistakes);
  return access === undefined ? load : { ...load, output: { ...output, ...files } };
}

/** The configuration with every path absolute and the state directory filled in. */
export function locateConfig(config: Config, context: PathContext): LocateConfigResult {
  const mistakes: string[] = [];
  const { service, mqtt, tariff } = config;
  const { url, usernameFile, passwordFile, ca } = service;
  // Without an address there is no account, and no file of it is read.
  const accountFiles = url === undefined ? {} : { usernameFile, passwordFile, ca };
  const serviceFiles = resolveFiles(accountFiles, 'service', context, mistakes);
  const brokerFiles = mqtt && {
    ...chooseBrokerFiles(mqtt, context.credentials ?? []),
    ca: mqtt.ca,
    certificate: mqtt.certificate,
    key: mqtt.key,
  };
  const mqttFiles = resolveFiles(brokerFiles ?? {}, 'mqtt', context, mistakes);
  const pricePath = tariff?.source.kind === 'file' ? tariff.source.path : undefined;
  const { file } = resolveFiles({ file: pricePath }, 'tariff', context, mistakes);
  const loads = config.loads.map((load) => locateToken(load, context, mistakes));
  const state = resolveStateDirectory(config.state, context);
  if (state === undefined) mistakes.push('state: this user has no home directory; write the path of a directory');
  if (mistakes.length > 0 || state === undefined) return { ok: false, mistakes };
  return {
    ok: true,
    config: {
      ...config,
      state,
      loads,
      service: { ...service, ...serviceFiles },
      ...(mqtt === undefined ? {} : { mqtt: { ...mqtt, ...mqttFiles } }),
      ...(tariff === undefined || file === undefined
        ? {}
        : { tariff: { ...tariff, source: { kind: 'file', path: file } as const } }),
    },
  };
}
