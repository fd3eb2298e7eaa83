/** Rows 72 and 73: the device fails in a sync or a rename. What was refused is not believed, what was acknowledged is there, no temporary file stays. */

import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parseLedger } from '../../src/ledger/ledger-lines.ts';
import { createFileDisk } from '../../src/platform/file-disk.ts';
import { type BundledProgram, bundleProgram } from '../doubles/bundle-program.ts';
import { findWriteLosses, type WriteResult } from './numbered-writer.ts';

const canInject = spawnSync('strace', ['-qq', '-o', '/dev/null', 'true']).status === 0;
if (!canInject) {
  if (process.env.CI === 'true') throw new Error('strace must work in CI: apt install strace');
  console.warn('\n  SKIPPED: errors of system calls; strace is missing or may not trace\n');
}

describe.skipIf(!canInject)('errors of system calls', () => {
  let writer: BundledProgram;
  let opener: BundledProgram;
  let directory: string;
  beforeAll(async () => {
    writer = await bundleProgram(join(import.meta.dirname, 'numbered-writer.program.ts'));
    opener = await bundleProgram(join(import.meta.dirname, 'open-file.program.ts'));
  });
  afterAll(() => Promise.all([writer.remove(), opener.remove()]));
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'gridtide-errors-'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  /** Writes numbers while every third call of these names fails. */
  function writeWithErrors(calls: string, error: string, count: number): WriteResult[] {
    const { status, stdout, stderr } = spawnSync(
      'strace',
      ['-f', '-qq', '-o', '/dev/null', '-e', `trace=${calls}`, '-e', `inject=${calls}:error=${error}:when=2+3`].concat([
        process.execPath,
        writer.path,
        directory,
        `${count}`,
      ]),
      { encoding: 'utf8' },
    );
    expect(status, stderr).toBe(0);
    return stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  }

  //  row   calls                       error   what fails
  const rows = [
    ['row 72', 'fsync', 'EIO', 'the sync of files and directories'],
    ['row 72', 'fdatasync', 'EIO', 'the sync of the ledger'],
    ['row 72', 'fsync,fdatasync', 'EIO', 'every kind of sync'],
    ['row 73', 'rename,renameat,renameat2', 'EIO', 'the rename'],
    ['row 73', 'rename,renameat,renameat2', 'ENOSPC', 'the rename, for want of space'],
  ] as const;
  it.each(rows)('%s: %s fails with %s (%s)', async (_, calls, error) => {
    const written = writeWithErrors(calls, error, 40);
    const refused = written.filter(({ document, ledger }) => !document || !ledger);
    expect(refused.length).toBeGreaterThan(5);
    expect(refused.length).toBeLessThan(40);

    // strace cannot lose the data as a broken device would: what must hold is that each claim of success is true.
    const found = await findWriteLosses(createFileDisk(directory), written);
    expect(found).toEqual({ unreadable: [], lostDocument: false, lostEntries: [], damagedLines: 0, unexplained: [] });
    expect((await readdir(directory)).filter((name) => name.endsWith('.new'))).toEqual([]);
  });

  it('row 72: a refused ledger line is taken back, so that a later try does not write it twice', async () => {
    const written = writeWithErrors('fdatasync', 'EIO', 20);
    const ledger = new TextDecoder().decode(await createFileDisk(directory).read('ledger-2026-03.jsonl'));
    const numbers = parseLedger(ledger).entries.flatMap((entry) => (entry.kind === 'seen' ? [entry.rate] : []));
    expect(numbers).toEqual(written.filter((one) => one.ledger).map(({ n }) => n));
  });

  // Node 26 ends a process whose garbage collection finds a file left open.
  it('row 72: a file that can be opened and not looked at is not left open', async () => {
    const path = join(directory, 'map.idx');
    await writeFile(path, 'x', { mode: 0o600 });
    const inject = 'inject=statx,fstat,newfstatat:error=EIO';
    const traced = ['-f', '-qq', '-o', '/dev/null', '-P', path, '-e', inject];
    const program = [process.execPath, opener.path, directory, 'map.idx'];
    const { status, stdout, stderr } = spawnSync('strace', [...traced, ...program], { encoding: 'utf8' });
    expect(status, stderr).toBe(0);
    const { said, left } = JSON.parse(stdout) as { said: readonly string[]; left: number };
    expect(said).toEqual([expect.stringContaining('EIO'), expect.stringContaining('EIO')]);
    expect(left).toBe(0);
  });
});
