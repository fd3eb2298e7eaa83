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
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { writeCodeCache } from '../../src/launch/code-cache.ts';
import { createFileLoader } from '../../src/launch/file-loader.ts';
import { readCodeCacheState } from '../../src/platform/code-cache-state.ts';

const isSuperuser = process.getuid?.() === 0;
if (!isSuperuser) console.warn('\n  SKIPPED: an accepted code cache; it must belong to the superuser\n');

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

function runProgram(): { readonly sum: number; readonly state: string | undefined } {
  Reflect.deleteProperty(globalThis, Symbol.for('gridtide.code-cache'));
  const { sum } = createFileLoader(directory).load('program.js') as { sum: (a: number) => number };
  return { sum: sum(1), state: readCodeCacheState() };
}

function makeCache(): void {
  const loader = createFileLoader(directory);
  (loader.load('program.js') as { sum: (a: number) => number }).sum(1);
  writeCodeCache(path('code-cache'), loader.createCache());
}

describe('the code cache', () => {
  it('may be absent', () => expect(runProgram()).toEqual({ sum: 3, state: undefined }));

  it.skipIf(!isSuperuser)('is accepted by the process that it was made for', () => {
    makeCache();
    expect(runProgram()).toEqual({ sum: 3, state: 'accepted' });
  });

  const cached = () => path('code-cache', 'program.js');
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
    ['cut short', () => truncateSync(cached(), 100), /the checksum of .*program\.js is wrong/],
    ['empty', () => truncateSync(cached(), 0), /checksum .* is wrong|cannot be read/],
    [
      'with one other bit',
      () => rewrite(cached(), (bytes) => bytes.map((byte, i) => (i === 99 ? byte ^ 4 : byte))),
      /the checksum of .*program\.js is wrong/,
    ],
    [
      'of another file',
      () => renameSync(path('code-cache', 'part.js'), cached()),
      /the checksum of .*program\.js is wrong/,
    ],
    [
      'of a source of another length',
      () => appendFileSync(path('program.js'), ' '),
      /V8 does not accept its program\.js/,
    ],
    [
      'in a directory open to all',
      () => chmodSync(path('code-cache'), 0o777),
      /others than the superuser may write .*code-cache$/,
    ],
    [
      'in a file open to its group',
      () => chmodSync(cached(), 0o664),
      /others than the superuser may write .*program\.js$/,
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

  it.skipIf(!isSuperuser)('a forgery with a right checksum must be written by the superuser', () => {
    makeCache();
    writeCodeCache(path('forged'), new Map([['program.js', Buffer.alloc(64, 7)]]));
    renameSync(path('forged', 'program.js'), cached());
    // Of equal length; V8 would take a source that it has compiled in this process from its memory.
    rewrite(path('program.js'), (bytes) => Buffer.from(bytes.toString().replace('a +', 'a -')));
    expect(runProgram()).toMatchObject({ sum: 1, state: expect.stringMatching(/V8 does not accept its program\.js/) });
  });
});
