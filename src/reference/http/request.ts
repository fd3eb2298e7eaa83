/** Reads a request from the wire: its target, its query and its body; what is too large or ambiguous becomes the refusal. */

import type { IncomingMessage } from 'node:http';
import { V1_PREFIX } from './methods.ts';
import { type ApiResponse, badRequest, errorResponse } from './response.ts';
import type { ApiRequest } from './route-types.ts';

const MAX_BODY_BYTES = 64 * 1024;
/** A body that is longer still ends the connection. */
const MAX_READ_BYTES = 16 * MAX_BODY_BYTES;
/** Below what node:http itself would take, so that the refusal has words. */
const MAX_TARGET_LENGTH = 8 * 1024;
const NO_BODY = Buffer.alloc(0);
/** A name or an address, and perhaps a port; empty where the target has no host. */
const HOST_PATTERN = /^(?:\[[\da-f:.]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/i;

/** The whole body, or undefined when it is too long. */
async function readRequestBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
  if (length === undefined && encoding === undefined) return NO_BODY;
  if (Number(length ?? 0) > MAX_READ_BYTES) return undefined;
  const chunks: Buffer[] = [];
  let received = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    received += chunk.length;
    if (received > MAX_READ_BYTES) return undefined;
    // A body that is a little too long is read to its end, so that the client reads the refusal.
    if (received <= MAX_BODY_BYTES) chunks.push(chunk);
  }
  return received > MAX_BODY_BYTES ? undefined : Buffer.concat(chunks);
}

/** Path and query of a target; in absolute form (RFC 9112, 3.2.2) the scheme and the authority say nothing new. */
function splitTarget(target: string): readonly [path: string, query: string] {
  const relative = target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?]*/i, '') || '/';
  const queryStart = relative.indexOf('?');
  const path = queryStart < 0 ? relative : relative.slice(0, queryStart);
  return [path === '' ? '/' : path, queryStart < 0 ? '' : relative.slice(queryStart + 1)];
}

/** A header whose second value another reader of the request might follow. */
function findRepeatedHeader({ rawHeaders }: IncomingMessage): string | undefined {
  const seen = new Set<string>();
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]?.toLowerCase() ?? '';
    if (name !== 'host' && name !== 'authorization') continue;
    if (seen.has(name)) return name;
    seen.add(name);
  }
  return undefined;
}

const refuseHeader = (name: string, message: string) =>
  badRequest([{ in: 'header', name, message, kind: 'value_error' }]);

/** The refusal of headers that cannot be, or that two readers could understand in two ways. */
function findHeaderRefusal(request: IncomingMessage): ApiResponse | undefined {
  const repeated = findRepeatedHeader(request);
  if (repeated !== undefined) return refuseHeader(repeated, 'is given more than once');
  // RFC 9112, 3.2.
  const { host } = request.headers;
  if (host === undefined && request.httpVersion !== '1.0') return refuseHeader('host', 'field required');
  if (!HOST_PATTERN.test(host ?? '')) return refuseHeader('host', 'is neither a name nor an address');
  const coding = request.headers['transfer-encoding']?.trim().toLowerCase();
  if (coding === undefined) return undefined;
  // RFC 9112, 6.1.
  const headers = { connection: 'close' };
  if (request.httpVersion === '1.0') return { ...refuseHeader('transfer-encoding', 'is unknown to HTTP/1.0'), headers };
  return coding === 'chunked'
    ? undefined
    : errorResponse(501, 'not_implemented', 'The service reads no transfer coding but chunked.', headers);
}

/** The request, or the refusal of one that is too large or ambiguous. */
export async function readRequest(
  request: IncomingMessage,
  { now, origin }: Pick<ApiRequest, 'now' | 'origin'>,
): Promise<ApiRequest | ApiResponse> {
  const target = request.url ?? '/';
  if (target.length > MAX_TARGET_LENGTH)
    return errorResponse(414, 'uri_too_long', `The address has more than ${MAX_TARGET_LENGTH} characters.`);
  const refusal = findHeaderRefusal(request);
  if (refusal !== undefined) return refusal;
  const body = await readRequestBody(request);
  if (body === undefined)
    return errorResponse(413, 'too_large', `The body has more than ${MAX_BODY_BYTES} bytes.`, { connection: 'close' });
  const [path, query] = splitTarget(target);
  return {
    method: request.method ?? 'GET',
    // Paths of v1 end in a slash; the others are known with one and without.
    path: path.startsWith(V1_PREFIX) || path.length < 2 || !path.endsWith('/') ? path : path.slice(0, -1),
    query: new URLSearchParams(query),
    headers: request.headers,
    body,
    now,
    // An IPv4 client of a service that listens on IPv6 too.
    address: (request.socket.remoteAddress ?? '').replace(/^::ffff:/, ''),
    origin,
  };
}
