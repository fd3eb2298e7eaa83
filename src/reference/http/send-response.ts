/** Puts an answer on the wire: headers on the service's clock, gzip for who asks, pieces at the reader's pace. Decides no content. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { PassThrough, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip, gzipSync } from 'node:zlib';
import type { ApiResponse } from './response.ts';

/** Shorter bodies gain nothing. */
const MIN_GZIP_BYTES = 1_024;

const acceptsGzip = (request: IncomingMessage) =>
  /(^|[\s,])(gzip|\*)\s*(;\s*q=(1(\.0*)?|0\.\d*[1-9]\d*)\s*)?\s*(,|$)/i.test(
    String(request.headers['accept-encoding'] ?? ''),
  );

/** The body as one text, for whoever must change it. */
export function formatBody({ body }: ApiResponse): string {
  switch (body.kind) {
    case 'json':
      return JSON.stringify(body.value);
    case 'text':
      return body.text;
    case 'ready':
      return body.bytes.toString('utf8');
    case 'pieces':
      return [...body.pieces].join('');
  }
}

export async function sendResponse(
  request: IncomingMessage,
  response: ServerResponse,
  answer: ApiResponse,
): Promise<void> {
  const { body } = answer;
  const gzip = acceptsGzip(request);
  response.statusCode = answer.status;
  response.setHeader('content-type', body.kind === 'text' ? body.type : 'application/json; charset=utf-8');
  response.setHeader('vary', 'accept-encoding');
  for (const [name, value] of Object.entries(answer.headers ?? {})) response.setHeader(name, value);

  if (body.kind === 'pieces') {
    const pieces = Readable.from(body.pieces);
    if (gzip) response.setHeader('content-encoding', 'gzip');
    await pipeline(pieces, gzip ? createGzip() : new PassThrough(), response);
    return;
  }
  const plain = body.kind === 'ready' ? body.bytes : Buffer.from(formatBody(answer));
  const zipped = gzip && plain.length >= MIN_GZIP_BYTES;
  const bytes = zipped ? (body.kind === 'ready' ? body.gzipped : gzipSync(plain)) : plain;
  if (zipped) response.setHeader('content-encoding', 'gzip');
  response.setHeader('content-length', bytes.length);
  response.end(bytes);
}
