/** The code cache of an installation: what makes the program load without it, and that it then runs as well. */

import {
  appendFileSync,
  chmodSync,
  chownSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { writeCodeCache } from '../../src/launch/code-cache.ts';
import { compilePack, createFileLoader, loadCachedFiles, packFiles } from '../../src/launch/file-loader.ts';
import { readCodeCacheState } from '../../src/platform/code-cache-state.ts';

const isSuperuser = process.getuid?.() === 0;
if (!isSuperuser) console.warn('\n  SKIPPED: an accepted code cache; it must belong to the superuser\n');

const requireOther = createRequire(import.meta.url);
let directory: string;
const path = (...names: readonly string[]) => join(directory, ...names);

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'gridtide-launch-'));
  writeFileSync(
    path('program.js'),
    "exports.sum = (a) => a + require('./part.js').one + require('node:path').sep.length;",
  );
  writeFileSync(path('part.js'), 'exports.one = 1;');
});
afterEach(() => rmSync(directory, { recursive: true }));

interface Program {
  readonly sum: (a: number) => number;
}

function runProgram(): { readonly sum: number; readonly state: string | undefined } {
  Reflect.deleteProperty(globalThis, Symbol.for('gridtide.code-cache'));
  const { sum } = createFileLoader({ directory, cached: loadCachedFiles(directory), requireOther }).load(
    'program.js',
  ) as unknown as Program;
  return { sum: sum(1), state: readCodeCacheState() };
}

function makeCache(source = packFiles(directory, ['program.js', 'part.js'])): void {
  const pack = compilePack(source);
  const cached = pack.runInThisContext() ?? {};
  (createFileLoader({ directory, cached, requireOther }).load('program.js') as unknown as Program).sum(1);
  writeCodeCache(path('code-cache'), { source, code: pack.createCachedData() });
}

describe('the code cache', () => {
  it('may be absent', () => expect(runProgram()).toEqual({ sum: 3, state: undefined }));

  it.skipIf(!isSuperuser)('is accepted by the process that it was made for', () => {
    makeCache();
    expect(runProgram()).toEqual({ sum: 3, state: 'accepted' });
  });

  const cached = () => path('code-cache', 'bytecode');
  const rewrite = (file: string, change: (bytes: Buffer) => Uint8Array) =>
    writeFileSync(file, change(readFileSync(file)));
  //  what                              the damage                                                            the reason
  const rows: readonly (readonly [string, () => void, RegExp])[] = [
    [
      'of another Node',
      () => writeFileSync(path('code-cache', 'made-for'), 'node v1.0.0 x64'),
      /it was made for "node v1\.0\.0 x64", and this is "node v/,
    ],
    [
      'of other flags',
      () => appendFileSync(path('code-cache', 'made-for'), ' --lite-mode'),
      /--lite-mode", and this is/,
    ],
    ['cut short', () => truncateSync(cached(), 100), /the checksum of .*bytecode is wrong/],
    ['empty', () => truncateSync(cached(), 0), /checksum .* is wrong|cannot be read/],
    [
      'with one other bit',
      () => rewrite(cached(), (bytes) => bytes.map((byte, i) => (i === 99 ? byte ^ 4 : byte))),
      /the checksum of .*bytecode is wrong/,
    ],
    ['with a source cut short', () => truncateSync(path('code-cache', 'source'), 100), /bytecode is wrong/],
    ['of another build', () => appendFileSync(path('program.js'), ' '), /bytecode is wrong.*of another build/],
    [
      'in a directory open to all',
      () => chmodSync(path('code-cache'), 0o777),
      /others than the superuser may write .*code-cache$/,
    ],
    [
      'in a file open to its group',
      () => chmodSync(cached(), 0o664),
      /others than the superuser may write .*bytecode$/,
    ],
    ['in a file of another owner', () => chownSync(cached(), 65_534, 65_534), /others than the superuser may write/],
    [
      'in a directory of another owner',
      () => chownSync(path('code-cache'), 65_534, 65_534),
      /others than the superuser may write/,
    ],
  ];
  it.skipIf(!isSuperuser).each(rows)('%s is refused with its reason, and the program runs', (_, damage, reason) => {
    makeCache();
    damage();
    const { sum, state } = runProgram();
    expect(sum).toBe(3);
    expect(state).toMatch(reason);
  });

  // A maker that was killed while it wrote the source once left these.
  it.skipIf(!isSuperuser).each(['', '({})'])('of the source "%s" is refused, and the program runs', (source) => {
    makeCache(source);
    expect(runProgram()).toEqual({ sum: 3, state: 'it holds no program' });
  });

  it.skipIf(!isSuperuser)('a forgery with a right checksum must be written by the superuser', () => {
    makeCache();
    // Another source: V8 would take one that it has compiled in this process from its memory.
    const source = `${readFileSync(path('code-cache', 'source'), 'latin1')} `;
    writeCodeCache(path('forged'), { source, code: Buffer.alloc(64, 7) });
    rmSync(path('code-cache'), { recursive: true });
    renameSync(path('forged'), path('code-cache'));
    expect(runProgram()).toMatchObject({ sum: 3, state: expect.stringMatching(/V8 does not accept its bytecode/) });
  });
});
