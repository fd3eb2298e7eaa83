/** Finds the service and the credentials for a command that asks it: configuration, flags, environment. A password never comes from the command line. */

import { readFile } from 'node:fs/promises';
import { createSystemClock } from '../platform/clock.ts';
import { createHttp } from '../platform/http.ts';
import { createSystemRandom } from '../platform/random.ts';
import { createSecrets } from '../platform/secrets.ts';
import { sentenceOf } from '../service/describe.ts';
import type { Outcome } from '../service/failure.ts';
import type { Credentials } from '../service/queries.ts';
import { createService, type Service } from '../service/service.ts';
import type { Clock, Log } from '../world.ts';
import { type Arguments, JobError, type Terminal, UsageError } from './command.ts';
import { type ServiceRow, serviceOptions } from './service-options.ts';

export { type ServiceRow, serviceOptions };

export interface ServiceAccess {
  readonly service: Service;
  readonly clock: Clock;
  /** Undefined when none are known. */
  readonly credentials: () => Promise<Credentials | undefined>;
  close(): Promise<void>;
}

/** Warnings and errors go to people, the rest nowhere. */
const logTo =
  ({ err }: Terminal): Log =>
  (level, message) => {
    if (level === 'warn' || level === 'error') err(`${message}\n`);
  };

function credentialsFrom(args: Arguments, env: Terminal['env']): () => Promise<Credentials | undefined> {
  const secrets = createSecrets({ credentials: env.CREDENTIALS_DIRECTORY });
  const one = async (row: ServiceRow, variable: string) => {
    const file = args.text(row);
    if (file === undefined) return env[variable];
    const text = await secrets.read(file);
    if (text === undefined) throw new UsageError(`--${row} ${file}: the file cannot be read`);
    return text;
  };
  return async () => {
    const username = await one('username-file', 'GRIDTIDE_USERNAME');
    const password = await one('password-file', 'GRIDTIDE_PASSWORD');
    return username === undefined || password === undefined ? undefined : { username, password };
  };
}

async function readCa(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch {
    throw new UsageError(`--ca ${file}: the file cannot be read`);
  }
}

/** Throws `UsageError` when it is not said which service is meant. The caller closes it. */
export async function openService(args: Arguments, terminal: Terminal): Promise<ServiceAccess> {
  const url = args.text('url') ?? terminal.env.GRIDTIDE_URL;
  if (url === undefined) throw new UsageError('which service? give --url or $GRIDTIDE_URL');
  if (!URL.canParse(url)) throw new UsageError(`--url ${url}: expected an address such as https://example.org`);
  const ca = args.text('ca');
  const http = createHttp(ca === undefined ? {} : { ca: await readCa(ca) });
  const clock = createSystemClock();
  const credentials = credentialsFrom(args, terminal.env);
  const service = createService({ url, http, clock, random: createSystemRandom(), credentials, log: logTo(terminal) });
  const stop = () => service.stop();
  terminal.stop.addEventListener('abort', stop, { once: true });
  return {
    service,
    clock,
    credentials,
    close: async () => {
      terminal.stop.removeEventListener('abort', stop);
      service.stop();
      await http.close();
    },
  };
}

/** The value of an outcome; throws `JobError` with the failure in words. */
export function answerOf<Value>(outcome: Outcome<Value>): Value {
  if (!outcome.ok) throw new JobError(sentenceOf(outcome.failure));
  return outcome.value;
}
