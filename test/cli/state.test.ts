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

  describe('with --secrets', () => {
    const CONFIG = `device: cellar
place: {latitude: 38.5, longitude: -122, timezone: America/Los_Angeles}
service: {url: "http://127.0.0.1:9", usernameFile: username, passwordFile: keys/password, ca: /nowhere/ca.pem}
loads: {car: {type: ev, output: {kind: dry-run}}}
`;
    const SETTINGS = { 'gridtide.yaml': CONFIG, username: 'owner\n', 'keys/password': 'word\n' };
    const houseOf = (name: string) => join(folder, name, 'gridtide.yaml');
    const readSettings = async (house: string) => {
      const read = Object.keys(SETTINGS).map(async (path) => {
        const file = join(folder, house, path);
        return [path, await readFile(file, 'utf8'), ((await stat(file)).mode & 0o777).toString(8)] as const;
      });
      return Promise.all(read);
    };
    beforeEach(async () => {
      for (const directory of ['old/keys', 'new']) await mkdir(join(folder, directory), { recursive: true });
      for (const [path, text] of Object.entries(SETTINGS)) await writeFile(join(folder, 'old', path), text);
    });

    it('moves the configuration and the files that it names', async () => {
      expect(await run('export', archive, '--state', from, '--config', houseOf('old'), '--secrets')).toEqual({
        code: 0,
        out: `3 files of ${from} and 3 files of settings in ${archive}\n`,
        err: `/nowhere/ca.pem lies outside of ${join(folder, 'old')}: copy it yourself\n`,
      });
      expect((await stat(archive)).mode & 0o777).toBe(0o600);
      const into = ['import', archive, '--state', to, '--config', houseOf('new')];
      await writeFile(houseOf('new'), CONFIG.replace('cellar', 'fresh'));
      const refused = await run(...into, '--secrets');
      expect([refused.code, refused.err]).toEqual([1, `${houseOf('new')} exists; --force replaces it`]);
      expect(await readState(to)).toEqual({});
      expect((await run(...into, '--secrets', '--force')).code).toBe(0);
      const fresh = ['--config', houseOf('fresh'), '--secrets'];
      expect(await run('import', archive, '--state', join(folder, 'third'), ...fresh)).toMatchObject({
        code: 0,
        err: '',
      });
      expect(await readState(join(folder, 'third'))).toEqual(FILES);
      expect(await readSettings('fresh')).toEqual(await readSettings('new'));
      expect(await readSettings('new')).toEqual(Object.entries(SETTINGS).map(([path, text]) => [path, text, '600']));
      expect(await readState(to)).toEqual(FILES);
    });

    it('has none without the flag, and an import without it leaves them in the file', async () => {
      await run('export', archive, '--state', from, '--config', houseOf('old'));
      const none = await run('import', archive, '--state', to, '--config', houseOf('old'), '--secrets');
      expect([none.code, none.err]).toEqual([2, expect.stringContaining('the archive holds no configuration')]);
      await run('export', archive, '--state', from, '--config', houseOf('old'), '--secrets', '--force');
      expect((await run('import', archive, '--state', to)).code).toBe(0);
      expect(await readState(to)).toEqual(FILES);
      expect(await readdir(join(folder, 'new'))).toEqual([]);
    });
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
    [
      'is not there',
      async () => {},
      /house\.tar\.gz: there is no such file; name a file that gridtide state export made$/,
    ],
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
      'names settings that it does not hold',
      async () => {
        await writeFile(join(from, 'state-manifest.json'), '{"files": {}, "settings": {"../x": "gridtide.yaml"}}');
        await pack(from, 'state-manifest.json');
      },
      /names "\.\.\/x" as settings, which it does not hold; export it again$/,
    ],
    ...['{"files": {"x": "00"}, "settings": {"x": ["gridtide.yaml"]}}', '{"files": null}'].map(
      (manifest): (typeof bad)[number] => [
        `has the list ${manifest}`,
        async () => {
          await writeFile(join(from, 'state-manifest.json'), manifest);
          await pack(from, 'state-manifest.json');
        },
        /is damaged: its state-manifest.json has another form; make it with gridtide state export$/,
      ],
    ),
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

  it('names why the file of an export cannot be written', async () =>
    expect(await run('export', join(folder, 'none', 'house.tar.gz'), '--state', from)).toMatchObject({
      code: 1,
      err: expect.stringMatching(
        /cannot be written: its directory does not exist; name a file in a directory of yours$/,
      ),
    }));

  it('a directory without a state has nothing to export', async () =>
    expect(await run('export', archive, '--state', to)).toMatchObject({
      code: 1,
      err: `${to} holds no state; name the directory with --state or --config`,
    }));
});
