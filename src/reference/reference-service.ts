/** The reference service as one object: made from its options, it listens, counts and closes; its answers are a function of seed and clock. */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, isIP, type Socket } from 'node:net';
import { isLoopback } from '../domain/loopback.ts';
import { openAccounts } from './accounts/accounts.ts';
import { createAttemptLimits } from './accounts/attempt-limits.ts';
import type { PlanName } from './accounts/plans.ts';
import { createRollingWindows } from './accounts/rolling-window.ts';
import { createTokens } from './accounts/tokens.ts';
import { changeRequest, changeResponse, findReplacement } from './faults/fault-answers.ts';
import { type ActiveFault, createActiveFaults, type FaultRule, selectStrikingRules } from './faults/fault-rules.ts';
import { sendWithFault } from './faults/fault-wire.ts';
import { type AuthErrors, buildProfile, type ProfileName } from './http/profile.ts';
import { watchReader } from './http/reader-pace.ts';
import { createReadyAnswers } from './http/ready-answers.ts';
import { readRequest } from './http/request.ts';
import { type ApiResponse, errorResponse } from './http/response.ts';
import type { ApiRequest, Counts, ServiceParts } from './http/route-types.ts';
import { answerRequest } from './http/router.ts';
import { sendResponse } from './http/send-response.ts';
import { answerUnreadable } from './http/unreadable-requests.ts';
import { createCatalogue, PREVIEW_REGION } from './world/catalogue.ts';
import { findRecordedSpan, readSeries, type Series, SeriesError } from './world/recorded-signal.ts';

const MINUTE = 60_000;
/** Specification 8. */
const REQUEST_LIMIT = 3_000;
const LIMIT_WINDOW = 5 * MINUTE;
/** The earlier interface, without a token: 25 an hour an address. */
const ANONYMOUS_LIMIT = 25;
const MAX_COUNTED_NAMES = 100;
const SERVER_LIMITS = {
  /** Longer than most clients keep an idle connection, so that it is they who close it. */
  keepAliveTimeout: 65_000,
  /** For a whole request, 64 KiB at most: about a kilobyte a second at least. */
  requestTimeout: 60_000,
  headersTimeout: 20_000,
  connectionsCheckingInterval: 5_000,
  /** The service itself refuses a request without one, in words. */
  requireHostHeader: false,
};

const formatOrigin = (isTls: boolean, address: string, port: number) =>
  `${isTls ? 'https' : 'http'}://${address.includes(':') ? `[${address}]` : address}:${port}`;

export interface ReferenceOptions {
  readonly seed: number;
  /** The service's wall clock, milliseconds since 1970. */
  readonly clock: () => number;
  /** The plan of accounts that `/register` makes, `free` by default. */
  readonly newPlan?: PlanName;
  readonly accounts?: readonly { readonly username: string; readonly password: string; readonly plan: PlanName }[];
  /** `specification` by default; sets the defaults of `authErrors` and `extras`. */
  readonly profile?: ProfileName;
  readonly authErrors?: AuthErrors;
  /** Recorded files for the `co2_moer` of one region, `CAISO_NORTH` by default; `units` of a two-column file. */
  readonly series?: { readonly files: readonly string[]; readonly region?: string; readonly units?: string };
  /** Directory in which accounts and the outbox survive; absent: memory only. */
  readonly data?: string;
  /** PEM texts. Without them only loopback is listened on. */
  readonly tls?: { readonly cert: string; readonly key: string };
  readonly faults?: readonly FaultRule[];
  readonly extras?: boolean;
  /** Is called with what the service failed at, such as a full disk; the client gets a 500. */
  readonly onError?: (error: unknown) => void;
  /** How long a request may take to arrive, milliseconds; shorter in tests. */
  readonly timeouts?: Partial<typeof SERVER_LIMITS>;
  /** Each border of the map is made of 2 to this power pieces, 5 by default. */
  readonly mapDetail?: number;
}

export interface ReferenceService {
  /**
   * Port 0 or none: any free one. Rejects where the host is off loopback without TLS, where host or port cannot be opened, and where the
   * service listens already or is about to.
   */
  listen(at?: { readonly host?: string; readonly port?: number }): Promise<{ readonly url: string }>;
  /** Ends listening, also one that is about to begin, and every connection; may be called twice. */
  close(): Promise<void>;
  counts(): Counts;
  /** Answers without a connection; faults of the wire strike nothing here. */
  answer(request: Omit<ApiRequest, 'now'>): Promise<ApiResponse>;
  /** Replaces all fault rules and begins counting anew; an empty list heals the service. */
  setFaults(rules: readonly FaultRule[]): void;
  /** First and last slot of the recorded series, milliseconds since 1970. */
  readonly recordedSpan: { readonly from: number; readonly to: number } | undefined;
}

async function openServiceParts(options: ReferenceOptions, series: Series | undefined): Promise<ServiceParts> {
  const accounts = await openAccounts(options.data);
  const givenAccounts = (options.accounts ?? []).map((account) =>
    accounts.give({ ...account, email: `${account.username}@example.invalid`, org: null }),
  );
  await Promise.all(givenAccounts);
  const region = options.series?.region ?? PREVIEW_REGION;
  const { mapDetail = 5 } = options;
  const catalogue = createCatalogue({
    seed: options.seed,
    mapDetail,
    ...(series === undefined ? {} : { recorded: { region, series } }),
  });
  if (!catalogue.co2_moer.regions.has(region)) throw new SeriesError(`its region "${region}" is not one of co2_moer`);
  return {
    seed: options.seed,
    catalogue,
    mapDetail,
    accounts,
    tokens: createTokens(),
    requestLimits: createRollingWindows(REQUEST_LIMIT, LIMIT_WINDOW),
    attemptLimits: createAttemptLimits(),
    anonymousLimits: createRollingWindows(ANONYMOUS_LIMIT, 60 * MINUTE),
    newPlan: options.newPlan ?? 'free',
    profile: buildProfile(options.profile ?? 'specification', options),
    counts: { requests: 0, logins: 0, refusedLogins: 0, statuses: {}, paths: {} },
    readyAnswers: createReadyAnswers(),
  };
}

interface HttpExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

let dateSecond = Number.NaN;
let dateText = '';
/** The `Date` header, made once a second. */
function setDateHeader(response: ServerResponse, now: number): void {
  const second = Math.floor(now / 1_000);
  if (second !== dateSecond) [dateSecond, dateText] = [second, new Date(now).toUTCString()];
  response.setHeader('date', dateText);
}

/** The answer of a request, with the faults that strike it. */
async function answerWithFaults(
  service: ServiceParts,
  request: ApiRequest,
  rules: readonly FaultRule[],
): Promise<ApiResponse> {
  const changedRequest = rules.reduce(changeRequest, request);
  const replacement = rules
    .map((rule) => findReplacement(service, changedRequest, rule))
    .find((answer) => answer !== undefined);
  const ordinary = replacement ?? (await answerRequest(service, changedRequest));
  const answer = rules.reduce((changed, rule) => changeResponse(changedRequest, changed, rule), ordinary);
  increment(service.counts.statuses, String(answer.status));
  return answer;
}

/** Sends the answer of a request over its connection. */
async function respond(
  service: ServiceParts,
  exchange: HttpExchange,
  apiRequest: ApiRequest,
  rules: readonly FaultRule[],
): Promise<void> {
  const { request, response } = exchange;
  if (rules.length > 0) setDateHeader(response, rules.reduce(changeRequest, apiRequest).now);
  const answer = await answerWithFaults(service, apiRequest, rules);
  for (const rule of rules) if (await sendWithFault(exchange, answer, rule)) return;
  await sendResponse(request, response, answer);
}

function increment(counts: Record<string, number>, name: string): void {
  // Names come from outside; only so many are counted apart.
  const countedName = Object.hasOwn(counts, name) || Object.keys(counts).length < MAX_COUNTED_NAMES ? name : 'others';
  counts[countedName] = (counts[countedName] ?? 0) + 1;
}

interface ListenerOptions {
  readonly clock: () => number;
  readonly activeFaults: () => readonly ActiveFault[];
  readonly onError: (error: unknown) => void;
  /** The address of the service, while it listens on one. */
  readonly origin: () => string | undefined;
}

/** The address that a client reached when the service listens on all of them. */
const readLocalOrigin = ({ socket }: IncomingMessage) =>
  formatOrigin('encrypted' in socket, socket.localAddress ?? 'localhost', socket.localPort ?? 0);

/** Counts a request; its number makes its id. */
function countRequest({ counts, seed }: ServiceParts): string {
  counts.requests += 1;
  return `${(seed >>> 0).toString(16)}-${counts.requests}`;
}

/** The headers of an answer to what was no request. */
function buildRefusalHeaders(service: ServiceParts, status: number, now: number): Readonly<Record<string, string>> {
  const requestId = countRequest(service);
  increment(service.counts.statuses, String(status));
  const date = new Date(now).toUTCString();
  return service.profile.sendsRequestId ? { date, 'x-request-id': requestId } : { date };
}

function createListener(service: ServiceParts, { clock, activeFaults, onError, origin }: ListenerOptions) {
  return async (request: IncomingMessage, response: ServerResponse) => {
    const now = clock();
    response.sendDate = false;
    setDateHeader(response, now);
    const requestId = countRequest(service);
    if (service.profile.sendsRequestId) response.setHeader('x-request-id', requestId);
    try {
      const apiRequest = await readRequest(request, { now, origin: origin() ?? readLocalOrigin(request) });
      if ('status' in apiRequest) return await sendResponse(request, response, apiRequest);
      increment(service.counts.paths, apiRequest.path);
      const rules = selectStrikingRules(activeFaults(), apiRequest);
      await respond(service, { request, response }, apiRequest, rules);
    } catch (error) {
      // The client has gone away and reads no answer.
      if (response.destroyed || request.socket.destroyed) return;
      onError(error);
      if (response.headersSent) response.destroy();
      else await sendResponse(request, response, errorResponse(500, 'internal_error', 'The service could not answer.'));
    }
  };
}

/** Makes the service; nothing listens yet. Rejects when a series, the data directory or a PEM text cannot be read. */
export async function createReferenceService(options: ReferenceOptions): Promise<ReferenceService> {
  const { files, units } = options.series ?? { files: [] };
  const series = files.length === 0 ? undefined : await readSeries(files, units);
  const service = await openServiceParts(options, series);
  let faults = createActiveFaults(options.faults ?? []);
  const { clock, onError = () => {} } = options;
  let origin: string | undefined;
  const listener = createListener(service, { clock, onError, activeFaults: () => faults, origin: () => origin });
  const limits = { ...SERVER_LIMITS, ...options.timeouts };
  const server: Server =
    options.tls === undefined
      ? createServer(limits, listener)
      : createTlsServer({ ...limits, ...options.tls }, listener);
  answerUnreadable(server, (status) => buildRefusalHeaders(service, status, clock()));
  // Whatever else a client expects, it reads an answer like the others'.
  server.on('checkExpectation', listener);
  server.on(options.tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => watchReader(socket));
  async function openPort(host: string, port: number) {
    if (options.tls === undefined && !isLoopback(host))
      throw new Error(`${host} is not loopback: a certificate and a key are needed there`);
    server.listen(port, host);
    await once(server, 'listening');
    const at = server.address() as AddressInfo;
    // A certificate is for the name.
    const name = options.tls !== undefined && isIP(host) === 0 ? host : at.address;
    const url = formatOrigin(options.tls !== undefined, name, at.port);
    origin = /^(0\.0\.0\.0|::)$/.test(at.address) ? undefined : url;
    return { url };
  }
  let opening: Promise<unknown> | undefined;
  return {
    async listen({ host = '127.0.0.1', port = 0 } = {}) {
      if (opening !== undefined || server.listening) throw new Error('the service listens already');
      const opened = openPort(host, port);
      opening = opened.catch(() => {});
      await opening;
      opening = undefined;
      return opened;
    },
    async close() {
      // Node forgets a `listen` that is closed before it listens: its promise would never settle.
      await opening;
      await new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      });
    },
    counts: () => structuredClone(service.counts),
    answer(request) {
      service.counts.requests += 1;
      increment(service.counts.paths, request.path);
      const apiRequest = { ...request, now: clock() };
      return answerWithFaults(service, apiRequest, selectStrikingRules(faults, apiRequest));
    },
    setFaults(rules) {
      faults = createActiveFaults(rules);
    },
    recordedSpan: series === undefined ? undefined : findRecordedSpan(series),
  };
}
