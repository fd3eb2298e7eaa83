/** A state directory in memory, with the contract of the real one; decides nothing, and forgets all when it goes. */

import { type Disk, DiskError, type DiskFailure, type NewFile } from '../world.ts';

export interface MemoryDisk extends Disk {
  /** From now on all writing fails so, until told otherwise; reading goes on. */
  refuse(kind: DiskFailure['kind'] | undefined): void;
  /** What a power cut now would leave: synced content, and of what was only appended the first `kept` part (0 to 1). */
  afterPowerCut(kept?: number): MemoryDisk;
}

interface Stored {
  readonly bytes: Uint8Array;
  /** How much of it would outlive a power cut. */
  readonly synced: number;
}

const NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}$/;

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

const EMPTY: Stored = { bytes: new Uint8Array(0), synced: 0 };

function overFiles(files: Map<string, Stored>, capacity: number): MemoryDisk {
  let refused: DiskFailure['kind'] | undefined;

  const check = (name: string) => {
    if (!NAME.test(name)) throw new Error(`"${name}" is no name for a file of the state directory`);
  };
  const fail = (kind: DiskFailure['kind'], name: string): never => {
    throw new DiskError({ kind, detail: `${name} cannot be stored: the disk in memory is ${kind}` });
  };
  const used = () => [...files.values()].reduce((sum, { bytes }) => sum + bytes.length, 0);
  const claim = (name: string, more: number) => {
    if (refused !== undefined) fail(refused, name);
    if (used() + more > capacity) fail('full', name);
  };
  const store = (name: string, bytes: Uint8Array) => files.set(name, { bytes, synced: bytes.length });

  const createFile = (name: string): NewFile => {
    let bytes: Uint8Array = new Uint8Array(0);
    let over = false;
    return {
      async write(more) {
        claim(name, bytes.length + more.length);
        bytes = joined(bytes, more);
      },
      async writeAt(offset, more) {
        if (offset < 0 || offset + more.length > bytes.length)
          throw new Error(`${name}: ${offset} is beyond what was written`);
        claim(name, bytes.length);
        bytes.set(more, offset);
      },
      async commit() {
        if (over) throw new Error(`${name} was abandoned or is in place already`);
        over = true;
        claim(name, bytes.length);
        store(name, bytes);
      },
      async abandon() {
        over = true;
      },
    };
  };

  return {
    async read(name) {
      check(name);
      return files.get(name)?.bytes.slice();
    },
    async replace(name, bytes) {
      check(name);
      claim(name, bytes.length);
      store(name, bytes.slice());
    },
    async append(name, bytes, { sync }) {
      check(name);
      claim(name, bytes.length);
      const old = files.get(name) ?? EMPTY;
      const whole = joined(old.bytes, bytes);
      files.set(name, { bytes: whole, synced: sync ? whole.length : old.synced });
    },
    async open(name) {
      check(name);
      const found = files.get(name);
      if (found === undefined) return undefined;
      // An open file stays what it was when another takes its name.
      const { bytes } = found;
      return {
        size: bytes.length,
        read: async (offset, length) => bytes.slice(offset, offset + length),
        readNow: (target, offset) => {
          const part = bytes.subarray(offset, offset + target.length);
          target.set(part);
          return part.length;
        },
        close: async () => {},
      };
    },
    async create(name) {
      check(name);
      claim(name, 0);
      return createFile(name);
    },
    async remove(name) {
      check(name);
      if (refused !== undefined) fail(refused, name);
      files.delete(name);
    },
    list: async () => [...files.keys()].sort(),
    refuse: (kind) => {
      refused = kind;
    },
    afterPowerCut(kept = 0) {
      const left = [...files].map(([name, { bytes, synced }]): [string, Stored] => {
        const length = synced + Math.floor((bytes.length - synced) * kept);
        return [name, { bytes: bytes.slice(0, length), synced: length }];
      });
      return overFiles(new Map(left), capacity);
    },
  };
}

/** An empty disk; `capacity` in bytes makes it run full. */
export function createMemoryDisk(options: { readonly capacity?: number } = {}): MemoryDisk {
  return overFiles(new Map(), options.capacity ?? Number.POSITIVE_INFINITY);
}
