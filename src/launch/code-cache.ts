/** The code cache of an installation: V8's bytecode of each file of the program under a checksum, trusted only where the superuser alone writes. */

import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const SUM_BYTES = 4;
const SUPERUSER = 0;
const WRITABLE_BY_OTHERS = 0o022;
/** In the directory of the cache: for whom it was made. */
const MAKER = 'made-for';

/** V8 takes bytecode of its own version and flags only. */
const describeProcess = () => ['node', process.version, process.arch, ...process.execArgv].join(' ');

/** The file is named in the sum, so that no file stands for another. */
function computeSum(name: string, code: Uint8Array): number {
  // Loaded only where there is a cache: the agent needs it anyway, and node:crypto would cost a start 15 ms.
  const { crc32 } = process.getBuiltinModule('node:zlib');
  return crc32(code, crc32(name));
}

/** V8 does not verify bytecode: whoever writes it commands the process. */
function isWritableByOthers(path: string): boolean {
  const { uid, mode } = statSync(path);
  return uid !== SUPERUSER || (mode & WRITABLE_BY_OTHERS) !== 0;
}

/** In words why bytecode is refused. */
export interface CacheRefusal {
  readonly refused: string;
}

export interface CodeCache {
  /** The bytecode of a file; undefined where there is none. */
  read(name: string): Buffer | CacheRefusal | undefined;
}

/** Undefined where there is no cache. */
export function openCodeCache(directory: string): CodeCache | CacheRefusal | undefined {
  const attempt = <Result>(path: string, go: () => Result): Result | CacheRefusal | undefined => {
    try {
      return isWritableByOthers(path) ? { refused: `others than the superuser may write ${path}` } : go();
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
      return { refused: `${path} cannot be read (${error instanceof Error ? error.message : error})` };
    }
  };
  const readCode = (name: string, path: string): Buffer | CacheRefusal => {
    const bytes = readFileSync(path);
    const code = bytes.subarray(SUM_BYTES);
    const isWhole = code.length > 0 && computeSum(name, code) === bytes.readUInt32LE();
    return isWhole ? code : { refused: `the checksum of ${path} is wrong` };
  };
  return attempt(directory, () => {
    const made = readFileSync(join(directory, MAKER), 'utf8');
    if (made !== describeProcess()) return { refused: `it was made for "${made}", and this is "${describeProcess()}"` };
    return {
      read(name) {
        const path = join(directory, name);
        return attempt(path, () => readCode(name, path));
      },
    };
  });
}

export function writeCodeCache(directory: string, files: ReadonlyMap<string, Buffer>): void {
  mkdirSync(directory, { mode: 0o755 });
  for (const [name, code] of files) {
    const sum = Buffer.alloc(SUM_BYTES);
    sum.writeUInt32LE(computeSum(name, code));
    writeFileSync(join(directory, name), Buffer.concat([sum, code]), { mode: 0o644 });
  }
  writeFileSync(join(directory, MAKER), describeProcess(), { mode: 0o644 });
}
