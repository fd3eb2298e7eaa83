/** Answers what node:http cannot read as a request: broken framing, a request that is too slow or too long, and CONNECT. */

import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { errorResponse } from './response.ts';
import { formatBody } from './send-response.ts';

interface Refusal {
  readonly status: number;
  readonly error: string;
  readonly message: string;
}

const MALFORMED: Refusal = { status: 400, error: 'bad_request', message: 'These bytes are no HTTP/1.1 request.' };
const NO_TUNNEL: Refusal = { status: 501, error: 'not_implemented', message: 'The service is no proxy: no CONNECT.' };
const refusals: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: { status: 431, error: 'headers_too_large', message: 'The headers are too long.' },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: 413, error: 'too_large', message: 'The chunk extensions are too long.' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, error: 'too_slow', message: 'The request did not arrive in time.' },
};

function formatRefusal({ status, error, message }: Refusal, headers: Readonly<Record<string, string>>): string {
  const body = formatBody(errorResponse(status, error, message));
  const lines = Object.entries({
    ...headers,
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  }).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body].join('\r\n');
}

/**
 * With the headers of every answer (RFC 9110, 6.6.1 wants a `Date`). Where the answer of another request of the connection is still
 * due, the connection ends without a word: the client would take the refusal for that answer.
 */
export function answerUnreadable(server: Server, buildHeaders: (status: number) => Readonly<Record<string, string>>) {
  const newest = new WeakMap<Duplex, { readonly request: IncomingMessage; readonly response: ServerResponse }>();
  const isDueRefusal = (socket: Duplex) => {
    const { request, response } = newest.get(socket) ?? {};
    if (request === undefined || response === undefined || response.writableFinished) return true;
    return !request.complete && response.socket !== null && !response.headersSent;
  };
  const refuse = (socket: Duplex, refusal: Refusal) => {
    socket.on('error', () => {});
    if (!socket.writable || !isDueRefusal(socket)) socket.destroy();
    else socket.end(formatRefusal(refusal, buildHeaders(refusal.status)), () => socket.destroy());
  };
  server.on('request', (request, response) => newest.set(request.socket, { request, response }));
  server.on('connect', (_, socket) => refuse(socket, NO_TUNNEL));
  server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
    refuse(socket, refusals[error.code ?? ''] ?? MALFORMED),
  );
}
