/** The reference service as one object: put together from its options, listening, counted, closed. All it says is a function of seed and clock. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, isIP } from 'node:net';
import { openAccounts } from './accounts.ts';
import { type AuthErrors, refusal } from './answer.ts';
import { callOf } from './call.ts';
import { catalogueOf, PREVIEW_REGION } from './catalogue.ts';
import { changedAnswer, changedCall, insteadOf } from './fault-answers.ts';
import { type Fault, type FaultRule, faultsOf, striking } from './fault-rules.ts';
import { sendBroken } from './fault-wire.ts';
import type { PlanName } from './plans.ts';
import { route } from './router.ts';
import { send } from './send.ts';
import { readSeries, recordedSpan, type Series, SeriesError } from './series.ts';
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
const MOST_NAMES = 100;
/** Longer than most callers keep an idle connection, so that it is they who close it. */
const KEEP_ALIVE = 65_000;

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
  readonly faults?: readonly FaultRule[];
  readonly extras?: boolean;
  /** Told of what the service could not answer for, such as a full disk; the caller gets a 500. */
  readonly onError?: (error: unknown) => void;
  /** Each border of the map is made of 2 to this power pieces, 5 unless said otherwise. */
  readonly mapDetail?: number;
}

export interface Reference {
  /** Port 0 or none: any free one. Rejects for a host off loopback without TLS. */
  listen(at?: { readonly host?: string; readonly port?: number }): Promise<{ readonly url: string }>;
  /** Ends listening and every connection; may be called twice. */
  close(): Promise<void>;
  counts(): Counts;
  /** Replaces all fault rules and begins counting anew; an empty list heals the service. */
  setFaults(rules: readonly FaultRule[]): void;
  /** First and last slot of the recorded series, milliseconds since 1970. */
  readonly recorded: { readonly from: number; readonly to: number } | undefined;
}

export const isLoopback = (host: string) =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));

async function serviceOf(options: ReferenceOptions, series: Series | undefined): Promise<Service> {
  const accounts = await openAccounts(options.data);
  const given = (options.accounts ?? []).map((account) =>
    accounts.create({ ...account, email: `${account.username}@example.invalid`, org: null }, { replace: true }),
  );
  await Promise.all(given);
  const region = options.series?.region ?? PREVIEW_REGION;
  const catalogue = catalogueOf({
    seed: options.seed,
    mapDetail: options.mapDetail ?? 5,
    ...(series === undefined ? {} : { recorded: { region, series } }),
  });
  if (!catalogue.co2_moer.places.has(region)) throw new SeriesError(`its region "${region}" is not one of co2_moer`);
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
    newest: { issued: Number.NaN, made: new Map() },
  };
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

const timeStamp = (response: ServerResponse, now: number) => response.setHeader('date', new Date(now).toUTCString());

/** Answers a call through whatever faults strike it. */
async function respond(service: Service, exchange: Exchange, call: Call, rules: readonly FaultRule[]): Promise<void> {
  const { request, response } = exchange;
  const seen = rules.reduce(changedCall, call);
  timeStamp(response, seen.now);
  const instead = rules.map((rule) => insteadOf(service, seen, rule)).find((answer) => answer !== undefined);
  const own = instead ?? (await route(service, seen));
  const answer = rules.reduce((changed, rule) => changedAnswer(seen, changed, rule), own);
  count(service.counts.statuses, String(answer.status));
  for (const rule of rules) if (await sendBroken(exchange, answer, rule)) return;
  await send(request, response, answer);
}

function count(tally: Record<string, number>, name: string): void {
  // Names come from outside; only so many are told apart.
  const known = name in tally || Object.keys(tally).length < MOST_NAMES ? name : 'others';
  tally[known] = (tally[known] ?? 0) + 1;
}

interface Surroundings {
  readonly clock: () => number;
  readonly faults: () => readonly Fault[];
  readonly onError: (error: unknown) => void;
}

function listenerOf(service: Service, { clock, faults, onError }: Surroundings) {
  return async (request: IncomingMessage, response: ServerResponse) => {
    const now = clock();
    service.counts.requests += 1;
    response.sendDate = false;
    timeStamp(response, now);
    response.setHeader('x-request-id', `${(service.seed >>> 0).toString(16)}-${service.counts.requests}`);
    try {
      const call = await callOf(request, now);
      if ('status' in call) return await send(request, response, call);
      count(service.counts.paths, call.path);
      await respond(service, { request, response }, call, striking(faults(), call));
    } catch (error) {
      // The caller went away in the middle: nobody is left to tell.
      if (response.destroyed || request.socket.destroyed) return;
      onError(error);
      if (response.headersSent) response.destroy();
      else await send(request, response, refusal(500, 'internal_error', 'The service could not answer.'));
    }
  };
}

/** Makes the service; nothing listens yet. Rejects when a series or the data directory cannot be read. */
export async function createReference(options: ReferenceOptions): Promise<Reference> {
  const { files, units } = options.series ?? { files: [] };
  const series = files.length === 0 ? undefined : await readSeries(files, units);
  const service = await serviceOf(options, series);
  let faults = faultsOf(options.faults ?? []);
  const { clock, onError = () => {} } = options;
  const listener = listenerOf(service, { clock, onError, faults: () => faults });
  const server: Server = options.tls === undefined ? createServer(listener) : createTlsServer(options.tls, listener);
  server.keepAliveTimeout = KEEP_ALIVE;
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
    setFaults(rules) {
      faults = faultsOf(rules);
    },
    recorded: series === undefined ? undefined : recordedSpan(series),
  };
}
