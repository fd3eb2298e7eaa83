/** Opens a GeoJSON file or stdin, plain or gzipped, as chunks for the import. */

import { open, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { explainReadError, JobError } from '../shared/command.ts';

export interface MapSource {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Bytes of `chunks`; unknown for gzip. */
  readonly total?: number;
}

const CHUNK_BYTES = 1 << 16;
/** The bytes that identify gzip. */
const GZIP_MAGIC_BYTES = 2;
const isGzip = (bytes: Uint8Array) => bytes[0] === 0x1f && bytes[1] === 0x8b;

/**
 * Reads the file through one reused buffer: new buffers are freed late, and those of a large map would fill memory.
 * The first read opens the file: an iteration that never starts has nothing to close.
 */
async function* readFileChunks(name: string): AsyncGenerator<Uint8Array> {
  const file = await open(name, 'r');
  try {
    const buffer = new Uint8Array(CHUNK_BYTES);
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, CHUNK_BYTES, null);
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

/** The stream keeps chunks that it has not inflated yet. */
async function* copyChunks(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) yield chunk.slice();
}

/** An error of either stream ends the iteration with that error; leaving the loop ends both streams. */
async function* gunzipChunks(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const source = Readable.from(copyChunks(chunks), { objectMode: false });
  const gunzip = createGunzip({ chunkSize: CHUNK_BYTES });
  source.on('error', (error) => gunzip.destroy(error));
  try {
    yield* source.pipe(gunzip);
  } finally {
    source.destroy();
    gunzip.destroy();
  }
}

/** The chunks, inflated when the first two bytes are those of gzip; a pipe may deliver them one by one. */
async function* gunzipIfNeeded(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const source = chunks[Symbol.asyncIterator]();
  try {
    let start = new Uint8Array(0);
    while (start.length < GZIP_MAGIC_BYTES) {
      const next = await source.next();
      if (next.done) break;
      start = new Uint8Array([...start, ...next.value]);
    }
    const all = (async function* () {
      yield start;
      yield* { [Symbol.asyncIterator]: () => source };
    })();
    yield* isGzip(start) ? gunzipChunks(all) : all;
  } finally {
    // A reader that leaves at the start has not begun the inner loop, which would close the source.
    await source.return?.();
  }
}

/** Bytes of the file; undefined for gzip, and for a pipe, whose bytes can be read only once. */
async function readPlainSize(name: string): Promise<number | undefined> {
  const found = await stat(name);
  if (!found.isFile() && !found.isDirectory()) return undefined;
  const file = await open(name, 'r');
  try {
    const start = new Uint8Array(GZIP_MAGIC_BYTES);
    await file.read(start, 0, GZIP_MAGIC_BYTES, 0);
    return isGzip(start) ? undefined : found.size;
  } finally {
    await file.close();
  }
}

/** Throws `JobError` when the file cannot be opened. */
export async function openMapSource(name: string, stdin: AsyncIterable<Uint8Array>): Promise<MapSource> {
  if (name === '-') return { chunks: gunzipIfNeeded(stdin) };
  try {
    const total = await readPlainSize(name);
    const chunks = gunzipIfNeeded(readFileChunks(name));
    return total === undefined ? { chunks } : { chunks, total };
  } catch (error) {
    throw new JobError(`${name}: ${explainReadError(error)}; name the file of a map, or - for the standard input`);
  }
}
