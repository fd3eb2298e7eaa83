/** Who has a state directory: a living process and nobody else, whatever its file says. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createFileDisk } from '../../src/platform/file-disk.ts';
import { findOtherAgent, identifyProcess, registerAgent } from '../../src/platform/single-instance.ts';
import { startProcess } from '../doubles/running-process.ts';
import { afterTest, stopAfterTest } from '../doubles/stop-after-test.ts';

async function directory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'gridtide-sole-'));
  afterTest(() => rm(path, { recursive: true, force: true }));
  return path;
}

it('nobody has a directory at first, and the own process is no other', async () => {
  const disk = createFileDisk(await directory());
  expect(await findOtherAgent(disk)).toBeUndefined();
  await registerAgent(disk);
  expect(await findOtherAgent(disk)).toBeUndefined();
});

it('a living process has it, and a dead one has nothing', async () => {
  const path = await directory();
  const disk = createFileDisk(path);
  const other = stopAfterTest(startProcess(process.execPath, ['-e', 'console.log("up"); setInterval(() => {}, 1000)']));
  await other.waitForLine(/up/);
  const named = identifyProcess(other.pid) ?? '';
  await writeFile(join(path, 'agent.process'), named);
  expect(await findOtherAgent(disk)).toBe(other.pid);

  //  what stands in the file              of whom
  const rows: readonly (readonly [string, string])[] = [
    [named.replace(/ \d+ /, ' 1 '), 'an earlier process of that number'],
    [`${named} more`, 'another program of that number, started in the same tick of another boot'],
    ['', 'nobody: a torn file'],
    ['-1 1 node', 'nobody: no number of a process'],
  ];
  for (const [text, whose] of rows) {
    await writeFile(join(path, 'agent.process'), text);
    expect([whose, await findOtherAgent(disk)]).toEqual([whose, undefined]);
  }

  await writeFile(join(path, 'agent.process'), named);
  await other.stop();
  expect(await findOtherAgent(disk)).toBeUndefined();
});

it('a disk that cannot be used keeps nobody from starting', async () => {
  const path = join(await directory(), 'a-file');
  await writeFile(path, '');
  await registerAgent(createFileDisk(path));
  expect(await findOtherAgent(createFileDisk(path))).toBeUndefined();
});
