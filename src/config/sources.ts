/** Where the state directory, credentials and certificates are, by the file's own directory and the environment. Reads and makes nothing. */

import { isAbsolute, join, resolve } from 'node:path';
import type { Config } from './config.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Surroundings {
  readonly env: Environment;
  /** Of the configuration file: where relative paths start. */
  readonly directory: string;
  /** The names of the files in `$CREDENTIALS_DIRECTORY`. */
  readonly credentials?: readonly string[];
  /** `--state`, relative to the working directory by whoever says it. */
  readonly state?: string;
}

/** A configuration whose paths are absolute and whose state directory is known. */
export type Located = Config & { readonly state: string };
export type LocateConfig =
  | { readonly ok: true; readonly config: Located }
  | { readonly ok: false; readonly mistakes: readonly string[] };

const HANDED = '$CREDENTIALS_DIRECTORY/';

/** The path of a file the configuration names, or undefined when it is a credential and none were handed over. */
export function fileOf(written: string, { env, directory }: Surroundings): string | undefined {
  if (written.startsWith(HANDED)) {
    const handed = env.CREDENTIALS_DIRECTORY;
    return handed === undefined || handed === '' ? undefined : join(handed, written.slice(HANDED.length));
  }
  if (written.startsWith('~/') && env.HOME) return join(env.HOME, written.slice(2));
  return isAbsolute(written) ? written : resolve(directory, written);
}

/** `--state`, else the configuration's, else systemd's (the first of several), else the user's; undefined without a home. */
export function stateOf(written: string | undefined, around: Surroundings): string | undefined {
  const { env, state } = around;
  if (state !== undefined) return state;
  if (written !== undefined) return fileOf(written, around);
  const ofService = env.STATE_DIRECTORY?.split(':')[0];
  if (ofService) return ofService;
  return env.HOME ? join(env.HOME, '.local', 'state', 'gridtide') : undefined;
}

/** The broker's files: the configuration's, else the credentials `mqtt-username` and `mqtt-password` where they were handed over (of a whole directory as `ID_mqtt-username`). */
function brokerFiles(mqtt: NonNullable<Config['mqtt']>, credentials: readonly string[]) {
  const handed = (name: string) =>
    credentials.some((one) => one === name || one.endsWith(`_${name}`)) ? `${HANDED}${name}` : undefined;
  if (mqtt.usernameFile !== undefined) return { usernameFile: mqtt.usernameFile, passwordFile: mqtt.passwordFile };
  const usernameFile = handed('mqtt-username');
  return usernameFile === undefined ? {} : { usernameFile, passwordFile: handed('mqtt-password') };
}

type Files = Readonly<Record<string, string | undefined>>;

/** Absolute paths for all that are said; a path that cannot be made is a mistake at `at`. */
function absolute(files: Files, at: string, around: Surroundings, mistakes: string[]): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [key, written] of Object.entries(files)) {
    if (written === undefined) continue;
    const path = fileOf(written, around);
    if (path === undefined)
      mistakes.push(`${at}.${key}: no credentials were handed over by the service manager; write the path of a file`);
    else found[key] = path;
  }
  return found;
}

/** The configuration with every path absolute and the state directory filled in. */
export function locate(config: Config, around: Surroundings): LocateConfig {
  const mistakes: string[] = [];
  const { service, mqtt } = config;
  const { usernameFile, passwordFile, ca } = service;
  const ours = absolute({ usernameFile, passwordFile, ca }, 'service', around, mistakes);
  const brokers =
    mqtt === undefined
      ? {}
      : absolute(
          { ...brokerFiles(mqtt, around.credentials ?? []), ca: mqtt.ca, certificate: mqtt.certificate, key: mqtt.key },
          'mqtt',
          around,
          mistakes,
        );
  const state = stateOf(config.state, around);
  if (state === undefined) mistakes.push('state: no home directory is known; write the path of a directory');
  if (mistakes.length > 0 || state === undefined) return { ok: false, mistakes };
  return {
    ok: true,
    config: {
      ...config,
      state,
      service: { ...service, ...ours },
      ...(mqtt === undefined ? {} : { mqtt: { ...mqtt, ...brokers } }),
    },
  };
}
