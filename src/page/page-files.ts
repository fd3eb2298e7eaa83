/** Reads the files of the page that the build has made, each plain and compressed. */

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

export interface PageFile {
  readonly type: string;
  readonly etag: string;
  readonly plain: Uint8Array;
  readonly gzip: Uint8Array;
}

const TYPES: Readonly<Record<string, string>> = {
  'index.html': 'text/html; charset=utf-8',
  'page.css': 'text/css; charset=utf-8',
  'page.js': 'text/javascript; charset=utf-8',
  'icon.svg': 'image/svg+xml',
};

/** By the path under which each is served. Rejects when the program was not built. */
export async function readPageFiles(directory: string): Promise<ReadonlyMap<string, PageFile>> {
  const files = new Map<string, PageFile>();
  for (const [name, type] of Object.entries(TYPES)) {
    const plain = await readFile(join(directory, name));
    const etag = `"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"`;
    files.set(`/${name}`, { type, etag, plain, gzip: gzipSync(plain, { level: 9 }) });
  }
  return files;
}
