/** Finds the service and the credentials for a command that asks it: configuration, flags, environment. A password never comes from the command line. */

import { serviceUrlType } from '../../config/url-types.ts';
import type { Clock, Log } from '../../domain/ports.ts';
import { createHttp } from '../../platform/http-client.ts';
import { createSystemRandom } from '../../platform/random.ts';
import { createSecrets } from '../../platform/secret-files.ts';
import { createSystemClock } from '../../platform/system-clock.ts';
import type { Credentials } from '../../service/api/query-types.ts';
import { createServiceClient, type ServiceClient } from '../../service/client.ts';
import type { Failure, Outcome } from '../../service/failure.ts';
import { failureText } from '../../service/failure-text.ts';
import { readCaFile } from './ca-file.ts';
import { type Arguments, JobError, type Terminal, UsageError } from './command.ts';
import { type ServiceRow, serviceOptions } from './service-options.ts';

export { type ServiceRow, serviceOptions };

export interface ServiceAccess {
  readonly service: ServiceClient;
  readonly clock: Clock;
  /** Undefined when not known. */
  readonly username: () => Promise<string | undefined>;
  readonly password: () => Promise<string | undefined>;
  close(): Promise<void>;
}

/** Warnings and errors go to people, the rest nowhere. */
const createWarningLog =
  ({ err }: Terminal): Log =>
  (level, message) => {
    if (level === 'warn' || level === 'error') err(`${message}\n`);
  };

/** Which service, and where the account's words are: flags first, then the configuration, then the environment. */
interface ServiceTarget {
  readonly url: string;
  readonly ca?: string;
  readonly username?: string;
  readonly usernameFile?: string;
  readonly passwordFile?: string;
  readonly fleet?: number;
}

async function readConfiguredTarget(args: Arguments<ServiceRow>, { env }: Terminal): Promise<Partial<ServiceTarget>> {
  const file = args.text('config');
  if (file === undefined) return {};
  const { loadConfigWithPaths: locatedConfig } = await import('./load-configuration.ts');
  const { url, ca, usernameFile, passwordFile, fleet } = (await locatedConfig(file, { env })).service;
  return { url, usernameFile, passwordFile, fleet, ...(ca === undefined ? {} : { ca }) };
}

/** Throws `UsageError` when it is not said which service is meant. */
async function resolveTarget(args: Arguments<ServiceRow>, terminal: Terminal): Promise<ServiceTarget> {
  const config = await readConfiguredTarget(args, terminal);
  const flag = args.text('url');
  const url = flag ?? config.url ?? readVariable(terminal, 'GRIDTIDE_URL');
  if (url === undefined) throw new UsageError('which service? give --url, --config or $GRIDTIDE_URL');
  const flags = {
    ca: args.text('ca'),
    username: args.text('username'),
    usernameFile: args.text('username-file'),
    passwordFile: args.text('password-file'),
  };
  const givenFlags = Object.fromEntries(Object.entries(flags).filter(([, value]) => value !== undefined));
  return { ...config, ...givenFlags, url: checkServiceUrl(url, flag === undefined ? '$GRIDTIDE_URL' : '--url') };
}

/** By the rule of the configuration's own `service.url`. */
function checkServiceUrl(url: string, source: string): string {
  const mistakes: string[] = [];
  const read = serviceUrlType.read(url, (onMistake) => mistakes.push(`${source}: ${onMistake}`));
  if (read === undefined) throw new UsageError(...mistakes);
  return read;
}

/** A variable that is set to nothing is not set. */
const readVariable = ({ env }: Pick<Terminal, 'env'>, name: string) => env[name] || undefined;

/** One half of the credentials: its file, else its variable; read anew each time. */
function createSecretReader(file: string | undefined, what: 'user name' | 'password', terminal: Terminal) {
  const secrets = createSecrets({ credentials: terminal.env.CREDENTIALS_DIRECTORY });
  return async (): Promise<string | undefined> => {
    if (file === undefined)
      return readVariable(terminal, what === 'password' ? 'GRIDTIDE_PASSWORD' : 'GRIDTIDE_USERNAME');
    const text = await secrets.read(file);
    if (!text) throw new UsageError(`${file} cannot be read, or is empty: expected a file that holds the ${what}`);
    return text;
  };
}

/** One half without the other is a mistake: as a visitor the earlier interface would answer all the same. */
function pairCredentials(username: string | undefined, password: string | undefined): Credentials | undefined {
  if (username !== undefined && password !== undefined) return { username, password };
  if (username !== undefined)
    throw new UsageError(`which password has ${username}? give --password-file or $GRIDTIDE_PASSWORD`);
  if (password !== undefined)
    throw new UsageError('whose password? give --username, --username-file or $GRIDTIDE_USERNAME');
  return undefined;
}

async function requireCaFile(file: string): Promise<string> {
  const text = await readCaFile(file);
  if (text === undefined)
    throw new UsageError(`${file} cannot be read, or holds no certificate: expected a certificate authority, PEM`);
  return text;
}

/** Throws `UsageError`. The caller closes it. */
export async function openService(args: Arguments<ServiceRow>, terminal: Terminal): Promise<ServiceAccess> {
  const { url, ca, username: name, usernameFile, passwordFile, fleet = 1 } = await resolveTarget(args, terminal);
  const http = createHttp(ca === undefined ? {} : { ca: await requireCaFile(ca) });
  const clock = createSystemClock();
  const username = name === undefined ? createSecretReader(usernameFile, 'user name', terminal) : async () => name;
  const password = createSecretReader(passwordFile, 'password', terminal);
  const credentials = async () => pairCredentials(await username(), await password());
  const random = createSystemRandom();
  const service = createServiceClient({
    url,
    http,
    clock,
    random,
    credentials,
    fleet,
    log: createWarningLog(terminal),
  });
  const stop = () => service.stop();
  terminal.stop.addEventListener('abort', stop, { once: true });
  return {
    service,
    clock,
    username,
    password,
    close: async () => {
      terminal.stop.removeEventListener('abort', stop);
      service.stop();
      await http.close();
    },
  };
}

/** The value of an outcome; throws the failure in words: `UsageError` for what was not sent, else `JobError`. */
export function unwrapOutcome<Value>(outcome: Outcome<Value>): Value {
  if (outcome.ok) return outcome.value;
  throw toCommandError(outcome.failure);
}

export function toCommandError(failure: Failure): Error {
  const isWrongUse = failure.kind === 'invalid' || failure.kind === 'forbidden';
  return isWrongUse ? new UsageError(failureText(failure)) : new JobError(failureText(failure));
}
