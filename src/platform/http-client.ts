/** Sends requests through undici, each with a deadline and a size cap; never follows a redirect. */

import type { Readable } from 'node:stream';
import type { Agent, Dispatcher } from 'undici';
import { watchAbort } from '../domain/abortable-wait.ts';
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
import { buildTooLargeError, type InflateBody, inflateStream, inflateWhole } from './http-body.ts';
import { toHttpFailure } from './http-error.ts';

export interface HttpOptions {
  /** PEM of a certificate authority to trust beside the usual ones. */
  readonly ca?: string;
}

/** Requests to one origin at once; more wait. */
const MAX_CONNECTIONS = 6;
const CONNECT_TIMEOUT_MS = 10_000;
/** Short, so that a connection is rarely reused just as the other side drops it. */
const KEEP_ALIVE_MS = 4_000;
const MAX_HEADER_BYTES = 16_384;

/** Loaded at the first request: a command that requests nothing does not pay for it. */
async function loadAgent({ ca }: HttpOptions): Promise<Agent> {
  // The parser is WebAssembly where V8 has it: its optimising compiler would take 13 MB for a few kilobytes of answers.
  if (Reflect.has(globalThis, 'WebAssembly')) process.getBuiltinModule('node:v8').setFlagsFromString('--liftoff-only');
  // The default is the module in Node and in a bundle's chunk alike; its names are not.
  const { Agent } = (await import('undici')).default;
  const roots = ca === undefined ? {} : { ca: [...process.getBuiltinModule('node:tls').rootCertificates, ca] };
  return new Agent({
    connections: MAX_CONNECTIONS,
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
    // Each request has one deadline of its own: those of undici are for a phase, and wake the process up.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: CONNECT_TIMEOUT_MS, ...roots },
  });
}

/** What ends a request before its answer: the deadline, the caller, or that the client is closed. */
interface RequestAbort {
  readonly signal: AbortSignal;
  readonly stop: () => void;
  readonly release: () => void;
}

function createRequestAbort({ deadline }: HttpRequest, outer: AbortSignal | undefined): RequestAbort {
  const controller = new AbortController();
  const end = (failure: HttpFailure) => {
    // An answer without a reader is never released: its deadline must not keep an ending process alive.
    clearTimeout(timer);
    controller.abort(new HttpError(failure));
  };
  const stop = () => end({ kind: 'stopped', cause: 'the request was stopped' });
  const timer = setTimeout(
    () => end({ kind: 'deadline', cause: `no whole answer within ${deadline / 1_000} s` }),
    deadline,
  );
  const unwatch = outer === undefined ? () => {} : watchAbort(outer, stop);
  const release = () => {
    clearTimeout(timer);
    unwatch();
  };
  return { signal: controller.signal, stop, release };
}

/** All access is over HTTPS (specification 5); plain HTTP stays inside this machine, but for devices whose owner allows it. */
function findInsecurity({ url: address, allowsPlainHttp = false }: HttpRequest): HttpFailure | undefined {
  if (!URL.canParse(address)) return { kind: 'insecure', cause: `${address} is not an address` };
  const url = new URL(address);
  if (url.username !== '' || url.password !== '')
    return { kind: 'insecure', cause: `the address of ${url.host} holds a user name or password` };
  if (url.protocol === 'https:' || (url.protocol === 'http:' && (allowsPlainHttp || isLoopback(url.hostname))))
    return undefined;
  return {
    kind: 'insecure',
    cause: `${url.origin} is not https, and plain http is for loopback and devices with allowPlainHttp only`,
  };
}

function parseHead({ statusCode, headers: received }: Dispatcher.ResponseData): HttpResponseHead {
  const headers = Object.fromEntries(
    Object.entries(received).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : `${value}`]),
  );
  const date = Date.parse(headers.date ?? '');
  return { status: statusCode, headers, ...(Number.isNaN(date) ? {} : { date: date as Instant }) };
}

/** The answer, or the reason of the abort at once: undici looks at the signal of a queued request only when its turn comes. */
async function sendRequest(agent: Agent, request: HttpRequest, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
  signal.throwIfAborted();
  const { origin, pathname, search } = new URL(request.url);
  const { silence } = request;
  const answer = agent.request({
    ...(silence === undefined ? {} : { headersTimeout: silence, bodyTimeout: silence }),
    origin,
    path: `${pathname}${search}`,
    method: request.method,
    headers: { ...request.headers, 'accept-encoding': 'gzip' },
    ...(request.body === undefined ? {} : { body: request.body }),
    signal,
  });
  // A body that is not read to its end must not end the process.
  const quiet = answer.then(
    ({ body }) => body.on('error', () => {}),
    () => undefined,
  );
  let unwatch = () => {};
  const aborted = new Promise<never>((_, reject) => {
    unwatch = watchAbort(signal, () => {
      void quiet.then((body) => body?.destroy());
      reject(signal.reason);
    });
  });
  try {
    return await Promise.race([answer, aborted]);
  } finally {
    unwatch();
  }
}

interface ReadOptions {
  readonly signal: AbortSignal;
  readonly maxBytes: number;
  readonly inflate: InflateBody;
  readonly release: () => void;
}

/** The inflated chunks; `release` runs when they are done with, however that comes. */
async function* readBody(body: Readable, head: HttpResponseHead, { signal, maxBytes, inflate, release }: ReadOptions) {
  try {
    yield* inflate(body, head, maxBytes);
    // undici frees the connection a turn later: a request sent at once would open another.
    await new Promise((resume) => setImmediate(resume));
  } catch (error) {
    throw new HttpError(toHttpFailure(signal.aborted ? signal.reason : error, true));
  } finally {
    release();
    body.destroy();
  }
}

async function readWhole({ chunks, ...head }: HttpStream) {
  try {
    const parts: Uint8Array[] = [];
    for await (const chunk of chunks) parts.push(chunk);
    return { ...head, body: Buffer.concat(parts) };
  } catch (error) {
    if (error instanceof HttpError) return error.failure;
    throw error;
  }
}

export function createHttp(options: HttpOptions = {}): Http {
  const underWay = new Set<RequestAbort>();
  let agent: Promise<Agent> | undefined;

  async function open(
    request: HttpRequest,
    inflate: InflateBody,
    outer?: AbortSignal,
  ): Promise<HttpStream | HttpFailure> {
    const insecure = findInsecurity(request);
    if (insecure !== undefined) return insecure;
    const abort = createRequestAbort(request, outer);
    const { signal } = abort;
    const release = () => {
      abort.release();
      underWay.delete(abort);
    };
    underWay.add(abort);
    try {
      agent ??= loadAgent(options);
      const answer = await sendRequest(await agent, request, signal);
      const head = parseHead(answer);
      const { maxBytes } = request;
      if (Number(head.headers['content-length'] ?? 0) > maxBytes) {
        answer.body.destroy();
        throw buildTooLargeError(maxBytes);
      }
      return { ...head, chunks: readBody(answer.body, head, { signal, maxBytes, inflate, release }) };
    } catch (error) {
      release();
      return toHttpFailure(signal.aborted ? signal.reason : error, false);
    }
  }

  return {
    stream: (request, outer) => open(request, inflateStream, outer),
    async request(request, outer) {
      const stream = await open(request, inflateWhole, outer);
      return 'kind' in stream ? stream : readWhole(stream);
    },
    async close() {
      for (const { stop } of underWay) stop();
      const open = agent;
      agent = undefined;
      await (await open)?.destroy();
    },
  };
}
