/** `gridtide state`: what is exported is imported byte for byte, and a bad archive, a running agent or a present state changes nothing. */

import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as state from '../../src/cli/agent/state.ts';
import { createFileDisk } from '../../src/platform/file-disk.ts';
import { registerAgent } from '../../src/platform/single-instance.ts';
import { runCommand } from '../doubles/run-command.ts';
import { startProcess } from '../doubles/running-process.ts';

const FILES = {
  'ledger-2026-03.jsonl': '{"a":1}\n',
  'control.1': 'control',
  'map.co2_moer.idx': 'x'.repeat(3_000_000),
};

describe('gridtide state', () => {
  let [folder, from, to, archive] = ['', '', '', ''];
  const run = (...words: string[]) => runCommand(state, words, { env: { HOME: folder } });
  const readState = async (directory: string) => {
    const names = await readdir(directory).catch(() => []);
    const read = names.map(async (name) => [name, await readFile(join(directory, name), 'utf8')] as const);
    return Object.fromEntries(await Promise.all(read));
  };

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gridtide-state-test-'));
    [from, to, archive] = ['from', 'to', 'house.tar.gz'].map((name) => join(folder, name)) as [string, string, string];
    await mkdir(from);
    for (const [name, text] of Object.entries(FILES)) await writeFile(join(from, name), text);
    await registerAgent(createFileDisk(from));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('moves every file but the mark of the running process, readable by the owner alone', async () => {
    expect(await run('export', archive, '--state', from)).toMatchObject({
      code: 0,
      out: `3 files of ${from} in ${archive}\n`,
    });
    expect((await stat(archive)).mode & 0o777).toBe(0o600);
    const imported = await run('import', archive, '--state', to);
    expect(imported).toMatchObject({ code: 0, err: '' });
    expect(imported.out).toMatch(/^3 files of 20\S+Z \(gridtide \d\S+\) imported into /);
    expect(await readState(to)).toEqual(FILES);
  });

  it('replaces a present state with --force alone, whole', async () => {
    await run('export', archive, '--state', from);
    await mkdir(to);
    await writeFile(join(to, 'ledger-2025-01.jsonl'), 'other');
    expect(await run('import', archive, '--state', to)).toMatchObject({
      code: 1,
      err: `${to} holds a state already (1 file); --force replaces it`,
    });
    expect(await readState(to)).toEqual({ 'ledger-2025-01.jsonl': 'other' });
    expect((await run('import', archive, '--state', to, '--force')).code).toBe(0);
    expect(await readState(to)).toEqual(FILES);
  });

  it('replaces an exported file with --force alone', async () => {
    await writeFile(archive, 'the backup of last year');
    expect(await run('export', archive, '--state', from)).toMatchObject({
      code: 1,
      err: `${archive} exists already; name another file, or --force replaces it`,
    });
    expect(await readFile(archive, 'utf8')).toBe('the backup of last year');
    expect((await run('export', archive, '--state', from, '--force')).code).toBe(0);
    expect((await run('import', archive, '--state', to)).code).toBe(0);
  });

  const pack = (directory: string, ...names: string[]) =>
    promisify(execFile)('tar', ['-czf', archive, '-C', directory, ...names]);
  //  archive                        is made by                                              the error
  const bad: readonly (readonly [string, () => Promise<unknown>, RegExp])[] = [
    ['is not there', async () => {}, /house\.tar\.gz: there is no such file$/],
    [
      'is no archive',
      () => writeFile(archive, 'x'),
      /is no whole gzipped tar archive; make it with gridtide state export$/,
    ],
    [
      'is cut short',
      async () => {
        await run('export', archive, '--state', from);
        await truncate(archive, 500);
      },
      /is no whole/,
    ],
    ['is of something else', () => pack(from, 'control.1'), /is no whole state: it lacks state-manifest\.json/],
    [
      'holds a file that differs from its list',
      async () => {
        await writeFile(join(from, 'state-manifest.json'), '{"files": {"control.1": "00"}}');
        await pack(from, 'state-manifest.json', 'control.1');
      },
      /is damaged: "control\.1" does not fit its checksum; export it again$/,
    ],
    [
      'holds a link',
      async () => {
        await symlink('/etc/passwd', join(from, 'link'));
        await writeFile(join(from, 'state-manifest.json'), '{"files": {"link": "00"}}');
        await pack(from, 'state-manifest.json', 'link');
      },
      /holds "link", which its list does not name/,
    ],
  ];
  it.each(bad)('an archive that %s changes nothing', async (_, make, sentence) => {
    await make();
    const { code, err } = await run('import', archive, '--state', to);
    expect(code).toBe(1);
    expect(err).toMatch(sentence);
    expect(await readState(to)).toEqual({});
  });

  it('an agent that runs there is not overwritten', async () => {
    await run('export', archive, '--state', from);
    const agent = startProcess(process.execPath, ['-e', 'console.log("up"); setInterval(() => {}, 1e6)', 'agent']);
    try {
      await agent.waitForLine(/up/);
      const fields = (await readFile(`/proc/${agent.pid}/stat`, 'utf8')).replace(/^.*\) /s, '').split(' ');
      const command = (await readFile(`/proc/${agent.pid}/cmdline`, 'utf8')).replaceAll('\0', ' ').trim();
      await mkdir(to);
      await writeFile(join(to, 'agent.process'), `${agent.pid} ${fields[19]} ${command}`);
      const { code, err } = await run('import', archive, '--state', to);
      expect([code, err]).toEqual([
        1,
        `the agent is running on ${to}; stop it first, or it overwrites what is imported`,
      ]);
      expect((await run('export', join(folder, 'live.tar.gz'), '--state', to)).err).toContain('holds no state');
    } finally {
      await agent.stop();
    }
  });

  it('a directory without a state has nothing to export', async () =>
    expect(await run('export', archive, '--state', to)).toMatchObject({
      code: 1,
      err: `${to} holds no state; name the directory with --state or --config`,
    }));
});
