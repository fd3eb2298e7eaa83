/** Reads the credentials of the broker from the files named under `mqtt`, again for each attempt. */

import type { BrokerCredentials, BrokerOptions, Secrets } from '../domain/ports.ts';

interface BrokerFiles {
  readonly usernameFile?: string;
  readonly passwordFile?: string;
  readonly ca?: string;
  readonly certificate?: string;
  readonly key?: string;
}

/** One file that cannot be read makes the whole undefined. */
export function createBrokerCredentials(
  { mqtt }: { readonly mqtt?: BrokerFiles },
  secrets: Secrets,
): Pick<BrokerOptions, 'credentials'> {
  const { usernameFile, passwordFile, ca, certificate, key } = mqtt ?? {};
  const files = { username: usernameFile, password: passwordFile, ca, certificate, key };
  const configuredFiles = Object.entries(files).filter((entry): entry is [string, string] => entry[1] !== undefined);
  if (configuredFiles.length === 0) return {};
  return {
    credentials: async () => {
      const read = await Promise.all(
        configuredFiles.map(async ([name, path]) => [name, await secrets.read(path)] as const),
      );
      return read.some(([, text]) => text === undefined) ? undefined : (Object.fromEntries(read) as BrokerCredentials);
    },
  };
}
