/** The reference service as one object: put together from its options, listening, counted, closed. All it says is a function of seed and clock. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, isIP } from 'node:net';
import { openAccounts } from './accounts.ts';
import { type AuthErrors, refusal } from './answer.ts';
import { catalogueOf, PREVIEW_REGION } from './catalogue.ts';
import type { PlanName } from './plans.ts';
import { route } from './router.ts';
import { send } from './send.ts';
import { readSeries, recordedSpan, type Series } from './series.ts';
import type { Call, Counts, Service } from './service.ts';
import { createTokens } from './tokens.ts';
import { windowsOf } from './window.ts';

const MINUTE = 60_000;
/** Specification 8. */
const REQUESTS = 3_000;
const LOGINS = 100;
const WINDOW = 5 * MINUTE;
/** The earlier interface, without a token: 25 an hour an address. */
const ANONYMOUS = 25;
const MOST_BODY = 64 * 1024;
const MOST_URL = 16 * 1024;

export interface ReferenceOptions {
  readonly seed: number;
  /** The service's wall clock, milliseconds since 1970. */
  readonly clock: () => number;
  /** What `/register` makes; `free` unless said otherwise. */
  readonly newPlan?: PlanName;
  readonly accounts?: readonly { readonly username: string; readonly password: string; readonly plan: PlanName }[];
  readonly authErrors?: AuthErrors;
  /** Recorded files for the `co2_moer` of one region, `CAISO_NORTH` unless said otherwise; `units` of a two-column file. */
  readonly series?: { readonly files: readonly string[]; readonly region?: string; readonly units?: string };
  /** Directory in which accounts and the outbox survive; absent: memory only. */
  readonly data?: string;
  /** PEM texts. Without them only loopback is listened on. */
  readonly tls?: { readonly cert: string; readonly key: string };
  readonly extras?: boolean;
  /** Each border of the map is made of 2 to this power pieces, 5 unless said otherwise. */
  readonly mapDetail?: number;
}

export interface Reference {
  /** Port 0 or none: any free one. Rejects for a host off loopback without TLS. */
  listen(at?: { readonly host?: string; readonly port?: number }): Promise<{ readonly url: string }>;
  /** Ends listening and every connection; may be called twice. */
  close(): Promise<void>;
  counts(): Counts;
  /** First and last slot of the recorded series, milliseconds since 1970. */
  readonly recorded: { readonly from: number; readonly to: number } | undefined;
}

export const isLoopback = (host: string) =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));

async function serviceOf(options: ReferenceOptions, series: Series | undefined): Promise<Service> {
  const accounts = await openAccounts(options.data);
  for (const { username, password, plan } of options.accounts ?? [])
    await accounts.create(
      { username, password, plan, email: `${username}@example.invalid`, org: null },
      { replace: true },
    );
  const region = options.series?.region ?? PREVIEW_REGION;
  const catalogue = catalogueOf({
    seed: options.seed,
    mapDetail: options.mapDetail ?? 5,
    ...(series === undefined ? {} : { recorded: { region, series } }),
  });
  if (!catalogue.co2_moer.places.has(region)) throw new Error(`"${region}" is not a region of co2_moer`);
  return {
    seed: options.seed,
    catalogue,
    accounts,
    tokens: createTokens(),
    requests: windowsOf(REQUESTS, WINDOW),
    logins: windowsOf(LOGINS, WINDOW),
    anonymous: windowsOf(ANONYMOUS, 60 * MINUTE),
    authErrors: options.authErrors ?? 'json',
    newPlan: options.newPlan ?? 'free',
    extras: options.extras ?? false,
    counts: { requests: 0, logins: 0, refusedLogins: 0, statuses: {}, paths: {} },
  };
}

/** The whole body, or undefined when it is too long. */
async function bodyOf(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MOST_BODY) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function answerTo(service: Service, request: IncomingMessage, now: number) {
  const target = request.url ?? '/';
  if (target.length > MOST_URL)
    return refusal(414, 'uri_too_long', `The address has more than ${MOST_URL} characters.`);
  const body = await bodyOf(request);
  if (body === undefined)
    return refusal(413, 'too_large', `The body has more than ${MOST_BODY} bytes.`, { connection: 'close' });
  const cut = target.indexOf('?');
  const path = cut < 0 ? target : target.slice(0, cut);
  const scheme = 'encrypted' in request.socket ? 'https' : 'http';
  const call: Call = {
    method: request.method ?? 'GET',
    path,
    query: new URLSearchParams(cut < 0 ? '' : target.slice(cut + 1)),
    headers: request.headers,
    body,
    now,
    address: request.socket.remoteAddress ?? '',
    origin: `${scheme}://${request.headers.host ?? 'localhost'}`,
  };
  service.counts.paths[path] = (service.counts.paths[path] ?? 0) + 1;
  return route(service, call);
}

function listenerOf(service: Service, clock: () => number) {
  return async (request: IncomingMessage, response: ServerResponse) => {
    const now = clock();
    service.counts.requests += 1;
    response.sendDate = false;
    response.setHeader('date', new Date(now).toUTCString());
    response.setHeader('x-request-id', `${(service.seed >>> 0).toString(16)}-${service.counts.requests}`);
    try {
      const answer = await answerTo(service, request, now);
      const { statuses } = service.counts;
      statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
      await send(request, response, answer);
    } catch (error) {
      // The caller went away in the middle: nobody is left to tell.
      if (response.destroyed || request.destroyed) return;
      throw error;
    }
  };
}

/** Makes the service; nothing listens yet. Rejects when a series or the data directory cannot be read. */
export async function createReference(options: ReferenceOptions): Promise<Reference> {
  const { files, units } = options.series ?? { files: [] };
  const series = files.length === 0 ? undefined : await readSeries(files, units);
  const service = await serviceOf(options, series);
  const listener = listenerOf(service, options.clock);
  const server: Server = options.tls === undefined ? createServer(listener) : createTlsServer(options.tls, listener);
  return {
    listen({ host = '127.0.0.1', port = 0 } = {}) {
      if (options.tls === undefined && !isLoopback(host))
        return Promise.reject(new Error(`${host} is not loopback: a certificate and a key are needed there`));
      return new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen(port, host, () => {
          server.off('error', reject);
          const at = server.address() as AddressInfo;
          const name = at.family === 'IPv6' ? `[${at.address}]` : at.address;
          resolve({ url: `${options.tls === undefined ? 'http' : 'https'}://${name}:${at.port}` });
        });
      });
    },
    close() {
      return new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
    counts: () => structuredClone(service.counts),
    recorded: series === undefined ? undefined : recordedSpan(series),
  };
}
