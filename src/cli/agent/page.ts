/** `gridtide page`: serves the page of a house and its metrics, as a process of its own beside the agent. */

import { readdir } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import type { LocatedConfig } from '../../config/config-paths.ts';
import { waitForAbort } from '../../domain/abortable-wait.ts';
import type { BrokerNames } from '../../domain/ports.ts';
import { createPage } from '../../page/create-page.ts';
import { CONFIGURED_NAMES } from '../../platform/broker-disconnect.ts';
import { createSharedFileDisk } from '../../platform/file-disk.ts';
import { adoptFirstTimezone } from '../../platform/process-timezone.ts';
import { createSecrets } from '../../platform/secret-files.ts';
import { createSystemClock } from '../../platform/system-clock.ts';
import { keepYoungHeapSmall } from '../../platform/young-heap.ts';
import { type Arguments, type CommandSpec, type Terminal, UsageError } from '../shared/command.ts';
import { loadConfigWithPaths } from '../shared/load-configuration.ts';
import { listenForPage, parseListenAddress } from '../shared/page-address.ts';
import { locateProgramFile } from '../shared/program-files.ts';
import { STATE_ROW } from '../shared/state-directory.ts';
import { VERSION } from '../shared/version.ts';
import { createUnstartedBroker } from './broker-link.ts';

export const spec = {
  name: 'page',
  positionals: '',
  options: {
    config: { value: 'FILE', help: 'configuration the agent runs with' },
    state: STATE_ROW,
    listen: { value: 'HOST:PORT', help: 'where to listen', default: '127.0.0.1:7080' },
    host: { value: 'NAME', help: 'a name under which browsers reach the page', isRepeatable: true },
    'password-file': { value: 'FILE', help: 'password of the page; required beyond this machine' },
    'mqtt-username-file': { value: 'FILE', help: "user name of the page at the broker; default: the configuration's" },
    'mqtt-password-file': { value: 'FILE', help: 'its password' },
  },
  notes: [
    'Reads everything from the broker; without one it shows the saved state and takes no commands.',
    '/metrics is OpenMetrics text, /documents.json all documents of the house.',
  ],
} satisfies CommandSpec;

const MIN_PASSWORD_LENGTH = 8;

async function readPassword(file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined;
  const text = await createSecrets({}).read(resolve(file));
  if (text === undefined) throw new UsageError(`--password-file ${file}: it cannot be read`);
  if (text.length < MIN_PASSWORD_LENGTH)
    throw new UsageError(`--password-file ${file}: expected at least ${MIN_PASSWORD_LENGTH} characters`);
  return text;
}

/** The login that the unit of the page hands over; without one the page connects without a login, as no other is its own. */
async function readUnitLogin(directory: string): Promise<Readonly<Record<string, string>>> {
  const names = await readdir(directory).catch((): string[] => []);
  const files = { usernameFile: 'page_mqtt-username', passwordFile: 'page_mqtt-password' };
  const found = Object.entries(files).filter(([, name]) => names.includes(name));
  return Object.fromEntries(found.map(([key, name]) => [key, join(directory, name)]));
}

/** The configuration with the page's own login at the broker. */
async function applyBrokerLogin(
  config: LocatedConfig,
  args: Arguments<keyof typeof spec.options>,
  { CREDENTIALS_DIRECTORY: handedOver }: Terminal['env'],
): Promise<LocatedConfig> {
  if (config.mqtt === undefined) return config;
  const { usernameFile: _, passwordFile: __, ...mqtt } = config.mqtt;
  const [username, password] = [args.text('mqtt-username-file'), args.text('mqtt-password-file')];
  if (username === undefined)
    return handedOver === undefined ? config : { ...config, mqtt: { ...mqtt, ...(await readUnitLogin(handedOver)) } };
  const passwordFile = password === undefined ? {} : { passwordFile: resolve(password) };
  return { ...config, mqtt: { ...mqtt, usernameFile: resolve(username), ...passwordFile } };
}

/** The login that `applyBrokerLogin` chose. */
function nameBrokerOptions(
  args: Arguments<keyof typeof spec.options>,
  { CREDENTIALS_DIRECTORY: handedOver }: Terminal['env'],
): BrokerNames {
  const names = { program: 'page', ...CONFIGURED_NAMES } as const;
  if (args.text('mqtt-username-file') !== undefined)
    return { ...names, login: ['--mqtt-username-file', '--mqtt-password-file'] };
  return handedOver === undefined
    ? names
    : { ...names, login: ["the unit's page/mqtt-username", 'page/mqtt-password'] };
}

export async function run(args: Arguments<keyof typeof spec.options>, terminal: Terminal): Promise<number> {
  keepYoungHeapSmall();
  const password = await readPassword(args.text('password-file'));
  const address = args.text('listen') ?? '';
  parseListenAddress(address, password !== undefined);
  const options = { state: args.text('state'), allowsMissingCredentials: true };
  adoptFirstTimezone();
  const located = await loadConfigWithPaths(args.text('config'), terminal, options);
  const config = await applyBrokerLogin(located, args, terminal.env);
  const broker = createUnstartedBroker(config, terminal.env, {
    purpose: 'page',
    names: nameBrokerOptions(args, terminal.env),
  });
  const own = hostname().toLowerCase();
  const page = await createPage({
    ...{ config, version: VERSION, clock: createSystemClock(), filesDirectory: locateProgramFile('page') },
    disk: createSharedFileDisk(config.state),
    names: [own, `${own}.local`, ...args.all('host').map((name) => name.toLowerCase())],
    ...(broker && { broker }),
    ...(password === undefined ? {} : { password }),
  });
  terminal.out(`page: ${await listenForPage(page, address, password !== undefined)}\n`);
  if (broker === undefined)
    terminal.err(
      `no broker is configured (mqtt.url): the page shows what the agent saved last in ${config.state}, and takes no commands\n`,
    );
  await waitForAbort(terminal.stop);
  await page.close();
  return 0;
}
