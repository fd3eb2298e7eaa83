/** The broker of a command: from its flags, else from the configuration. */

import { createBrokerCredentials } from '../../agent/broker-credentials.ts';
import { brokerUrlType } from '../../config/url-types.ts';
import type { BrokerNames, BrokerOptions } from '../../domain/ports.ts';
import { CONFIGURED_NAMES } from '../../platform/broker-disconnect.ts';
import { createSecrets } from '../../platform/secret-files.ts';
import { type Terminal, UsageError } from '../shared/command.ts';
import { loadOptionalConfig } from '../shared/load-configuration.ts';

export interface BrokerFlags {
  /** `--broker`. */
  readonly url: string | undefined;
  readonly files: Readonly<Record<'usernameFile' | 'passwordFile' | 'ca', string | undefined>>;
  /** Begins the names of the flags of `files`. */
  readonly prefix: '--' | '--mqtt-';
  /** `--config`. */
  readonly config: string | undefined;
  readonly clientId: string;
  readonly program: BrokerNames['program'];
}

/** Throws `UsageError` when neither names a broker. */
export async function resolveBrokerOptions(flags: BrokerFlags, terminal: Terminal): Promise<BrokerOptions> {
  const { clientId, program, prefix } = flags;
  const secrets = createSecrets({ credentials: terminal.env.CREDENTIALS_DIRECTORY });
  if (flags.url !== undefined) {
    const mistakes: string[] = [];
    const url = brokerUrlType.read(flags.url, (mistake) => mistakes.push(`--broker: ${mistake}`));
    if (url === undefined) throw new UsageError(...mistakes);
    const mqtt = Object.fromEntries(Object.entries(flags.files).filter(([, file]) => file !== undefined));
    const login = [`${prefix}username-file`, `${prefix}password-file`] as const;
    const names = { program, url: '--broker', login, ca: `${prefix}ca` };
    return { url, clientId, names, ...createBrokerCredentials({ mqtt }, secrets) };
  }
  const config = await loadOptionalConfig(flags.config, terminal, { allowsMissingCredentials: true });
  const mqtt = config?.mqtt;
  if (mqtt === undefined)
    throw new UsageError(
      'the address of the broker is missing; give --broker URL, such as mqtt://localhost:1883, or --config FILE',
    );
  const names = { program, ...CONFIGURED_NAMES };
  return { url: mqtt.url, clientId, names, ...createBrokerCredentials({ mqtt }, secrets) };
}
