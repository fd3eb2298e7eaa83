/** Opens a GeoJSON file, plain or gzipped, or stdin, as chunks for the import. Looks at two bytes and no further. */

import { open, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { fileErrorText, JobError } from '../shared/command.ts';

export interface MapSource {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Bytes of `chunks`, where known: how large a gzipped map becomes, nobody says. */
  readonly total?: number;
}

const CHUNK_BYTES = 1 << 16;
/** Bytes that tell gzip. */
const GZIP_MAGIC_BYTES = 2;
const isGzip = (bytes: Uint8Array) => bytes[0] === 0x1f && bytes[1] === 0x8b;

/**
 * The file through one buffer that is used again: fresh ones are freed late, and a large map would fill memory with them.
 * It is opened by the first who reads: an iteration that was never begun closes nothing.
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

/** The stream keeps chunks it has not inflated yet. */
async function* copyChunks(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) yield chunk.slice();
}

/** An error on either side ends the reading with that error, and leaving the loop ends both. */
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

/** The chunks themselves, or inflated when the first two bytes are those of gzip; a pipe may hand them over one by one. */
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
    // Who has enough with the start has not come to the rest, which would end the source.
    await source.return?.();
  }
}

/** Bytes of the file; undefined for a gzipped one and for a pipe: what is looked at in one is gone from it. */
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
    throw new JobError(`${name}: ${fileErrorText(error)}`);
  }
}
