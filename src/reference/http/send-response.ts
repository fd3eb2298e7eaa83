/** Puts an answer on the wire: gzip for who accepts it, 304 for who holds it, no body to HEAD, pieces at the reader's pace. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip, gzipSync } from 'node:zlib';
import type { ApiResponse } from './response.ts';

/** Shorter bodies gain nothing. */
const MIN_GZIP_BYTES = 1_024;

/** A long body is written in slices, so that the pace of its reader can be seen. */
const SLICE_BYTES = 65_536;

function* sliceBytes(bytes: Buffer): Generator<Buffer> {
  for (let from = 0; from < bytes.length; from += SLICE_BYTES) yield bytes.subarray(from, from + SLICE_BYTES);
}

/** Whether gzip is wanted at least as much as no coding (RFC 9110, 12.5.3). */
function acceptsGzip(request: IncomingMessage): boolean {
  const header = request.headers['accept-encoding'];
  if (header === undefined) return false;
  const weights = new Map(
    String(header)
      .toLowerCase()
      .split(',')
      .map((part) => {
        const [coding = '', ...parameters] = part.split(';').map((word) => word.trim());
        const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1';
        return [coding, Number(weight) || 0] as const;
      }),
  );
  const wanted = weights.get('gzip') ?? weights.get('x-gzip') ?? weights.get('*') ?? 0;
  return wanted > 0 && wanted >= (weights.get('identity') ?? 0);
}

/** Whether the client names the tag of this answer, by the weak comparison (RFC 9110, 13.1.2). */
function isCachedByClient(request: IncomingMessage, { status, headers }: ApiResponse): boolean {
  const known = request.headers['if-none-match'];
  const tag = headers?.etag;
  if (tag === undefined || known === undefined || status !== 200) return false;
  const opaque = (text: string) => text.trim().replace(/^W\//, '');
  return known.split(',').some((each) => opaque(each) === '*' || opaque(each) === opaque(tag));
}

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
  response.statusCode = answer.status;
  response.setHeader('vary', 'accept-encoding');
  for (const [name, value] of Object.entries(answer.headers ?? {})) response.setHeader(name, value);
  if (isCachedByClient(request, answer)) {
    response.statusCode = 304;
    response.end();
    return;
  }
  if (answer.status === 204) {
    response.end();
    return;
  }
  response.setHeader('content-type', body.kind === 'text' ? body.type : 'application/json; charset=utf-8');

  const gzip = acceptsGzip(request);
  if (body.kind === 'pieces') {
    if (gzip) response.setHeader('content-encoding', 'gzip');
    const pieces = Readable.from(request.method === 'HEAD' ? [] : body.pieces);
    await (gzip && request.method !== 'HEAD' ? pipeline(pieces, createGzip(), response) : pipeline(pieces, response));
    return;
  }
  const plain = body.kind === 'ready' ? body.bytes : Buffer.from(formatBody(answer));
  const zipped = gzip && plain.length >= MIN_GZIP_BYTES;
  const bytes = zipped ? (body.kind === 'ready' ? body.gzipped() : gzipSync(plain)) : plain;
  if (zipped) response.setHeader('content-encoding', 'gzip');
  response.setHeader('content-length', bytes.length);
  if (request.method === 'HEAD') response.end();
  else if (bytes.length <= SLICE_BYTES) response.end(bytes);
  else await pipeline(Readable.from(sliceBytes(bytes)), response);
}
