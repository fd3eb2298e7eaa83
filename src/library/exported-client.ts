/** `gridtide/client`: the client of the signal service for other programs, every endpoint of specification 4 with its limits kept. */

import './require-node.ts';

import { serviceUrlType } from '../config/url-types.ts';
import type { Duration, Instant } from '../domain/units.ts';
import { createHttp } from '../platform/http-client.ts';
import { createSystemRandom } from '../platform/random.ts';
import { createSystemClock } from '../platform/system-clock.ts';
import type { Credentials } from '../service/api/query-types.ts';
import { createServiceClient, type ServiceClient } from '../service/client.ts';

export { parseInstant } from '../domain/iso-time.ts';
export { toPlace } from '../domain/place.ts';
export {
  type Duration,
  days,
  formatInstant,
  hours,
  type Instant,
  type Latitude,
  type Longitude,
  milliseconds,
  minutes,
  type Percentile,
  type Place,
  seconds,
} from '../domain/units.ts';
export type * from '../service/api/query-types.ts';
export type * from '../service/api/response-types.ts';
export type { V1Client } from '../service/api/v1-client.ts';
export type { RequestCounts, ServiceClient } from '../service/client.ts';
export type { Failure, Outcome, UnreachableReason } from '../service/failure.ts';
export { failureText } from '../service/failure-text.ts';

/** A `Date`, or milliseconds since 1970, as the time of a query. */
export const toInstant = (at: Date | number): Instant => Number(at) as Instant;

export interface ClientOptions {
  /** Base address such as `https://signal.example`; plain HTTP on loopback only (specification 5). */
  readonly url: string;
  readonly username?: string;
  readonly password?: string;
  /** Read anew at each login, in place of `username` and `password`: for credentials that change while the program runs. */
  readonly credentials?: () => Promise<Credentials | undefined>;
  /** PEM of a certificate authority to trust beside the usual ones. */
  readonly ca?: string;
  /** How many agents share the account and with it the rate limits of specification 5; 1 when absent. */
  readonly fleet?: number;
  /** The longest an answer may take; 30 s, and 10 min for a map, when absent. */
  readonly deadline?: Duration;
  /** Receives warnings of the service and of the client, one sentence each. */
  readonly onWarning?: (message: string) => void;
}

export interface Client extends ServiceClient {
  /** Stops the client and closes its connections; may be called twice. */
  close(): Promise<void>;
}

function checkUrl(url: string): string {
  const mistakes: string[] = [];
  const read = serviceUrlType.read(url, (mistake) => mistakes.push(mistake));
  if (read === undefined) throw new TypeError(`createClient: url: ${mistakes.join('; ')}`);
  return read;
}

function toCredentialReader({
  username,
  password,
  credentials,
}: ClientOptions): () => Promise<Credentials | undefined> {
  if (credentials !== undefined) return credentials;
  if (username !== undefined && password !== undefined) return async () => ({ username, password });
  if (username !== undefined)
    throw new TypeError(`createClient: the password of ${username} is missing; pass password, or credentials`);
  if (password !== undefined) throw new TypeError('createClient: a password without a username; pass both');
  return async () => undefined;
}

/**
 * A client that logs in when a call needs it, renews the token before its 30 minutes end (specification 3), stays within the rate
 * limits of the account (specification 5) and returns expected trouble as a value: nothing rejects. Without credentials only
 * `register` and `resetPassword` are of use. Throws `TypeError` for a wrong address or half of the credentials.
 */
export function createClient(options: ClientOptions): Client {
  const { ca, fleet, deadline, onWarning } = options;
  const url = checkUrl(options.url);
  const credentials = toCredentialReader(options);
  const http = createHttp(ca === undefined ? {} : { ca });
  const service = createServiceClient({
    url,
    http,
    clock: createSystemClock(),
    random: createSystemRandom(),
    credentials,
    log: (level, message) => {
      if (level === 'warn' || level === 'error') onWarning?.(message);
    },
    ...(fleet === undefined ? {} : { fleet }),
    ...(deadline === undefined ? {} : { deadline }),
  });
  return {
    ...service,
    close: async () => {
      service.stop();
      await http.close();
    },
  };
}
