/** Row 74: torn, empty or bit-flipped files. The document falls back one generation, the ledger loses the damaged line alone and counts it. */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createDocumentStore } from '../../src/agent/document-store.ts';
import { parseLedger } from '../../src/ledger/ledger-lines.ts';
import { createFileDisk } from '../../src/platform/file-disk.ts';
import { createNumberedWriter, findWriteLosses } from './numbered-writer.ts';

const LAST = 3;
const LEDGER = 'ledger-2026-03.jsonl';

describe('row 74: damage', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'gridtide-damage-'));
    const writer = createNumberedWriter(createFileDisk(directory));
    for (let n = 1; n <= LAST; n += 1) await writer.write(n);
  });
  afterEach(() => rm(directory, { recursive: true }));

  const path = (name: string) => join(directory, name);
  const ratesOf = (bytes: Uint8Array) => {
    const { entries, damaged } = parseLedger(new TextDecoder().decode(bytes));
    return { rates: entries.flatMap((entry) => (entry.kind === 'seen' ? [entry.rate] : [])), damaged };
  };

  /** The file with one bit of each byte flipped in turn, and cut at each length; long ones at every seventh place. */
  function* damaged(whole: Uint8Array): Generator<readonly [string, Uint8Array]> {
    const step = whole.length > 2_000 ? 7 : 1;
    for (let at = 0; at < whole.length; at += step) {
      const flipped = Uint8Array.from(whole);
      flipped[at] = (flipped[at] ?? 0) ^ (1 << (at % 8));
      yield [`bit ${at % 8} of byte ${at} flipped`, flipped];
      yield [`cut to ${at} bytes`, whole.subarray(0, at)];
    }
  }

  it('any damage to the newest generation gives the one before, and the next save mends it', async () => {
    const newest = `control.${LAST % 2 === 0 ? 'a' : 'b'}`;
    const whole = await readFile(path(newest));
    for (const [what, bytes] of damaged(whole)) {
      await writeFile(path(newest), bytes);
      const loaded = await createDocumentStore(createFileDisk(directory), () => {}).load('control');
      expect(loaded?.isPrevious, what).toBe(true);
      expect(JSON.parse(new TextDecoder().decode(loaded?.bytes)).n, what).toBe(LAST - 1);
    }
    const writer = createNumberedWriter(createFileDisk(directory));
    expect(await writer.readLastNumber()).toBe(LAST - 1);
    await writer.write(LAST);
    expect(await createNumberedWriter(createFileDisk(directory)).readLastNumber()).toBe(LAST);
  });

  it('any flipped bit of the ledger costs at most the two lines it touches, any cut the last', async () => {
    const whole = await readFile(path(LEDGER));
    expect(ratesOf(whole)).toEqual({ rates: [1, 2, 3], damaged: 0 });
    for (const [what, bytes] of damaged(whole)) {
      const { rates, damaged: count } = ratesOf(bytes);
      expect(count, what).toBeLessThanOrEqual(2);
      if (what.includes('flipped')) expect(rates.length, what).toBeGreaterThanOrEqual(LAST - 2);
      // Never a record that was not written.
      expect([1, 2, 3], what).toEqual(expect.arrayContaining(rates));
    }
  });

  it('after a torn line the next life begins on a line of its own', async () => {
    const whole = await readFile(path(LEDGER));
    await writeFile(path(LEDGER), whole.subarray(0, whole.length - 20));
    const writer = createNumberedWriter(createFileDisk(directory));
    await writer.readLastNumber();
    await writer.write(4);
    expect(ratesOf(await readFile(path(LEDGER)))).toEqual({ rates: [1, 2, 4], damaged: 1 });
  });

  it('a line that was acknowledged and is torn is noticed as a loss, one that was not is none', async () => {
    const whole = await readFile(path(LEDGER));
    await writeFile(path(LEDGER), whole.subarray(0, whole.length - 20));
    const expectedRecords = (numbers: readonly number[]) => numbers.map((n) => ({ n, document: true, ledger: true }));
    expect(await findWriteLosses(createFileDisk(directory), expectedRecords([1, 2, 3]))).toMatchObject({
      lostEntries: [3],
      unexplained: [expect.stringMatching(/^\w{8} /)],
    });
    expect(await findWriteLosses(createFileDisk(directory), expectedRecords([1, 2]))).toMatchObject({
      lostEntries: [],
      damagedLines: 1,
      unexplained: [],
    });
  });
});
