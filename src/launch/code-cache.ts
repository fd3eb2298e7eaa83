/** The code cache of an installation: the files of a start in one, with V8's bytecode of them, trusted only where the superuser alone writes. */

import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const SUM_BYTES = 4;
const SUPERUSER = 0;
const WRITABLE_BY_OTHERS = 0o022;
/** In the directory of the cache: for whom it was made, the program's files as one source, and the sum of both with the bytecode. */
const MAKER = 'made-for';
const SOURCE = 'source';
const BYTECODE = 'bytecode';

/** V8 takes bytecode of its own version and flags only. */
const describeProcess = () => ['node', process.version, process.arch, ...process.execArgv].join(' ');

/** `program.js` names all other files, and they are named by their content: so it stands for the build. */
function computeSum(
  directory: string,
  { source, code }: { readonly source: Uint8Array; readonly code: Uint8Array },
): number {
  // Loaded only where there is a cache: the agent needs it anyway, and node:crypto would cost a start 15 ms.
  const { crc32 } = process.getBuiltinModule('node:zlib');
  return crc32(code, crc32(source, crc32(readFileSync(join(directory, '..', 'program.js')))));
}

/** V8 does not verify bytecode: whoever writes it commands the process. */
function isWritableByOthers(path: string): boolean {
  const { uid, mode } = statSync(path);
  return uid !== SUPERUSER || (mode & WRITABLE_BY_OTHERS) !== 0;
}

/** In words why a cache is refused. */
export interface CacheRefusal {
  readonly refused: string;
}

export interface CodeCache {
  /** ASCII. */
  readonly source: string;
  readonly code: Buffer;
}

/** Undefined where there is no cache. */
export function readCodeCache(directory: string): CodeCache | CacheRefusal | undefined {
  const [sourceFile, codeFile] = [join(directory, SOURCE), join(directory, BYTECODE)];
  try {
    const made = readFileSync(join(directory, MAKER), 'utf8');
    if (made !== describeProcess()) return { refused: `it was made for "${made}", and this is "${describeProcess()}"` };
    const open = [directory, sourceFile, codeFile].find(isWritableByOthers);
    if (open !== undefined) return { refused: `others than the superuser may write ${open}` };
    const [source, bytes] = [readFileSync(sourceFile), readFileSync(codeFile)];
    const code = bytes.subarray(SUM_BYTES);
    if (code.length === 0 || computeSum(directory, { source, code }) !== bytes.readUInt32LE())
      return { refused: `the checksum of ${codeFile} is wrong, so it is damaged or of another build` };
    return { source: source.toString('latin1'), code };
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    return { refused: `it cannot be read (${error instanceof Error ? error.message : error})` };
  }
}

export function writeCodeCache(directory: string, { source, code }: CodeCache): void {
  mkdirSync(directory, { mode: 0o755 });
  const sum = Buffer.alloc(SUM_BYTES);
  sum.writeUInt32LE(computeSum(directory, { source: Buffer.from(source, 'latin1'), code }));
  const files: readonly (readonly [string, string | Uint8Array])[] = [
    [SOURCE, source],
    [BYTECODE, Buffer.concat([sum, code])],
    [MAKER, describeProcess()],
  ];
  for (const [name, content] of files)
    writeFileSync(join(directory, name), content, { mode: 0o644, encoding: 'latin1' });
}
