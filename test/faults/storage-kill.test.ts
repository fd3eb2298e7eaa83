/** Row 68: the process is killed anywhere. Nothing that was acknowledged is lost, and everything can be read. */

import { spawn } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createFileDisk } from '../../src/platform/file-disk.ts';
import { type BundledProgram, bundleProgram } from '../doubles/bundle-program.ts';
import { findWriteLosses, type WriteResult } from './numbered-writer.ts';
import { createTestRandom, readRepetitions } from './test-random.ts';

const KILLS = readRepetitions('GRIDTIDE_KILLS', 60);
const LANES = 2;

let writer: BundledProgram;
beforeAll(async () => {
  writer = await bundleProgram(join(import.meta.dirname, 'numbered-writer.program.ts'));
});
afterAll(() => writer.remove());

/** One life of the writer, ended as soon as it is heard to have said so many lines, in the midst of what it writes then. */
async function lifeAndDeath(directory: string, lines: number): Promise<WriteResult[]> {
  const child = spawn(process.execPath, [writer.path, directory], { stdio: ['ignore', 'pipe', 'inherit'] });
  let printed = '';
  child.stdout.on('data', (chunk) => {
    printed += chunk;
    if (printed.split('\n').length > lines) child.kill('SIGKILL');
  });
  await new Promise((resolve) => child.once('close', resolve));
  // The last line may be half a word: then it was not said.
  return printed
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

it(
  `row 68: ${KILLS} kills lose no acknowledged record and leave no unreadable file`,
  async () => {
    const random = createTestRandom('storage-kill');
    const runKills = async () => {
      const directory = await mkdtemp(join(tmpdir(), 'gridtide-kill-'));
      const acknowledged: WriteResult[] = [];
      let torn = 0;
      for (let kill = 0; kill < KILLS / LANES; kill += 1) {
        acknowledged.push(...(await lifeAndDeath(directory, 1 + Math.floor(random.fraction() * 8))));
        const found = await findWriteLosses(createFileDisk(directory), acknowledged);
        // A line cut off by a kill is the beginning of one that was never acknowledged, and costs itself alone.
        expect(found).toMatchObject({ unreadable: [], lostDocument: false, lostEntries: [], unexplained: [] });
        expect(found.damagedLines).toBeLessThanOrEqual(kill + 1);
        torn = found.damagedLines;
      }
      // What the dead were making does not gather: the next life clears it away with its first write.
      await createFileDisk(directory).replace('next', new Uint8Array(1));
      const left = await readdir(directory);
      expect(left.filter((name) => name.endsWith('.new'))).toEqual([]);
      await rm(directory, { recursive: true });
      return { records: acknowledged.length, torn };
    };
    const counts = await Promise.all(Array.from({ length: LANES }, runKills));
    const sum = (of: 'records' | 'torn') => counts.reduce((all, one) => all + one[of], 0);
    console.log(`${KILLS} kills, ${sum('records')} acknowledged records, 0 lost, ${sum('torn')} lines never finished`);
  },
  300_000 + KILLS * 20_000,
);
