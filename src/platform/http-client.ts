/** Carries one HTTP request within its deadline and its size cap, by Node's own client; never follows a redirect, never judges an answer. */

import type { Agent, ClientRequest, IncomingMessage } from 'node:http';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { isLoopback } from '../domain/loopback.ts';
import {
  type Http,
  HttpError,
  type HttpFailure,
  type HttpRequest,
  type HttpResponseHead,
  type HttpStream,
} from '../domain/ports.ts';
import type { Instant } from '../domain/units.ts';

export interface HttpOptions {
  /** PEM of a certificate authority to trust beside the usual ones. */
  readonly ca?: string;
}

/** Requests to one origin at once; more wait. */
const MAX_CONNECTIONS = 6;
const CONNECT_TIMEOUT_MS = 10_000;
/** Short, so that a connection is rarely reused just as the other side drops it. */
const KEEP_ALIVE_MS = 4_000;

/** What ends a request before its answer: the deadline, the caller, or that the client is closed. */
interface RequestAbort {
  readonly signal: AbortSignal;
  /** Why it ended, when it was ended. */
  readonly getFailure: () => HttpFailure | undefined;
  readonly stop: () => void;
  readonly release: () => void;
}

function createRequestAbort({ deadline }: HttpRequest, outer: AbortSignal | undefined): RequestAbort {
  const controller = new AbortController();
  let abortFailure: HttpFailure | undefined;
  const end = (failure: HttpFailure) => {
    abortFailure ??= failure;
    // An answer that nobody read is never released: its deadline must not keep a process that ends.
    clearTimeout(timer);
    controller.abort();
  };
  const stop = () => end({ kind: 'stopped', cause: 'the request was stopped' });
  const timer = setTimeout(
    () => end({ kind: 'deadline', cause: `no whole answer within ${deadline / 1_000} s` }),
    deadline,
  );
  if (outer?.aborted) stop();
  else outer?.addEventListener('abort', stop, { once: true });
  return {
    signal: controller.signal,
    getFailure: () => abortFailure,
    stop,
    release: () => {
      clearTimeout(timer);
      outer?.removeEventListener('abort', stop);
    },
  };
}

/** All access is over HTTPS (specification 5); plain HTTP stays inside this machine. */
function findInsecurity(address: string): HttpFailure | undefined {
  if (!URL.canParse(address)) return { kind: 'insecure', cause: `${address} is not an address` };
  const url = new URL(address);
  if (url.username !== '' || url.password !== '')
    return { kind: 'insecure', cause: `the address of ${url.host} holds a user name or password` };
  if (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname))) return undefined;
  return { kind: 'insecure', cause: `${url.origin} is not https, and plain http is for loopback only` };
}

const getNetworkErrorCode = (error: unknown) =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';

const CERTIFICATE_CODES = /CERT|SELF_SIGNED|UNABLE_TO_(VERIFY|GET_ISSUER)|ERR_TLS|ERR_SSL|EPROTO/;

const OPENSSL_REASON = /SSL routines:[^:]*:([^:]+)/;

/** One clause in words: every address of a name may have failed in its own way, and OpenSSL tells its source files as well. */
function formatNetworkCause(error: unknown, code: string): string {
  const one = error instanceof AggregateError ? (error.errors[0] ?? error) : error;
  const message = one instanceof Error ? one.message : String(one);
  const reason = OPENSSL_REASON.exec(message)?.[1];
  if (reason !== undefined) return `TLS: ${reason} (${code})`;
  return message.includes(code) ? message : `${message} (${code})`;
}

function toHttpFailure(error: unknown, { getFailure: why }: RequestAbort, hasHead: boolean): HttpFailure {
  const ended = why();
  if (ended !== undefined) return ended;
  if (error instanceof HttpError) return error.failure;
  const code = getNetworkErrorCode(error);
  // What has no code is no trouble of the network: a broken law.
  if (code === '') throw error;
  const cause = formatNetworkCause(error, code);
  if (CERTIFICATE_CODES.test(code)) return { kind: 'tls', cause };
  if (code === 'Z_BUF_ERROR') return { kind: 'cut-short', cause: 'the compressed body ends too early' };
  if (code.startsWith('Z_')) return { kind: 'bad-encoding', cause };
  return { kind: hasHead ? 'cut-short' : 'unreachable', cause };
}

const buildTooLargeError = (maxBytes: number) =>
  new HttpError({ kind: 'too-large', cause: `the body is larger than ${maxBytes} bytes` });

async function* capBytes(source: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of source) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw buildTooLargeError(maxBytes);
    yield chunk;
  }
}

/** The body inflated, its size capped before and after: a small body may inflate to a thousand times its size. */
function inflateBody(body: Readable, head: HttpResponseHead, maxBytes: number): AsyncIterable<Uint8Array> {
  const encoding = head.headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  if (encoding === 'identity' || encoding === '') return capBytes(body, maxBytes);
  if (encoding !== 'gzip' && encoding !== 'x-gzip')
    throw new HttpError({ kind: 'bad-encoding', cause: `content-encoding ${encoding} was not asked for` });
  const gunzip = createGunzip();
  // Errors of either end reach the reader of gunzip, and leaving it destroys the body.
  pipeline(
    body,
    (source: AsyncIterable<Uint8Array>) => capBytes(source, maxBytes),
    gunzip,
    () => {},
  );
  return capBytes(gunzip, maxBytes);
}

function parseHead({ statusCode = 0, headers: received }: IncomingMessage): HttpResponseHead {
  const headers = Object.fromEntries(
    Object.entries(received).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : `${value}`]),
  );
  const date = Date.parse(received.date ?? '');
  return { status: statusCode, headers, ...(Number.isNaN(date) ? {} : { date: date as Instant }) };
}

/** What requests of one scheme share. */
interface SchemeClient {
  readonly agent: Agent;
  readonly request: typeof import('node:http').request;
}

// A free connection is closed after the timeout; a request under way goes by its own deadline.
const AGENT_OPTIONS = { keepAlive: true, maxSockets: MAX_CONNECTIONS, timeout: KEEP_ALIVE_MS } as const;

/** Loaded at the first request: a command that asks nothing does not pay for it, nor one on loopback for TLS. */
async function loadSchemeClient(secure: boolean, { ca }: HttpOptions): Promise<SchemeClient> {
  if (!secure) {
    const { Agent, request } = await import('node:http');
    return { agent: new Agent(AGENT_OPTIONS), request };
  }
  const { Agent, request } = await import('node:https');
  if (ca === undefined) return { agent: new Agent(AGENT_OPTIONS), request };
  const { rootCertificates } = process.getBuiltinModule('node:tls');
  return { agent: new Agent({ ...AGENT_OPTIONS, ca: [...rootCertificates, ca] }), request };
}

/** The head of the answer; rejects with the error of the connection, or with that of the signal. */
function awaitHead(outgoing: ClientRequest, body: string | undefined): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    let connectTimer: NodeJS.Timeout | undefined;
    outgoing.once('socket', (socket) => {
      if (!socket.connecting) return;
      const late = Object.assign(new Error(`no connection within ${CONNECT_TIMEOUT_MS / 1_000} s`), {
        code: 'ETIMEDOUT',
      });
      connectTimer = setTimeout(() => outgoing.destroy(late), CONNECT_TIMEOUT_MS);
      socket.once('connect', () => clearTimeout(connectTimer));
    });
    outgoing.once('close', () => clearTimeout(connectTimer));
    // Stays for the life of the request: an error after the head comes here as well, and its reader hears of it there.
    outgoing.on('error', reject);
    outgoing.once('response', resolve);
    outgoing.end(body);
  });
}

export function createHttp(options: HttpOptions = {}): Http {
  const schemeClients = new Map<boolean, Promise<SchemeClient>>();
  const underWay = new Set<RequestAbort>();
  const getSchemeClient = (secure: boolean) => {
    const wire = schemeClients.get(secure) ?? loadSchemeClient(secure, options);
    schemeClients.set(secure, wire);
    return wire;
  };

  /** The head and the body's chunks; the ending is released when the chunks are done with. */
  async function open(request: HttpRequest, outer?: AbortSignal): Promise<HttpStream | HttpFailure> {
    const insecure = findInsecurity(request.url);
    if (insecure !== undefined) return insecure;
    const requestAbort = createRequestAbort(request, outer);
    underWay.add(requestAbort);
    try {
      const { agent, request: send } = await getSchemeClient(new URL(request.url).protocol === 'https:');
      const { method, headers, body } = request;
      const requestOptions = {
        agent,
        method,
        headers: { ...headers, 'accept-encoding': 'gzip' },
        signal: requestAbort.signal,
      };
      const answer = await awaitHead(send(request.url, requestOptions), body);
      // A body that nobody reads to its end must not bring the process down.
      answer.on('error', () => {});
      const head = parseHead(answer);
      if (Number(head.headers['content-length'] ?? 0) > request.maxBytes) {
        answer.destroy();
        throw buildTooLargeError(request.maxBytes);
      }
      return { ...head, chunks: readBody(answer, head, { ending: requestAbort, maxBytes: request.maxBytes }) };
    } catch (error) {
      releaseRequest(requestAbort);
      return toHttpFailure(error, requestAbort, false);
    }
  }

  function releaseRequest(ending: RequestAbort) {
    ending.release();
    underWay.delete(ending);
  }

  async function* readBody(
    body: Readable,
    head: HttpResponseHead,
    { ending, maxBytes }: { ending: RequestAbort; maxBytes: number },
  ) {
    try {
      yield* inflateBody(body, head, maxBytes);
    } catch (error) {
      throw new HttpError(toHttpFailure(error, ending, true));
    } finally {
      releaseRequest(ending);
      body.destroy();
    }
  }

  return {
    stream: open,
    async request(request, outer) {
      const stream = await open(request, outer);
      if ('kind' in stream) return stream;
      const { chunks, ...head } = stream;
      try {
        const parts: Uint8Array[] = [];
        for await (const chunk of chunks) parts.push(chunk);
        return { ...head, body: Buffer.concat(parts) };
      } catch (error) {
        if (error instanceof HttpError) return error.failure;
        throw error;
      }
    },
    async close() {
      for (const { stop } of underWay) stop();
      const open = [...schemeClients.values()];
      schemeClients.clear();
      for (const wire of open) (await wire).agent.destroy();
    },
  };
}
