/** Rows 70 and 71: no space, or a file system that turned read-only. The old content stays, the trouble is said, and writing goes on when it can. */

import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFileDisk } from '../../src/platform/file-disk.ts';
import { canMountImages, createLoopImage, type LoopImage } from './loop-image.ts';
import { createNumberedWriter, findWriteLosses, type NumberedWriter, type WriteResult } from './numbered-writer.ts';

describe.skipIf(!(await canMountImages()))('a device in trouble', () => {
  let image: LoopImage;
  let failures: string[];
  let writer: NumberedWriter;
  beforeEach(async () => {
    image = await createLoopImage(8);
    await image.mount();
    failures = [];
    writer = createNumberedWriter(createFileDisk(image.directory), (failure) =>
      failures.push(failure?.failure.kind ?? 'fine'),
    );
  });
  afterEach(() => image.remove());

  const ballast = () => join(image.directory, '..', 'ballast');

  /** Fills the device to the last block. */
  async function fill(): Promise<void> {
    for (const size of [1 << 20, 1 << 16, 1 << 12, 1 << 10])
      for (let full = false; !full; )
        full = await writeFile(ballast(), Buffer.alloc(size, 1), { flag: 'a' }).then(
          () => false,
          () => true,
        );
  }

  async function writeSome(from: number, count: number): Promise<WriteResult[]> {
    const written: WriteResult[] = [];
    for (let n = from; n < from + count; n += 1) written.push(await writer.write(n));
    return written;
  }

  const nothingLost = { unreadable: [], lostDocument: false, lostEntries: [], damagedLines: 0, unexplained: [] };

  it('row 70: without space it says "full", keeps what it has, leaves no rubbish, and recovers by itself', async () => {
    const before = await writeSome(1, 20);
    await fill();
    const during = await writeSome(21, 40);
    expect(during.some(({ document }) => !document)).toBe(true);
    expect(failures).toContain('full');
    expect(new Set(failures)).toEqual(new Set(['fine', 'full']));
    expect(await findWriteLosses(createFileDisk(image.directory), [...before, ...during])).toEqual(nothingLost);
    expect((await readdir(image.directory)).filter((name) => name.endsWith('.new'))).toEqual([]);

    await rm(ballast());
    failures.length = 0;
    const after = await writeSome(61, 20);
    expect(after.every(({ document, ledger }) => document && ledger)).toBe(true);
    expect(new Set(failures)).toEqual(new Set(['fine']));
    expect(await findWriteLosses(createFileDisk(image.directory), [...before, ...during, ...after])).toEqual(
      nothingLost,
    );
  });

  it('row 71: read-only, it says so, reads on, starts anew, and recovers by itself', async () => {
    const before = await writeSome(1, 20);
    image.remount('ro');
    failures.length = 0;
    const during = await writeSome(21, 5);
    expect(during.some(({ document, ledger }) => document || ledger)).toBe(false);
    expect(new Set(failures)).toEqual(new Set(['read-only']));
    // A new life on the read-only device finds all of it.
    expect(await createNumberedWriter(createFileDisk(image.directory)).readLastNumber()).toBe(20);
    expect(await findWriteLosses(createFileDisk(image.directory), before)).toEqual(nothingLost);

    image.remount('rw');
    const after = await writeSome(26, 5);
    expect(after.every(({ document, ledger }) => document && ledger)).toBe(true);
    expect(await findWriteLosses(createFileDisk(image.directory), [...before, ...after])).toEqual(nothingLost);
  });
});
