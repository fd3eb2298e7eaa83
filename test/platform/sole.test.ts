/** Who has a state directory: a living process and nobody else, whatever its file says. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createDisk } from '../../src/platform/disk.ts';
import { otherAgentOn, processNamed, takeFor } from '../../src/platform/sole.ts';
import { afterwards, kept } from '../doubles/kept.ts';
import { startProcess } from '../doubles/process.ts';

async function directory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'gridtide-sole-'));
  afterwards(() => rm(path, { recursive: true, force: true }));
  return path;
}

it('nobody has a directory at first, and the own process is no other', async () => {
  const disk = createDisk(await directory());
  expect(await otherAgentOn(disk)).toBeUndefined();
  await takeFor(disk);
  expect(await otherAgentOn(disk)).toBeUndefined();
});

it('a living process has it, and a dead one has nothing', async () => {
  const path = await directory();
  const disk = createDisk(path);
  const other = kept(startProcess(process.execPath, ['-e', 'console.log("up"); setInterval(() => {}, 1000)']));
  await other.line(/up/);
  const named = processNamed(other.pid) ?? '';
  await writeFile(join(path, 'agent.process'), named);
  expect(await otherAgentOn(disk)).toBe(other.pid);

  //  what stands in the file              of whom
  const rows: readonly (readonly [string, string])[] = [
    [named.replace(/ \d+ /, ' 1 '), 'an earlier process of that number'],
    [`${named} more`, 'another program of that number, started in the same tick of another boot'],
    ['', 'nobody: a torn file'],
    ['-1 1 node', 'nobody: no number of a process'],
  ];
  for (const [text, whose] of rows) {
    await writeFile(join(path, 'agent.process'), text);
    expect([whose, await otherAgentOn(disk)]).toEqual([whose, undefined]);
  }

  await writeFile(join(path, 'agent.process'), named);
  await other.stop();
  expect(await otherAgentOn(disk)).toBeUndefined();
});

it('a disk that cannot be used keeps nobody from starting', async () => {
  const path = join(await directory(), 'a-file');
  await writeFile(path, '');
  await takeFor(createDisk(path));
  expect(await otherAgentOn(createDisk(path))).toBeUndefined();
});
