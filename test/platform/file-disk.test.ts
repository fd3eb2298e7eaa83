/** The real disk and the one in memory keep one contract; then what only each of them can show. */

import { spawnSync } from 'node:child_process';
import { chmod, chown, mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { translateDiskError } from '../../src/platform/disk-error-text.ts';
import { createFileDisk, createSharedFileDisk } from '../../src/platform/file-disk.ts';
import { createMemoryDisk } from '../../src/simulation/memory-disk.ts';
import { describeDisk, describeFullDisk, readFailureKind } from './disk-contract.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const text = (found: Uint8Array | undefined) => (found === undefined ? undefined : new TextDecoder().decode(found));

async function realDisk() {
  const directory = join(await mkdtemp(join(tmpdir(), 'gridtide-disk-')), 'state');
  const end = () => rm(join(directory, '..'), { recursive: true, force: true });
  return { disk: createFileDisk(directory), again: () => createFileDisk(directory), end };
}

async function memoryDisk() {
  const disk = createMemoryDisk();
  return { disk, again: () => disk, end: async () => {} };
}

/** A file system of 1 MiB: only the superuser may mount one. */
async function smallDisk() {
  const directory = await mkdtemp(join(tmpdir(), 'gridtide-full-'));
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m,mode=700', 'tmpfs', directory]);
  if (mounted.status !== 0) throw new Error(`no small file system: ${mounted.stderr}`);
  const end = async () => {
    spawnSync('umount', [directory]);
    await rm(directory, { recursive: true, force: true });
  };
  return { disk: createFileDisk(directory), again: () => createFileDisk(directory), limit: 1024 * 1024, end };
}

function canMount(): boolean {
  return spawnSync('unshare', ['-m', 'true']).status === 0 && process.getuid?.() === 0;
}
if (!canMount()) console.warn('SKIPPED: the full disk on a real file system wants root, to mount a small one');

describeDisk('the real disk', realDisk);
describeDisk('the disk in memory', memoryDisk);
describeFullDisk('the real disk', smallDisk, !canMount());
describeFullDisk('the disk in memory', async () => ({
  disk: createMemoryDisk({ capacity: 1000 }),
  again: () => createMemoryDisk(),
  limit: 1000,
  end: async () => {},
}));

describe('the real disk', () => {
  let base: string;
  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), 'gridtide-disk-'));
  });
  afterEach(() => rm(base, { recursive: true, force: true }));

  it('makes its directory for the owner alone, and files likewise', async () => {
    const directory = join(base, 'deep', 'state');
    await createFileDisk(directory).replace('a', bytes('x'));
    expect((await stat(directory)).mode & 0o777).toBe(0o700);
    expect((await stat(join(directory, 'a'))).mode & 0o777).toBe(0o600);
  });

  it('lets the group of its directory read new files, where it may list them', async () => {
    await chmod(base, 0o750);
    const disk = createFileDisk(base);
    await disk.replace('a', bytes('x'));
    await disk.append('b', bytes('x'), { sync: false });
    for (const name of ['a', 'b']) expect((await stat(join(base, name))).mode & 0o777).toBe(0o640);
  });

  it.skipIf(process.getuid?.() !== 0)(
    'shared, it is read by others, and root gives its owner what it writes',
    async () => {
      const [OWNER, GROUP] = [12_345, 12_346];
      await createFileDisk(base).replace('a', bytes('x'));
      await chown(base, OWNER, GROUP);
      const own = createFileDisk(base);
      for (const work of [() => own.read('a'), () => own.replace('a', bytes('y'))])
        await expect(work()).rejects.toThrow('it belongs to another user');
      const shared = createSharedFileDisk(base);
      expect(text(await shared.read('a'))).toBe('x');
      await shared.replace('a', bytes('y'));
      await shared.append('b', bytes('x'), { sync: false });
      for (const name of ['a', 'b']) expect(await stat(join(base, name))).toMatchObject({ uid: OWNER, gid: GROUP });
      await chmod(base, 0o770);
      await expect(createSharedFileDisk(base).read('a')).rejects.toThrow('others may write it');
    },
  );

  it('makes nothing for a reader, not even a directory above', async () => {
    const disk = createFileDisk(join(base, 'deep', 'state'));
    expect([await disk.read('a'), await disk.open('a'), await disk.list()]).toEqual([undefined, undefined, []]);
    await disk.remove('a');
    expect(await readdir(base)).toEqual([]);
    await disk.replace('a', bytes('x')); // looked at again
    expect([text(await disk.read('a')), await disk.list()]).toEqual(['x', ['a']]);
  });

  it('finds for a reader what another made after the first look', async () => {
    const reader = createFileDisk(join(base, 'state'));
    expect(await reader.list()).toEqual([]);
    await createFileDisk(join(base, 'state')).replace('a', bytes('x'));
    expect([text(await reader.read('a')), await reader.list()]).toEqual(['x', ['a']]);
  });

  it('refuses a directory that others may write to a reader too', async () => {
    await createFileDisk(base).replace('a', bytes('x'));
    await chmod(base, 0o777);
    const disk = createFileDisk(base);
    for (const work of [() => disk.read('a'), () => disk.open('a'), () => disk.list(), () => disk.remove('a')])
      await expect(work()).rejects.toThrow('others may write it (mode 777); chmod 700');
    await chmod(base, 0o700);
    expect(text(await disk.read('a'))).toBe('x'); // looked at again
  });

  it('refuses a directory that others may write', async () => {
    await chmod(base, 0o777);
    const disk = createFileDisk(base);
    await expect(disk.replace('a', bytes('x'))).rejects.toThrow('others may write it (mode 777); chmod 700');
    await chmod(base, 0o700);
    await disk.replace('a', bytes('x')); // looked at again
    expect(await disk.list()).toEqual(['a']);
  });

  it.each([
    [0o770, '770'],
    [0o720, '720'],
    [0o702, '702'],
  ])('refuses one that its group or all may write, and not one that they may read: mode %o', async (mode, words) => {
    await chmod(base, mode);
    const disk = createFileDisk(base);
    await expect(disk.replace('a', bytes('x'))).rejects.toThrow(`others may write it (mode ${words}); chmod 700`);
    await chmod(base, 0o755);
    await disk.replace('a', bytes('x'));
  });

  it('works through a link to its directory, never through a link inside it', async () => {
    const directory = join(base, 'private');
    await mkdir(directory, { mode: 0o700 });
    await symlink(directory, join(base, 'state'));
    await writeFile(join(base, 'victim'), 'keep me');
    await symlink(join(base, 'victim'), join(directory, 'ledger'));
    const disk = createFileDisk(join(base, 'state'));

    expect(await readFailureKind(disk.read('ledger'))).toBe('io');
    expect(await readFailureKind(disk.append('ledger', bytes('x'), { sync: true }))).toBe('io');
    await disk.replace('ledger', bytes('a file again'));
    expect(text(await disk.read('ledger'))).toBe('a file again');
    expect(spawnSync('cat', [join(base, 'victim')]).stdout.toString()).toBe('keep me');
  });

  it.each([
    ['ENOSPC', 'no space is left; free some'],
    ['EMFILE', 'too many are open already'],
    ['EFBIG', 'a file may not grow that large here; raise the limit'],
    ['EISDIR', 'a directory stands there; take it away'],
    ['EIO', 'the device answered with an error; check the storage'],
  ])('tells %s with its cure', (code, words) => {
    const error = translateDiskError(Object.assign(new Error(code), { code }), '/state/map', 'write');
    expect(String(error)).toContain(`/state/map cannot be stored (${code}): `);
    expect(String(error)).toContain(words);
  });

  it('does not hang at a pipe or read a directory', async () => {
    spawnSync('mkfifo', [join(base, 'pipe')]);
    await mkdir(join(base, 'folder'));
    const disk = createFileDisk(base);
    expect(await readFailureKind(disk.read('pipe'))).toBe('io');
    expect(await readFailureKind(disk.read('folder'))).toBe('io');
    expect(await readFailureKind(disk.append('pipe', bytes('x'), { sync: true }))).toBe('io');
    expect(await disk.list()).toEqual([]);
  });

  // The number of a closed descriptor is soon that of another file.
  it('closes a file after the read under way, and reads nothing through a closed one', async () => {
    const disk = createFileDisk(base);
    await disk.replace('one', bytes('first'));
    const file = await disk.open('one');
    const reading = file?.read(0, 5);
    const closing = file?.close();
    await disk.replace('two', bytes('other'));
    const later = await disk.open('two');
    expect(text(await reading)).toBe('first');
    expect(await readFailureKind(file?.read(0, 5) ?? Promise.resolve())).toBe('io');
    await closing;
    expect(text(await later?.read(0, 5))).toBe('other');
    await later?.close();
  });

  it('removes what dead processes were making, not what living ones make', async () => {
    const dead = spawnSync('true').pid;
    const names = { dead: `.map.${dead}-abc-0.new`, own: `.map.${process.pid}-abc-0.new`, alive: `.map.1-abc-0.new` };
    for (const name of [...Object.values(names), '.other', 'state']) await writeFile(join(base, name), 'x');
    await createFileDisk(base).read('state');
    expect(await readdir(base)).toContain(names.dead); // a reader leaves all as it is
    const first = createFileDisk(base);
    const making = await first.create('map');
    await createFileDisk(base).replace('state', bytes('y'));
    const left = await readdir(base);
    expect(left).not.toContain(names.dead);
    expect(left).not.toContain(names.own); // the number of this process, but of a life before
    expect(left).toContain('.other');
    await making.write(bytes('whole'));
    await making.commit();
    expect(text(await first.read('map'))).toBe('whole');
  });

  it('says where nothing can be made that it is missing, and does not try for ever', async () => {
    await expect(createFileDisk('/proc/gridtide/state').replace('a', bytes('x'))).rejects.toMatchObject({
      failure: { kind: 'missing' },
    });
  });

  it('a directory that cannot be made is missing until it can', async () => {
    await writeFile(join(base, 'state'), 'a file in its place');
    const disk = createFileDisk(join(base, 'state'));
    expect(await readFailureKind(disk.replace('a', bytes('x')))).not.toBe('none');
    expect(await readFailureKind(disk.list())).toBe('missing');
    await expect(disk.read('a')).rejects.toThrow(/state cannot be used \(ENOTDIR\): a file stands in the way/);
    await rm(join(base, 'state'));
    await disk.replace('a', bytes('x'));
    expect(await disk.list()).toEqual(['a']);
  });
});

describe('the disk in memory', () => {
  //  kept   the ledger after the cut
  const rows: readonly (readonly [number, string])[] = [
    [0, 'synced'],
    [0.5, 'synced los'],
    [1, 'synced lost it'],
  ];
  it.each(rows)('a power cut leaves %d of what was not synced', async (share, left) => {
    const disk = createMemoryDisk();
    await disk.append('ledger', bytes('synced'), { sync: true });
    await disk.append('ledger', bytes(' lost it'), { sync: false });
    await (await disk.create('map')).write(bytes('half'));
    const after = disk.afterPowerCut(share);
    expect(text(await after.read('ledger'))).toBe(left);
    expect(await after.list()).toEqual(['ledger']);
  });

  it.each(['full', 'read-only', 'io'] as const)('fails as "%s" when told, reads on, and recovers', async (kind) => {
    const disk = createMemoryDisk();
    await disk.replace('a', bytes('old'));
    disk.failWrites(kind);
    expect(await readFailureKind(disk.replace('a', bytes('new')))).toBe(kind);
    expect(await readFailureKind(disk.append('a', bytes('new'), { sync: true }))).toBe(kind);
    expect(await readFailureKind(disk.create('b'))).toBe(kind);
    expect(text(await disk.read('a'))).toBe('old');
    disk.failWrites(undefined);
    await disk.replace('a', bytes('new'));
    expect(text(await disk.read('a'))).toBe('new');
  });
});
