/** Carries one HTTP request within its deadline and its size cap, by undici; never follows a redirect, never judges an answer. */

import { pipeline, type Readable } from 'node:stream';
import { rootCertificates } from 'node:tls';
import { setFlagsFromString } from 'node:v8';
import { createGunzip } from 'node:zlib';
import type { Dispatcher } from 'undici';
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

/** What ends a request before its answer: the deadline or the caller. */
interface Ending {
  readonly signal: AbortSignal;
  /** Why it ended, when it was ended. */
  readonly why: () => HttpFailure | undefined;
  readonly release: () => void;
}

function endingOf({ deadline }: HttpRequest, outer: AbortSignal | undefined): Ending {
  const controller = new AbortController();
  let why: HttpFailure | undefined;
  const end = (failure: HttpFailure) => {
    why ??= failure;
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

function failureOf(error: unknown, { why }: Ending, hasHead: boolean): HttpFailure {
  const ended = why();
  if (ended !== undefined) return ended;
  if (error instanceof HttpError) return error.failure;
  const code = codeOf(error);
  // What has no code is no trouble of the network: a broken law.
  if (code === '') throw error;
  const cause = `${error instanceof Error ? error.message : String(error)} (${code})`;
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

function headOf(data: Dispatcher.ResponseData): HttpHead {
  const headers = Object.fromEntries(
    Object.entries(data.headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : `${value}`]),
  );
  const date = Date.parse(headers['date'] ?? '');
  return { status: data.statusCode, headers, ...(Number.isNaN(date) ? {} : { date: date as Instant }) };
}

interface Wire {
  readonly dispatcher: Dispatcher;
  readonly send: typeof import('undici').request;
}

/** Loaded at the first request: a command that asks nothing does not pay for it. */
async function openWire({ ca }: HttpOptions): Promise<Wire> {
  // The optimising compile of undici's WebAssembly parser peaks at 40 MB more and is never earned back here.
  setFlagsFromString('--liftoff-only');
  // The default is all of a CommonJS module, bundled or not.
  const { Agent, request } = (await import('undici')).default;
  const dispatcher = new Agent({
    connections: CONNECTIONS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    // One deadline covers the whole request: a body that drips would outlive these.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: CONNECT_TIMEOUT_MS, ...(ca === undefined ? {} : { ca: [...rootCertificates, ca] }) },
  });
  return { dispatcher, send: request };
}

export function createHttp(options: HttpOptions = {}): Http {
  let wire: Promise<Wire> | undefined;
  const opened = () => {
    wire ??= openWire(options);
    return wire;
  };

  /** The head and the body's chunks; the ending is released when the chunks are done with. */
  async function open(request: HttpRequest, outer?: AbortSignal): Promise<HttpStream | HttpFailure> {
    const insecure = insecurity(request.url);
    if (insecure !== undefined) return insecure;
    const ending = endingOf(request, outer);
    try {
      const { dispatcher, send } = await opened();
      const data = await send(request.url, {
        dispatcher,
        method: request.method,
        headers: { ...request.headers, 'accept-encoding': 'gzip' },
        body: request.body ?? null,
        signal: ending.signal,
      });
      // A body that nobody reads to its end must not bring the process down.
      data.body.on('error', () => {});
      const head = headOf(data);
      if (Number(head.headers['content-length'] ?? 0) > request.maxBytes) {
        data.body.destroy();
        throw tooLarge(request.maxBytes);
      }
      return { ...head, chunks: read(data.body, head, { ending, maxBytes: request.maxBytes }) };
    } catch (error) {
      ending.release();
      return failureOf(error, ending, false);
    }
  }

  async function* read(body: Readable, head: HttpHead, { ending, maxBytes }: { ending: Ending; maxBytes: number }) {
    try {
      yield* inflated(body, head, maxBytes);
    } catch (error) {
      throw new HttpError(failureOf(error, ending, true));
    } finally {
      ending.release();
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
      const open = wire;
      wire = undefined;
      await (await open)?.dispatcher.destroy();
    },
  };
}
