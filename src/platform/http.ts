/** Carries one HTTP request within its deadline and its size cap, by Node's own client; never follows a redirect, never judges an answer. */

import type { Agent, ClientRequest, IncomingMessage } from 'node:http';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { Instant } from '../units.ts';
import { type Http, HttpError, type HttpFailure, type HttpHead, type HttpRequest, type HttpStream } from '../world.ts';

export interface HttpOptions {
  /** PEM of a certificate authority to trust beside the usual ones. */
  readonly ca?: string;
}

/** Requests to one origin at once; more wait. */
const CONNECTIONS = 6;
const CONNECT_TIMEOUT_MS = 10_000;
/** Short, so that a connection is rarely reused just as the other side drops it. */
const KEEP_ALIVE_MS = 4_000;

/** What ends a request before its answer: the deadline, the caller, or that the client is closed. */
interface Ending {
  readonly signal: AbortSignal;
  /** Why it ended, when it was ended. */
  readonly why: () => HttpFailure | undefined;
  readonly stop: () => void;
  readonly release: () => void;
}

function endingOf({ deadline }: HttpRequest, outer: AbortSignal | undefined): Ending {
  const controller = new AbortController();
  let why: HttpFailure | undefined;
  const end = (failure: HttpFailure) => {
    why ??= failure;
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
    why: () => why,
    stop,
    release: () => {
      clearTimeout(timer);
      outer?.removeEventListener('abort', stop);
    },
  };
}

const isLoopback = (hostname: string) =>
  hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname);

/** All access is over HTTPS (specification 5); plain HTTP stays inside this machine. */
function insecurity(address: string): HttpFailure | undefined {
  if (!URL.canParse(address)) return { kind: 'insecure', cause: `${address} is not an address` };
  const url = new URL(address);
  if (url.username !== '' || url.password !== '')
    return { kind: 'insecure', cause: `the address of ${url.host} holds a user name or password` };
  if (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname))) return undefined;
  return { kind: 'insecure', cause: `${url.origin} is not https, and plain http is for loopback only` };
}

const codeOf = (error: unknown) =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';

const CERTIFICATE = /CERT|SELF_SIGNED|UNABLE_TO_(VERIFY|GET_ISSUER)|ERR_TLS|ERR_SSL|EPROTO/;

const OPENSSL = /SSL routines:[^:]*:([^:]+)/;

/** One clause in words: every address of a name may have failed in its own way, and OpenSSL tells its source files as well. */
function causeOf(error: unknown, code: string): string {
  const one = error instanceof AggregateError ? (error.errors[0] ?? error) : error;
  const message = one instanceof Error ? one.message : String(one);
  const reason = OPENSSL.exec(message)?.[1];
  if (reason !== undefined) return `TLS: ${reason} (${code})`;
  return message.includes(code) ? message : `${message} (${code})`;
}

function failureOf(error: unknown, { why }: Ending, hasHead: boolean): HttpFailure {
  const ended = why();
  if (ended !== undefined) return ended;
  if (error instanceof HttpError) return error.failure;
  const code = codeOf(error);
  // What has no code is no trouble of the network: a broken law.
  if (code === '') throw error;
  const cause = causeOf(error, code);
  if (CERTIFICATE.test(code)) return { kind: 'tls', cause };
  if (code === 'Z_BUF_ERROR') return { kind: 'cut-short', cause: 'the compressed body ends too early' };
  if (code.startsWith('Z_')) return { kind: 'bad-encoding', cause };
  return { kind: hasHead ? 'cut-short' : 'unreachable', cause };
}

const tooLarge = (maxBytes: number) =>
  new HttpError({ kind: 'too-large', cause: `the body is larger than ${maxBytes} bytes` });

async function* capped(source: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of source) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw tooLarge(maxBytes);
    yield chunk;
  }
}

/** The body inflated, its size capped before and after: a small body may inflate to a thousand times its size. */
function inflated(body: Readable, head: HttpHead, maxBytes: number): AsyncIterable<Uint8Array> {
  const encoding = head.headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  if (encoding === 'identity' || encoding === '') return capped(body, maxBytes);
  if (encoding !== 'gzip' && encoding !== 'x-gzip')
    throw new HttpError({ kind: 'bad-encoding', cause: `content-encoding ${encoding} was not asked for` });
  const gunzip = createGunzip();
  // Errors of either end reach the reader of gunzip, and leaving it destroys the body.
  pipeline(
    body,
    (source: AsyncIterable<Uint8Array>) => capped(source, maxBytes),
    gunzip,
    () => {},
  );
  return capped(gunzip, maxBytes);
}

function headOf({ statusCode = 0, headers: received }: IncomingMessage): HttpHead {
  const headers = Object.fromEntries(
    Object.entries(received).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : `${value}`]),
  );
  const date = Date.parse(received.date ?? '');
  return { status: statusCode, headers, ...(Number.isNaN(date) ? {} : { date: date as Instant }) };
}

/** What requests of one scheme share. */
interface Wire {
  readonly agent: Agent;
  readonly request: typeof import('node:http').request;
}

// A free connection is closed after the timeout; a request under way goes by its own deadline.
const KEPT = { keepAlive: true, maxSockets: CONNECTIONS, timeout: KEEP_ALIVE_MS } as const;

/** Loaded at the first request: a command that asks nothing does not pay for it, nor one on loopback for TLS. */
async function openWire(secure: boolean, { ca }: HttpOptions): Promise<Wire> {
  if (!secure) {
    const { Agent, request } = await import('node:http');
    return { agent: new Agent(KEPT), request };
  }
  const { Agent, request } = await import('node:https');
  if (ca === undefined) return { agent: new Agent(KEPT), request };
  const { rootCertificates } = process.getBuiltinModule('node:tls');
  return { agent: new Agent({ ...KEPT, ca: [...rootCertificates, ca] }), request };
}

/** The head of the answer; rejects with the error of the connection, or with that of the signal. */
function headed(outgoing: ClientRequest, body: string | undefined): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    let patience: NodeJS.Timeout | undefined;
    outgoing.once('socket', (socket) => {
      if (!socket.connecting) return;
      const late = Object.assign(new Error(`no connection within ${CONNECT_TIMEOUT_MS / 1_000} s`), {
        code: 'ETIMEDOUT',
      });
      patience = setTimeout(() => outgoing.destroy(late), CONNECT_TIMEOUT_MS);
      socket.once('connect', () => clearTimeout(patience));
    });
    outgoing.once('close', () => clearTimeout(patience));
    // Stays for the life of the request: an error after the head comes here as well, and its reader hears of it there.
    outgoing.on('error', reject);
    outgoing.once('response', resolve);
    outgoing.end(body);
  });
}

export function createHttp(options: HttpOptions = {}): Http {
  const wires = new Map<boolean, Promise<Wire>>();
  const underWay = new Set<Ending>();
  const wireTo = (secure: boolean) => {
    const wire = wires.get(secure) ?? openWire(secure, options);
    wires.set(secure, wire);
    return wire;
  };

  /** The head and the body's chunks; the ending is released when the chunks are done with. */
  async function open(request: HttpRequest, outer?: AbortSignal): Promise<HttpStream | HttpFailure> {
    const insecure = insecurity(request.url);
    if (insecure !== undefined) return insecure;
    const ending = endingOf(request, outer);
    underWay.add(ending);
    try {
      const { agent, request: send } = await wireTo(new URL(request.url).protocol === 'https:');
      const { method, headers, body } = request;
      const more = { agent, method, headers: { ...headers, 'accept-encoding': 'gzip' }, signal: ending.signal };
      const answer = await headed(send(request.url, more), body);
      // A body that nobody reads to its end must not bring the process down.
      answer.on('error', () => {});
      const head = headOf(answer);
      if (Number(head.headers['content-length'] ?? 0) > request.maxBytes) {
        answer.destroy();
        throw tooLarge(request.maxBytes);
      }
      return { ...head, chunks: read(answer, head, { ending, maxBytes: request.maxBytes }) };
    } catch (error) {
      release(ending);
      return failureOf(error, ending, false);
    }
  }

  function release(ending: Ending) {
    ending.release();
    underWay.delete(ending);
  }

  async function* read(body: Readable, head: HttpHead, { ending, maxBytes }: { ending: Ending; maxBytes: number }) {
    try {
      yield* inflated(body, head, maxBytes);
    } catch (error) {
      throw new HttpError(failureOf(error, ending, true));
    } finally {
      release(ending);
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
      const open = [...wires.values()];
      wires.clear();
      for (const wire of open) (await wire).agent.destroy();
    },
  };
}
