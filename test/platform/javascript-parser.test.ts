/** undici's parser as JavaScript, which the agent uses under `--lite-mode`: it makes of each answer what the one in WebAssembly makes. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BundledProgram, bundleProgram } from '../doubles/bundle-program.ts';

const OK = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;
//  what                                   the bytes                                                                    status, or undefined for an error
const rows: readonly (readonly [string, string, number | undefined])[] = [
  ['a body of its length', `${OK}Content-Length: 2\r\n\r\nhi`, 200],
  ['a body to the end of the connection', `${OK}Connection: close\r\n\r\nhi`, 200],
  ['a body in chunks, with an extension and a trailer', `${CHUNKED}1;a=b\r\nh\r\n1\r\ni\r\n0\r\nX: y\r\n\r\n`, 200],
  ['an empty one', 'HTTP/1.1 204 No Content\r\n\r\n', 204],
  ['an interim answer first', `HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n${OK}Content-Length: 0\r\n\r\n`, 200],
  ['HTTP/1.0', 'HTTP/1.0 404 Not Found\r\nContent-Length: 1\r\n\r\nx', 404],
  ['a header twice, and one in other letters', `${OK}X-A: 1\r\nx-a: 2\r\nContent-LENGTH: 0\r\n\r\n`, 200],
  ['a length beyond 2^53', `${OK}Content-Length: 99999999999999999\r\n\r\nhi`, undefined],
  ['a length beyond 2^64', `${OK}Content-Length: 99999999999999999999999\r\n\r\nhi`, undefined],
  ['a negative length', `${OK}Content-Length: -1\r\n\r\nhi`, undefined],
  ['two lengths', `${OK}Content-Length: 1\r\nContent-Length: 2\r\n\r\nhi`, undefined],
  ['length and chunks', `${OK}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, undefined],
  ['a body cut short', `${OK}Content-Length: 9\r\n\r\nhi`, undefined],
  ['chunks cut short', `${CHUNKED}5\r\nhi`, undefined],
  ['a chunk size that is none', `${CHUNKED}zz\r\nhi\r\n0\r\n\r\n`, undefined],
  ['a chunk size beyond 2^64', `${CHUNKED}fffffffffffffffff\r\nhi`, undefined],
  ['a chunk without its line break', `${CHUNKED}1\r\nhi0\r\n\r\n`, undefined],
  ['bare line feeds', 'HTTP/1.1 200 OK\nContent-Length: 2\n\nhi', undefined],
  ['a folded header', `${OK}X: a\r\n b\r\nContent-Length: 0\r\n\r\n`, undefined],
  ['a header with a zero', `${OK}X: a\0b\r\nContent-Length: 0\r\n\r\n`, undefined],
  ['a header name with a blank', `${OK}X Y: a\r\n\r\n`, undefined],
  ['a status that is none', 'HTTP/1.1 2x0 OK\r\n\r\n', undefined],
  ['another version', 'HTTP/7.3 200 OK\r\n\r\n', undefined],
  ['no HTTP', 'SSH-2.0-OpenSSH_9.2\r\n', undefined],
  ['nothing', '', undefined],
  ['headers over the limit', `${OK}X: ${'a'.repeat(20_000)}\r\n\r\n`, undefined],
];

interface Outcome {
  readonly statusCode?: number;
}
interface Printed {
  readonly hasWebAssembly: boolean;
  readonly outcomes: readonly (readonly [whole: Outcome, bytes: Outcome])[];
}

describe('the parser of answers', () => {
  const work = mkdtempSync(join(tmpdir(), 'gridtide-parser-'));
  let program: BundledProgram;
  let printed: Record<'usual' | 'lite', Printed>;
  beforeAll(async () => {
    const undici = join(work, 'undici.mjs');
    execFileSync(process.execPath, [join(import.meta.dirname, '../../scripts/lean-undici.mjs'), undici]);
    program = await bundleProgram(join(import.meta.dirname, 'ask-raw-answers.program.ts'));
    const answers = JSON.stringify(rows.map(([, bytes]) => bytes));
    const ask = (...flags: readonly string[]): Printed =>
      JSON.parse(
        execFileSync(process.execPath, [...flags, program.path, undici, answers], {
          stdio: ['ignore', 'pipe', 'ignore'],
        }).toString(),
      );
    printed = { usual: ask(), lite: ask('--lite-mode') };
  });
  afterAll(async () => {
    rmSync(work, { recursive: true });
    await program.remove();
  });

  it('is WebAssembly where there is one, else JavaScript', () =>
    expect([printed.usual.hasWebAssembly, printed.lite.hasWebAssembly]).toEqual([true, false]));

  it.each(rows.map(([what, , status], row) => [what, status, row] as const))('%s', (_, status, row) => {
    expect(printed.lite.outcomes[row]).toEqual(printed.usual.outcomes[row]);
    expect(printed.lite.outcomes[row]?.map(({ statusCode }) => statusCode)).toEqual([status, status]);
  });
});
