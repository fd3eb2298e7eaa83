/** Inflates the body of an answer and caps its size before and after: a small body may inflate to a thousand times its size. */

import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { HttpError, type HttpResponseHead } from '../domain/ports.ts';

export const buildTooLargeError = (maxBytes: number) =>
  new HttpError({ kind: 'too-large', cause: `the body is larger than ${maxBytes} bytes` });

async function* capBytes(source: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of source) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw buildTooLargeError(maxBytes);
    yield chunk;
  }
}

export function inflateBody(
  body: Readable,
  { headers }: HttpResponseHead,
  maxBytes: number,
): AsyncIterable<Uint8Array> {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  if (encoding === 'identity' || encoding === '') return capBytes(body, maxBytes);
  if (encoding !== 'gzip' && encoding !== 'x-gzip')
    throw new HttpError({ kind: 'bad-encoding', cause: `content-encoding ${encoding} was not asked for` });
  const gunzip = createGunzip();
  // Errors of either end reach the reader of gunzip, and leaving it destroys the body.
  pipeline(
    body,
    (source: AsyncIterable<Uint8Array>) => capBytes(source, maxBytes),
    gunzip,
    () => {},
  );
  return capBytes(gunzip, maxBytes);
}
