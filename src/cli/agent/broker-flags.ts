/** The broker of a command: from its flags, else from the configuration. */

import { createBrokerCredentials } from '../../agent/broker-credentials.ts';
import { brokerUrlType } from '../../config/url-types.ts';
import type { BrokerOptions } from '../../domain/ports.ts';
import { createSecrets } from '../../platform/secret-files.ts';
import { type Terminal, UsageError } from '../shared/command.ts';
import { loadOptionalConfig } from '../shared/load-configuration.ts';

export interface BrokerFlags {
  /** `--broker`. */
  readonly url: string | undefined;
  readonly files: Readonly<Record<'usernameFile' | 'passwordFile' | 'ca', string | undefined>>;
  /** `--config`. */
  readonly config: string | undefined;
  readonly clientId: string;
}

/** Throws `UsageError` when neither names a broker. */
export async function resolveBrokerOptions(flags: BrokerFlags, terminal: Terminal): Promise<BrokerOptions> {
  const { clientId } = flags;
  const secrets = createSecrets({ credentials: terminal.env.CREDENTIALS_DIRECTORY });
  if (flags.url !== undefined) {
    const mistakes: string[] = [];
    const url = brokerUrlType.read(flags.url, (mistake) => mistakes.push(`--broker: ${mistake}`));
    if (url === undefined) throw new UsageError(...mistakes);
    const mqtt = Object.fromEntries(Object.entries(flags.files).filter(([, file]) => file !== undefined));
    return { url, clientId, ...createBrokerCredentials({ mqtt }, secrets) };
  }
  const config = await loadOptionalConfig(flags.config, terminal, { allowsMissingCredentials: true });
  const mqtt = config?.mqtt;
  if (mqtt === undefined)
    throw new UsageError(
      'the address of the broker is missing; give --broker URL, such as mqtt://localhost:1883, or --config FILE',
    );
  return { url: mqtt.url, clientId, ...createBrokerCredentials({ mqtt }, secrets) };
}

const nameLogin = (cause: string, login: readonly [string, string]): string =>
  cause
    .replace(/: MQTT is off( until one does)?;/, ';')
    .replace(/mqtt\.usernameFile and mqtt\.passwordFile.*/, login.join(' and '));

/** Names the flags of a command in place of the settings of an agent in why a connection failed; `prefix` begins those of files. */
export const nameBrokerFlags = (cause: string, prefix: '--' | '--mqtt-'): string =>
  nameLogin(cause, [`${prefix}username-file`, `${prefix}password-file`])
    .replace('mqtt.url', '--broker')
    .replace('mqtt.ca', `${prefix}ca`)
    .replace(
      /a file named under mqtt (.*);.*/,
      `a file that an option names $1; check ${prefix}username-file, ${prefix}password-file and ${prefix}ca`,
    );

/** Of the page, which connects to the agent's broker with a login of its own: `login` names its user name, then its password. */
export const namePageLogin = (cause: string, login: readonly [string, string]): string =>
  nameLogin(cause, login)
    .replace('usernameFile, passwordFile, ca, certificate', `${login.join(', ')}, mqtt.ca, mqtt.certificate`)
    .replace(/ and key$/, ' and mqtt.key');
