/** Opens the service for a command, with address and credentials from flags, configuration or environment; never a password from the command line. */

import { serviceUrlType } from '../../config/url-types.ts';
import { watchAbort } from '../../domain/abortable-wait.ts';
import type { Clock, Log } from '../../domain/ports.ts';
import { createHttp } from '../../platform/http-client.ts';
import { createSystemRandom } from '../../platform/random.ts';
import { createSecrets } from '../../platform/secret-files.ts';
import { createSystemClock } from '../../platform/system-clock.ts';
import type { Credentials } from '../../service/api/query-types.ts';
import { createServiceClient, type ServiceClient, type ServiceClientOptions } from '../../service/client.ts';
import type { Failure, Outcome } from '../../service/failure.ts';
import { failureText } from '../../service/failure-text.ts';
import { readCaFile } from './ca-file.ts';
import { type Arguments, JobError, type Terminal, UsageError } from './command.ts';
import { findConfigFile } from './config-file.ts';
import { type ServiceRow, serviceOptions } from './service-options.ts';

export { type ServiceRow, serviceOptions };

export interface ServiceAccess extends ServiceLink {
  /** Undefined when not given. */
  readonly username: () => Promise<string | undefined>;
  readonly password: () => Promise<string | undefined>;
}

/** Prints warnings and errors. */
const createWarningLog =
  ({ err }: Terminal): Log =>
  (level, message) => {
    if (level === 'warn' || level === 'error') err(`${message}\n`);
  };

/** The service and the account: flags first, then the configuration, then the environment. */
interface ServiceTarget {
  readonly url: string;
  readonly ca?: string;
  readonly username?: string;
  readonly usernameFile?: string;
  readonly passwordFile?: string;
  readonly fleet?: number;
}

async function readConfiguredTarget(args: Arguments<ServiceRow>, terminal: Terminal): Promise<Partial<ServiceTarget>> {
  const given = args.text('config');
  // A configuration that is found must not send its account to an address that is given.
  const isAddressGiven = (args.text('url') ?? readVariable(terminal, 'GRIDTIDE_URL')) !== undefined;
  const file = given === undefined && isAddressGiven ? undefined : await findConfigFile(given, terminal);
  if (file === undefined) return {};
  const { loadConfigWithPaths } = await import('./load-configuration.ts');
  const { url, ca, usernameFile, passwordFile, fleet } = (await loadConfigWithPaths(file, terminal)).service;
  // A configuration without an address has a relay and no account.
  if (url === undefined) return {};
  return { url, usernameFile, passwordFile, fleet, ...(ca === undefined ? {} : { ca }) };
}

/** Throws `UsageError` when no address is given. */
async function resolveTarget(args: Arguments<ServiceRow>, terminal: Terminal): Promise<ServiceTarget> {
  const config = await readConfiguredTarget(args, terminal);
  const flag = args.text('url');
  const url = flag ?? config.url ?? readVariable(terminal, 'GRIDTIDE_URL');
  if (url === undefined)
    throw new UsageError('the address of the service is missing; give --url, --config or $GRIDTIDE_URL');
  const flags = {
    ca: args.text('ca'),
    username: args.text('username'),
    usernameFile: args.text('username-file'),
    passwordFile: args.text('password-file'),
  };
  const givenFlags = Object.fromEntries(Object.entries(flags).filter(([, value]) => value !== undefined));
  return { ...config, ...givenFlags, url: checkServiceUrl(url, flag === undefined ? '$GRIDTIDE_URL' : '--url') };
}

/** Applies the rule of the configuration's `service.url`. */
function checkServiceUrl(url: string, source: string): string {
  const mistakes: string[] = [];
  const read = serviceUrlType.read(url, (onMistake) => mistakes.push(`${source}: ${onMistake}`));
  if (read === undefined) throw new UsageError(...mistakes);
  return read;
}

/** An empty variable counts as unset. */
const readVariable = ({ env }: Pick<Terminal, 'env'>, name: string) => env[name] || undefined;

/** Reads one half of the credentials from its file, else from its variable, at each call. */
function createSecretReader(file: string | undefined, what: 'user name' | 'password', terminal: Terminal) {
  const secrets = createSecrets({ credentials: terminal.env.CREDENTIALS_DIRECTORY });
  return async (): Promise<string | undefined> => {
    if (file === undefined)
      return readVariable(terminal, what === 'password' ? 'GRIDTIDE_PASSWORD' : 'GRIDTIDE_USERNAME');
    const text = await secrets.read(file);
    if (!text) throw new UsageError(`${file} cannot be read or is empty: expected a file with the ${what}`);
    return text;
  };
}

/** One half alone is a mistake: the earlier interface would answer as if to a visitor. */
function pairCredentials(username: string | undefined, password: string | undefined): Credentials | undefined {
  if (username !== undefined && password !== undefined) return { username, password };
  if (username !== undefined)
    throw new UsageError(`the password of ${username} is missing; give --password-file or $GRIDTIDE_PASSWORD`);
  if (password !== undefined)
    throw new UsageError('a password without a user name; give --username, --username-file or $GRIDTIDE_USERNAME');
  return undefined;
}

async function requireCaFile(file: string): Promise<string> {
  const text = await readCaFile(file);
  if (text === undefined)
    throw new UsageError(`${file} cannot be read or holds no certificate: expected a certificate authority, PEM`);
  return text;
}

export interface ServiceLink {
  readonly service: ServiceClient;
  readonly clock: Clock;
  close(): Promise<void>;
}

/** The client of a command. It stops at SIGINT and SIGTERM; the caller closes it. */
export function openServiceLink(
  { ca, ...target }: Pick<ServiceClientOptions, 'url' | 'fleet' | 'credentials' | 'log'> & { readonly ca?: string },
  stop: AbortSignal,
): ServiceLink {
  const http = createHttp(ca === undefined ? {} : { ca });
  const clock = createSystemClock();
  const service = createServiceClient({ ...target, http, clock, random: createSystemRandom() });
  const unwatch = watchAbort(stop, service.stop);
  return {
    service,
    clock,
    close: async () => {
      unwatch();
      service.stop();
      await http.close();
    },
  };
}

interface ServiceAccessOptions {
  readonly allowsHalf?: boolean;
  /** Called with each password that is read, so that a log can hide it. */
  readonly onPassword?: (text: string) => void;
}

/** Throws `UsageError`, also for half of the credentials unless the caller needs no more. The caller closes it. */
export async function openService(
  args: Arguments<ServiceRow>,
  terminal: Terminal,
  { allowsHalf = false, onPassword }: ServiceAccessOptions = {},
): Promise<ServiceAccess> {
  const { url, ca, username: name, usernameFile, passwordFile, fleet = 1 } = await resolveTarget(args, terminal);
  const username = name === undefined ? createSecretReader(usernameFile, 'user name', terminal) : async () => name;
  const readPassword = createSecretReader(passwordFile, 'password', terminal);
  const password = async () => {
    const text = await readPassword();
    if (text !== undefined) onPassword?.(text);
    return text;
  };
  const readPair = async () => pairCredentials(await username(), await password());
  if (!allowsHalf) await readPair();
  const link = openServiceLink(
    {
      url,
      fleet,
      // The client logs in beside other requests, where an exception would end the process.
      credentials: () => readPair().catch(() => undefined),
      log: createWarningLog(terminal),
      ...(ca === undefined ? {} : { ca: await requireCaFile(ca) }),
    },
    terminal.stop,
  );
  return { ...link, username, password };
}

/** The value of an outcome; throws its failure: `UsageError` for a request that was not sent, else `JobError`. */
export function unwrapOutcome<Value>(outcome: Outcome<Value>): Value {
  if (outcome.ok) return outcome.value;
  throw toCommandError(outcome.failure);
}

/** The kind of a failure, with its status and its seconds to wait where the service gave them. */
const getDetails = (failure: Failure) => ({
  kind: failure.kind,
  ...('status' in failure ? { status: failure.status } : {}),
  ...(failure.requestId === undefined ? {} : { requestId: failure.requestId }),
  ...('retryAfter' in failure && failure.retryAfter !== undefined ? { retryAfter: failure.retryAfter / 1_000 } : {}),
});

export function toCommandError(failure: Failure): Error {
  const isWrongUse = failure.kind === 'invalid' || failure.kind === 'forbidden';
  return isWrongUse ? new UsageError(failureText(failure)) : new JobError(failureText(failure), getDetails(failure));
}
