/** What every disk promises; run over the real one and the one in memory. */

import { describe, expect, it } from 'vitest';
import { type Disk, DiskError } from '../../src/domain/ports.ts';

export interface DiskUnderTest {
  readonly disk: Disk;
  /** Another disk over the same files, as after a restart. */
  readonly again: () => Disk;
  readonly end: () => Promise<void>;
}

const bytes = (text: string) => new TextEncoder().encode(text);
const text = (found: Uint8Array | undefined) => (found === undefined ? undefined : new TextDecoder().decode(found));

export const readFailureKind = async (work: Promise<unknown>) => {
  try {
    await work;
  } catch (error) {
    if (error instanceof DiskError) return error.failure.kind;
    throw error;
  }
  return 'none';
};

const BAD_NAMES = ['', '.', '..', '.hidden', 'a/b', '../up', 'a\0b', 'a b', 'a\n', 'é', 'x'.repeat(201)];

export function describeDisk(name: string, open: () => Promise<DiskUnderTest>) {
  const itOnDisk = (what: string, check: (under: DiskUnderTest) => Promise<void>) =>
    it(what, async () => {
      const under = await open();
      try {
        await check(under);
      } finally {
        await under.end();
      }
    });

  describe(`${name} keeps the contract of a disk`, () => {
    itOnDisk('a file that is not there reads as undefined', async ({ disk }) => {
      expect(await disk.read('none')).toBeUndefined();
      expect(await disk.open('none')).toBeUndefined();
      expect(await disk.list()).toEqual([]);
      await disk.remove('none');
    });

    itOnDisk('reading does not stand in the way of the first writing', async ({ disk, again }) => {
      const reader = again();
      expect([await reader.read('a'), await reader.list()]).toEqual([undefined, []]);
      await disk.append('a', bytes('x'), { sync: true });
      expect([text(await reader.read('a')), await reader.list()]).toEqual(['x', ['a']]);
    });

    itOnDisk('replaced content is read back, also by the next process', async ({ disk, again }) => {
      await disk.replace('state.json', bytes('first, and longer'));
      await disk.replace('state.json', bytes('second'));
      expect(text(await disk.read('state.json'))).toBe('second');
      expect(text(await again().read('state.json'))).toBe('second');
    });

    itOnDisk(
      'overwritten content is read back, whatever its length, also by the next process',
      async ({ disk, again }) => {
        for (const content of ['first', 'other', 'one longer', 'short', '']) {
          await disk.overwrite('state', bytes(content));
          expect(text(await again().read('state'))).toBe(content);
        }
        expect(await disk.list()).toEqual(['state']);
      },
    );

    itOnDisk('an empty file is a file', async ({ disk }) => {
      await disk.replace('empty', new Uint8Array(0));
      expect((await disk.read('empty'))?.length).toBe(0);
      expect(await disk.list()).toEqual(['empty']);
    });

    itOnDisk('what is read belongs to the reader', async ({ disk }) => {
      const given = bytes('abc');
      await disk.replace('a', given);
      given[0] = 0;
      (await disk.read('a'))?.fill(0);
      expect(text(await disk.read('a'))).toBe('abc');
    });

    itOnDisk('appends stand in the order of the calls', async ({ disk }) => {
      const records = Array.from({ length: 50 }, (_, n) => `record ${n}\n`);
      await Promise.all(records.map((record, n) => disk.append('ledger', bytes(record), { sync: n % 7 === 0 })));
      expect(text(await disk.read('ledger'))).toBe(records.join(''));
    });

    itOnDisk('of replaces side by side the last call stays', async ({ disk }) => {
      await Promise.all(Array.from({ length: 20 }, (_, n) => disk.replace('a', bytes(`${n}`))));
      expect(text(await disk.read('a'))).toBe('19');
      expect(await disk.list()).toEqual(['a']);
    });

    itOnDisk('an open file is read at any offset, short only at its end', async ({ disk }) => {
      await disk.replace('map', bytes('0123456789'));
      const file = await disk.open('map');
      expect(file?.size).toBe(10);
      expect(text(await file?.read(3, 4))).toBe('3456');
      expect(text(await file?.read(8, 100))).toBe('89');
      expect(text(await file?.read(10, 1))).toBe('');
      expect(text(await file?.read(99, 1))).toBe('');
      const now = (offset: number, length: number) => {
        const target = new Uint8Array(length);
        return text(target.subarray(0, file?.readNow(target, offset)));
      };
      expect([now(3, 4), now(8, 100), now(10, 1), now(99, 1)]).toEqual(['3456', '89', '', '']);
      await file?.close();
    });

    itOnDisk('an open file stays what it was when another takes its name', async ({ disk }) => {
      await disk.replace('map', bytes('old'));
      const file = await disk.open('map');
      await disk.replace('map', bytes('new and longer'));
      expect(text(await file?.read(0, 100))).toBe('old');
      await file?.close();
    });

    itOnDisk('a file being made is seen after its commit only', async ({ disk, again }) => {
      const file = await disk.create('map');
      await file.write(bytes('....body'));
      await file.write(bytes(' and end'));
      await file.writeAt(0, bytes('head'));
      expect(await disk.read('map')).toBeUndefined();
      expect(await again().list()).toEqual([]);
      await file.commit();
      await file.abandon();
      expect(text(await disk.read('map'))).toBe('headbody and end');
      expect(await disk.list()).toEqual(['map']);
    });

    itOnDisk('an abandoned file leaves the old one', async ({ disk }) => {
      await disk.replace('map', bytes('old'));
      const file = await disk.create('map');
      await file.write(bytes('half'));
      await file.abandon();
      await file.abandon();
      expect(text(await disk.read('map'))).toBe('old');
      expect(await disk.list()).toEqual(['map']);
    });

    itOnDisk('two makers of one name do not mix: the last commit stays', async ({ disk }) => {
      const [one, two] = await Promise.all([disk.create('map'), disk.create('map')]);
      await one.write(bytes('one'));
      await two.write(bytes('two'));
      await two.commit();
      await one.commit();
      expect(text(await disk.read('map'))).toBe('one');
    });

    itOnDisk('nothing is written beyond what was written', async ({ disk }) => {
      const file = await disk.create('map');
      await file.write(bytes('1234'));
      await expect(file.writeAt(3, bytes('xx'))).rejects.toThrow('beyond');
      await file.abandon();
    });

    itOnDisk('a removed file is gone, others stay', async ({ disk }) => {
      await disk.replace('a', bytes('1'));
      await disk.replace('b', bytes('2'));
      await disk.remove('a');
      expect(await disk.list()).toEqual(['b']);
    });

    itOnDisk('a name that could leave the directory is a broken law', async ({ disk }) => {
      for (const bad of BAD_NAMES) {
        await expect(disk.read(bad), bad).rejects.toThrow('is no name');
        await expect(disk.replace(bad, bytes('x')), bad).rejects.toThrow('is no name');
        await expect(disk.append(bad, bytes('x'), { sync: true }), bad).rejects.toThrow('is no name');
        await expect(disk.create(bad), bad).rejects.toThrow('is no name');
      }
      expect(await disk.list()).toEqual([]);
    });
  });
}

/** The part of the contract that shows when `limit` bytes and a little are all there is. */
export function describeFullDisk(
  name: string,
  open: () => Promise<DiskUnderTest & { readonly limit: number }>,
  skip = false,
) {
  describe.skipIf(skip)(`${name} when it runs full`, () => {
    it('keeps what it has, says "full", and recovers', async () => {
      const { disk, limit, end } = await open();
      try {
        const large = new Uint8Array(limit).fill(7);
        const half = large.subarray(0, Math.floor(limit / 2));
        await disk.replace('state', bytes('good'));
        await disk.append('ledger', bytes('record\n'), { sync: true });
        await disk.replace('ballast', half);

        expect(await readFailureKind(disk.replace('state', large))).toBe('full');
        expect(await readFailureKind(disk.append('ledger', large, { sync: true }))).toBe('full');
        const file = await disk.create('map');
        expect(await readFailureKind(file.write(large))).toBe('full');
        await file.abandon();
        expect(text(await disk.read('state'))).toBe('good');
        expect(text(await disk.read('ledger'))).toBe('record\n');
        expect(await disk.list()).toEqual(['ballast', 'ledger', 'state']);

        await disk.remove('ballast');
        await disk.replace('state', bytes('better'));
        await disk.append('ledger', bytes('second\n'), { sync: true });
        expect(text(await disk.read('state'))).toBe('better');
        expect(text(await disk.read('ledger'))).toBe('record\nsecond\n');
      } finally {
        await end();
      }
    });
  });
}
