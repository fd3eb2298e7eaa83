/** Reads credentials, certificates and public files, each time anew; of what is not public the copy of the service manager comes first. */

import { basename, join } from 'node:path';
import { findOriginalPath, listCredentialNames } from '../domain/credential-names.ts';
import type { Secrets } from '../domain/ports.ts';
import { readdir, readFile, stat } from './files.ts';

const MAX_SECRET_BYTES = 256 * 1024;
const OTHERS_MODE_BITS = 0o077;

async function readSecretFile(path: string): Promise<string | undefined> {
  try {
    const found = await stat(path);
    if (!found.isFile() || found.size > MAX_SECRET_BYTES) return undefined;
    return (await readFile(path, 'utf8')).replace(/\r?\n$/, '');
  } catch {
    return undefined;
  }
}

/** The files in which the secret at `path` may be: one, unless the service manager handed over two of its name. */
async function findSecretFiles(credentials: string | undefined, path: string): Promise<readonly string[]> {
  if (credentials === undefined) return [path];
  const names = await readdir(credentials).catch((): string[] => []);
  const found = listCredentialNames(credentials, path).filter((name) => names.includes(name));
  return found.length === 0 ? [path] : found.map((name) => join(credentials, name));
}

export interface NamedSecretFile {
  /** Its key in the configuration. */
  readonly at: string;
  readonly path: string;
  /** Others on this machine must not read it. */
  readonly isSecret: boolean;
}

export interface SecretFileProblem {
  readonly at: string;
  readonly text: string;
}

/** What would give a secret to the wrong party: a name that stands for two files, and a file that others can read. */
export async function findSecretProblems(
  files: readonly NamedSecretFile[],
  credentials?: string | undefined,
): Promise<readonly SecretFileProblem[]> {
  const located = await Promise.all(
    files.map(async (file) => ({ ...file, found: await findSecretFiles(credentials, file.path) })),
  );
  const problems = located.map(async ({ path, isSecret, found: [file = path, other] }) => {
    if (other !== undefined)
      return `${path} may be the credential ${basename(file)} or ${basename(other)}: hand over one of them only`;
    const twin = located.find(({ found, path: otherPath }) => found.includes(file) && otherPath !== path);
    if (twin !== undefined)
      return `${path} and ${twin.path} (${twin.at}) are one credential, ${basename(file)}: give the files names that differ`;
    // The service manager guards its copies by the directory; to our user it grants them as to a group (systemd 257: mode 440).
    const isGuarded = credentials !== undefined && file.startsWith(join(credentials, '/'));
    const mode =
      isSecret && !isGuarded
        ? await stat(file).then(
            (found) => (found.isFile() ? found.mode : 0),
            () => 0,
          )
        : 0;
    if ((mode & OTHERS_MODE_BITS) === 0) return undefined;
    return `${file} has mode ${(mode & 0o777).toString(8)}, so others on this machine may read it: chmod 600 ${file}`;
  });
  return (await Promise.all(problems)).flatMap((text, i) => {
    const at = files[i]?.at;
    return text === undefined || at === undefined ? [] : [{ at, text }];
  });
}

export interface SecretsOptions {
  /** `$CREDENTIALS_DIRECTORY`: what was handed over goes before the path itself. */
  readonly credentials?: string | undefined;
  /** Called with each text read and its path, so that the log can hide the secret ones. */
  readonly onRead?: (text: string, path: string) => void;
}

export function createSecrets({ credentials, onRead }: SecretsOptions = {}): Secrets {
  return {
    async read(path, kind) {
      const original = credentials === undefined ? path : findOriginalPath(credentials, path);
      const present = kind === 'public' ? await readSecretFile(original) : undefined;
      if (present !== undefined) return present;
      const [file = path, other] = await findSecretFiles(credentials, path);
      const text = other === undefined ? await readSecretFile(file) : undefined;
      if (text !== undefined) onRead?.(text, path);
      return text;
    },
  };
}
