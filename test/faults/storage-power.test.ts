/** Row 69: the power is cut anywhere. Nothing that was acknowledged is lost, and everything can be read after the journal's replay. */

import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Disk } from '../../src/domain/ports.ts';
import { createFileDisk } from '../../src/platform/file-disk.ts';
import { startProcess } from '../doubles/running-process.ts';
import { canMountImages, createLoopImage, type LoopImage } from './loop-image.ts';
import { createNumberedWriter, findWriteLosses, type WriteResult } from './numbered-writer.ts';
import { createTestRandom, readRepetitions } from './test-random.ts';

const CUTS = readRepetitions('GRIDTIDE_POWER_CUTS', 100);

async function withImage(megabytes: number, use: (image: LoopImage) => Promise<void>): Promise<void> {
  const image = await createLoopImage(megabytes);
  try {
    await use(image);
  } finally {
    await image.remove();
  }
}

/**
 * The power goes after so many acknowledged writes, some turns of the event loop into the next. What that one answers counts for
 * nothing: without power nobody hears it, while here a sync that was under way may still answer that all is well.
 */
async function lifeAndCut(image: LoopImage, writes: number, turns: number): Promise<WriteResult[]> {
  const acknowledged: WriteResult[] = [];
  const writer = createNumberedWriter(createFileDisk(image.directory));
  let next = (await writer.readLastNumber()) + 1;
  for (let i = 0; i < writes; i += 1) acknowledged.push(await writer.write(next++));
  const underWay = writer.write(next);
  for (let turn = 0; turn < turns; turn += 1) await new Promise((resume) => setImmediate(resume));
  image.cutPower();
  await underWay;
  return acknowledged;
}

describe.skipIf(!(await canMountImages()))('row 69', () => {
  it(
    `${CUTS} power cuts lose no acknowledged record and leave no unreadable file`,
    () =>
      withImage(16, async (image) => {
        const random = createTestRandom('storage-power');
        const acknowledged: WriteResult[] = [];
        let torn = 0;
        for (let cut = 0; cut < CUTS; cut += 1) {
          await image.mount();
          acknowledged.push(
            ...(await lifeAndCut(image, Math.floor(random.fraction() * 5), Math.floor(random.fraction() * 40))),
          );
          image.unmount();
          await image.mount();
          const found = await findWriteLosses(createFileDisk(image.directory), acknowledged);
          expect(found).toMatchObject({ unreadable: [], lostDocument: false, lostEntries: [], unexplained: [] });
          torn = found.damagedLines;
          image.unmount();
        }
        const durable = acknowledged.filter(({ document, ledger }) => document && ledger).length;
        console.log(
          `${CUTS} power cuts, ${durable} acknowledged records, 0 lost, ${torn} torn lines of unacknowledged ones`,
        );
        expect(durable).toBeGreaterThan(CUTS);
      }),
    300_000 + CUTS * 20_000,
  );

  //  what is written last before the power goes
  const lastWrites: readonly (readonly [string, (disk: Disk, bytes: Uint8Array) => Promise<void>])[] = [
    ['a document replaced', (disk, bytes) => disk.replace('document', bytes)],
    [
      'a file made new in its place',
      async (disk, bytes) => {
        const file = await disk.create('document');
        await file.write(bytes);
        await file.commit();
      },
    ],
  ];
  it.each(lastWrites)('%s and acknowledged right before the cut is there', (_, write) =>
    withImage(16, async (image) => {
      for (let cut = 0; cut < 5; cut += 1) {
        await image.mount();
        await write(createFileDisk(image.directory), new TextEncoder().encode(`cut ${cut}`));
        image.cutPower();
        image.unmount();
        await image.mount();
        expect(await readFile(join(image.directory, 'document'), 'utf8').catch(() => 'nothing')).toBe(`cut ${cut}`);
        image.unmount();
      }
    }),
  );

  it('a process elsewhere that keeps the mount of a cut does not disturb the next one', () =>
    withImage(16, async (image) => {
      await image.mount();
      const disk = createFileDisk(image.directory);
      await disk.replace('document', new TextEncoder().encode('before'));
      const other = startProcess('unshare', ['--mount', 'sh', '-c', 'echo cloned; exec sleep 600']);
      try {
        await other.waitForLine(/cloned/);
        image.cutPower();
        image.unmount();
        await image.mount();
        expect(await readFile(join(image.directory, 'document'), 'utf8')).toBe('before');
        await createFileDisk(image.directory).replace('document', new TextEncoder().encode('after'));
        image.unmount();
        await image.mount();
        expect(await readFile(join(image.directory, 'document'), 'utf8')).toBe('after');
      } finally {
        await other.stop();
      }
    }));

  it('the method sees what is lost: a file renamed without a sync is gone or empty', () =>
    withImage(16, async (image) => {
      let lost = 0;
      for (let cut = 0; cut < 3; cut += 1) {
        await image.mount();
        const path = join(image.directory, 'state.json');
        await writeFile(`${path}.${cut}`, `cut ${cut}`);
        await rename(`${path}.${cut}`, path);
        image.cutPower();
        image.unmount();
        await image.mount();
        if ((await readFile(path, 'utf8').catch(() => '')) !== `cut ${cut}`) lost += 1;
        image.unmount();
      }
      expect(lost).toBeGreaterThan(0);
    }));
});
