/** From a request on the wire to the call that the paths see, or its refusal when it is too large. Answers nothing else. */

import type { IncomingMessage } from 'node:http';
import { V1_PREFIX } from '../routes/v1-routes.ts';
import { type ApiResponse, errorResponse } from './response.ts';
import type { ApiRequest } from './route-types.ts';

const MAX_BODY_BYTES = 64 * 1024;
/** Below what node:http itself would take, so that the refusal has words. */
const MAX_TARGET_LENGTH = 8 * 1024;

/** The whole body, or undefined when it is too long. */
async function readRequestBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MAX_BODY_BYTES * 16) return undefined;
    // A little too much is read to its end, so that the refusal can be heard.
    if (length <= MAX_BODY_BYTES) chunks.push(chunk);
  }
  return length > MAX_BODY_BYTES ? undefined : Buffer.concat(chunks);
}

/** The call of a request, or the refusal of one that is too large. */
export async function readRequest(request: IncomingMessage, now: number): Promise<ApiRequest | ApiResponse> {
  const target = request.url ?? '/';
  if (target.length > MAX_TARGET_LENGTH)
    return errorResponse(414, 'uri_too_long', `The address has more than ${MAX_TARGET_LENGTH} characters.`);
  const body = await readRequestBody(request);
  if (body === undefined)
    return errorResponse(413, 'too_large', `The body has more than ${MAX_BODY_BYTES} bytes.`, { connection: 'close' });
  const queryStart = target.indexOf('?');
  const path = queryStart < 0 ? target : target.slice(0, queryStart);
  const scheme = 'encrypted' in request.socket ? 'https' : 'http';
  return {
    method: request.method ?? 'GET',
    // The earlier interface ends every path in a slash; the others are known with one and without.
    path: path.startsWith(V1_PREFIX) ? path : path.replace(/(.)\/$/, '$1'),
    query: new URLSearchParams(queryStart < 0 ? '' : target.slice(queryStart + 1)),
    headers: request.headers,
    body,
    now,
    address: request.socket.remoteAddress ?? '',
    origin: `${scheme}://${request.headers.host ?? 'localhost'}`,
  };
}
