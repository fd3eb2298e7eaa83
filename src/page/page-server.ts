/** The HTTP server of the page: its files, its event stream, commands and metrics, within strict limits. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { PageFile } from './page-files.ts';
import { createRequestGuard, type RequestGuardOptions } from './request-guard.ts';

export interface CommandAnswer {
  readonly ok: boolean;
  readonly message: string;
}

export interface PageServerParts extends RequestGuardOptions {
  /** By path. */
  readonly files: ReadonlyMap<string, PageFile>;
  /** All documents, by topic below the device. */
  readonly documents: () => Readonly<Record<string, unknown>>;
  /** Calls `onChange` at most once a second with the documents that have changed. Returns the end of it. */
  readonly watch: (onChange: (changed: Readonly<Record<string, unknown>>) => void) => () => void;
  readonly sendCommand: (load: string, command: unknown) => Promise<CommandAnswer>;
  /** Other texts, made when they are asked for. */
  readonly texts: Readonly<Record<string, () => Promise<{ readonly type: string; readonly text: string }>>>;
}

export interface PageServer {
  listen(port: number, host: string): Promise<{ readonly port: number }>;
  close(): Promise<void>;
}

const MAX_BODY_BYTES = 1_024;
const MAX_CONNECTIONS = 64;
const MAX_STREAMS = 24;
/** Of one reader that does not read. */
const MAX_UNREAD_BYTES = 512 * 1_024;
/** Proxies and phones end a stream that is silent. */
const HEARTBEAT_MILLISECONDS = 20_000;

const SECURITY_HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
};

function sendText(response: ServerResponse, status: number, text: string, headers: Record<string, string> = {}): void {
  const body = Buffer.from(text);
  response.writeHead(status, {
    ...SECURITY_HEADERS,
    'content-type': 'text/plain; charset=utf-8',
    'cache-control': 'no-store',
    'content-length': `${body.byteLength}`,
    ...headers,
  });
  response.end(body);
}

const sendJson = (response: ServerResponse, status: number, document: unknown) =>
  sendText(response, status, JSON.stringify(document), { 'content-type': 'application/json; charset=utf-8' });

function sendFile(request: IncomingMessage, response: ServerResponse, file: PageFile): void {
  const { type, etag, plain, gzip } = file;
  const common = { ...SECURITY_HEADERS, etag, 'cache-control': 'no-cache', vary: 'accept-encoding' };
  if (request.headers['if-none-match'] === etag) {
    response.writeHead(304, common);
    response.end();
    return;
  }
  const isGzip = /\bgzip\b/.test(`${request.headers['accept-encoding'] ?? ''}`);
  const body = isGzip ? gzip : plain;
  response.writeHead(200, {
    ...common,
    'content-type': type,
    'content-length': `${body.byteLength}`,
    ...(isGzip ? { 'content-encoding': 'gzip' } : {}),
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}

/** Undefined when it is too long or no JSON. */
async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of request) {
      length += (chunk as Buffer).byteLength;
      if (length > MAX_BODY_BYTES) return undefined;
      chunks.push(chunk as Buffer);
    }
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    return undefined;
  }
}

/** Streams the documents to one browser: all of them, then those that change. */
function streamDocuments(response: ServerResponse, { documents, watch }: PageServerParts, onEnd: () => void): void {
  response.writeHead(200, {
    ...SECURITY_HEADERS,
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
  });
  const send = (text: string): void => {
    if (response.writableLength > MAX_UNREAD_BYTES) response.destroy();
    else response.write(text);
  };
  const sendDocuments = (name: string, changed: object) => send(`event: ${name}\ndata: ${JSON.stringify(changed)}\n\n`);
  sendDocuments('all', documents());
  const unwatch = watch((changed) => sendDocuments('changed', changed));
  const heartbeat = setInterval(() => send(': \n\n'), HEARTBEAT_MILLISECONDS);
  response.once('close', () => {
    unwatch();
    clearInterval(heartbeat);
    onEnd();
  });
}

async function answerCommand(request: IncomingMessage, response: ServerResponse, load: string, parts: PageServerParts) {
  const command = await readJson(request);
  if (typeof command !== 'object' || command === null || Array.isArray(command))
    return sendText(response, 400, `expected a JSON object of at most ${MAX_BODY_BYTES} bytes`, {
      connection: 'close',
    });
  const answer = await parts.sendCommand(load, command);
  sendJson(response, answer.ok ? 200 : 409, answer);
}

export function createPageServer(parts: PageServerParts): PageServer {
  const guard = createRequestGuard(parts);
  let streams = 0;

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = '', url = '', headers, socket } = request;
    const { localAddress = '', remoteAddress = '' } = socket;
    const refusal = guard.check({ method, headers, localAddress, remoteAddress });
    if (refusal !== undefined)
      return sendText(response, refusal.status, `${refusal.text}\n`, { connection: 'close', ...refusal.headers });
    const [path = ''] = url.split('?');
    const load = /^\/loads\/([a-z0-9_-]{1,64})\/set$/.exec(path)?.[1];
    if (method === 'POST')
      return load === undefined
        ? sendText(response, 404, 'not found\n', { connection: 'close' })
        : answerCommand(request, response, load, parts);
    const file = parts.files.get(path === '/' ? '/index.html' : path);
    if (file !== undefined) return sendFile(request, response, file);
    if (path === '/documents.json') return sendJson(response, 200, parts.documents());
    const text = Object.hasOwn(parts.texts, path) ? await parts.texts[path]?.() : undefined;
    if (text !== undefined) return sendText(response, 200, text.text, { 'content-type': text.type });
    if (path !== '/events') return sendText(response, 404, 'not found\n');
    if (streams >= MAX_STREAMS)
      return sendText(response, 503, `${MAX_STREAMS} browsers watch already\n`, { 'retry-after': '60' });
    streams += 1;
    streamDocuments(response, parts, () => {
      streams -= 1;
    });
  };

  const { createServer } = process.getBuiltinModule('node:http');
  const server = createServer(
    { maxHeaderSize: 8_192, headersTimeout: 5_000, requestTimeout: 10_000, connectionsCheckingInterval: 1_000 },
    (request, response) => {
      answer(request, response).catch(() => response.destroy());
    },
  );
  server.keepAliveTimeout = 5_000;
  server.maxConnections = MAX_CONNECTIONS;
  server.on('clientError', (_, socket) => socket.destroy());

  return {
    listen: (port, host) =>
      new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen(port, host, () => resolve({ port: (server.address() as AddressInfo).port }));
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
