/** Inflates the body of an answer and caps its size before and after: a small body may inflate to a thousand times its size. */

import { pipeline, type Readable } from 'node:stream';
import { createGunzip, gunzipSync } from 'node:zlib';
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

/** Throws for an encoding that was not asked for. */
function isGzipped({ headers }: HttpResponseHead): boolean {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  if (encoding === 'identity' || encoding === '') return false;
  if (encoding === 'gzip' || encoding === 'x-gzip') return true;
  throw new HttpError({ kind: 'bad-encoding', cause: `content-encoding ${encoding} was not asked for` });
}

export type InflateBody = (body: Readable, head: HttpResponseHead, maxBytes: number) => AsyncIterable<Uint8Array>;

/** As it arrives. */
export const inflateStream: InflateBody = (body, head, maxBytes) => {
  if (!isGzipped(head)) return capBytes(body, maxBytes);
  const gunzip = createGunzip();
  // Errors of either end reach the reader of gunzip, and leaving it destroys the body.
  pipeline(
    body,
    (source: AsyncIterable<Uint8Array>) => capBytes(source, maxBytes),
    gunzip,
    () => {},
  );
  return capBytes(gunzip, maxBytes);
};

function gunzipWhole(bytes: Uint8Array, maxBytes: number): Uint8Array {
  try {
    return gunzipSync(bytes, { maxOutputLength: maxBytes });
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE')
      throw buildTooLargeError(maxBytes);
    throw error;
  }
}

/** In one chunk once it is whole: each piece of a stream would wake a thread and this one again. */
export const inflateWhole: InflateBody = async function* (body, head, maxBytes) {
  const gzipped = isGzipped(head);
  const parts: Uint8Array[] = [];
  for await (const chunk of capBytes(body, maxBytes)) parts.push(chunk);
  const bytes = Buffer.concat(parts);
  yield gzipped ? gunzipWhole(bytes, maxBytes) : bytes;
};
