/** Reads credentials and certificates, each time anew; the service manager's copy first, where it handed one over. */

import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Secrets } from '../domain/ports.ts';

const MAX_SECRET_BYTES = 256 * 1024;

async function readSecretFile(path: string): Promise<string | undefined> {
  try {
    const found = await stat(path);
    if (!found.isFile() || found.size > MAX_SECRET_BYTES) return undefined;
    return (await readFile(path, 'utf8')).replace(/\r?\n$/, '');
  } catch {
    return undefined;
  }
}

/** The credential of the same last name; of a whole directory handed over, systemd puts `ID_` before each name. */
async function readHandedOver(credentials: string, path: string): Promise<string | undefined> {
  const name = basename(path);
  const names = await readdir(credentials).catch((): string[] => []);
  const found = names.find((one) => one === name) ?? names.find((one) => one.endsWith(`_${name}`));
  return found === undefined ? undefined : readSecretFile(join(credentials, found));
}

export interface SecretsOptions {
  /** `$CREDENTIALS_DIRECTORY`: what was handed over goes before the path itself. */
  readonly credentials?: string | undefined;
  /** Told each text read and its path, so that the log can hide the secret ones. */
  readonly onRead?: (text: string, path: string) => void;
}

export function createSecrets({ credentials, onRead }: SecretsOptions = {}): Secrets {
  return {
    async read(path) {
      const handed = credentials === undefined ? undefined : await readHandedOver(credentials, path);
      const text = handed ?? (await readSecretFile(path));
      if (text !== undefined) onRead?.(text, path);
      return text;
    },
  };
}
