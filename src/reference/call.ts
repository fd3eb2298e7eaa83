/** From a request on the wire to the call that the paths see, or its refusal when it is too large. Answers nothing else. */

import type { IncomingMessage } from 'node:http';
import { type Answer, refusal } from './answer.ts';
import type { Call } from './service.ts';
import { V1 } from './v1.ts';

const MOST_BODY = 64 * 1024;
/** Below what node:http itself would take, so that the refusal has words. */
const MOST_URL = 8 * 1024;

/** The whole body, or undefined when it is too long. */
async function bodyOf(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MOST_BODY * 16) return undefined;
    // A little too much is read to its end, so that the refusal can be heard.
    if (length <= MOST_BODY) chunks.push(chunk);
  }
  return length > MOST_BODY ? undefined : Buffer.concat(chunks);
}

/** The call of a request, or the refusal of one that is too large. */
export async function callOf(request: IncomingMessage, now: number): Promise<Call | Answer> {
  const target = request.url ?? '/';
  if (target.length > MOST_URL)
    return refusal(414, 'uri_too_long', `The address has more than ${MOST_URL} characters.`);
  const body = await bodyOf(request);
  if (body === undefined)
    return refusal(413, 'too_large', `The body has more than ${MOST_BODY} bytes.`, { connection: 'close' });
  const cut = target.indexOf('?');
  const path = cut < 0 ? target : target.slice(0, cut);
  const scheme = 'encrypted' in request.socket ? 'https' : 'http';
  return {
    method: request.method ?? 'GET',
    // The earlier interface ends every path in a slash; the others are known with one and without.
    path: path.startsWith(V1) ? path : path.replace(/(.)\/$/, '$1'),
    query: new URLSearchParams(cut < 0 ? '' : target.slice(cut + 1)),
    headers: request.headers,
    body,
    now,
    address: request.socket.remoteAddress ?? '',
    origin: `${scheme}://${request.headers.host ?? 'localhost'}`,
  };
}
