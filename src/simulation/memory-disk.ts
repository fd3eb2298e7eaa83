/** A state directory in memory, with the contract of the real one; decides nothing, and forgets all when it goes. */

import { type Disk, DiskError, type DiskFailure, type NewFile } from '../domain/ports.ts';

export interface MemoryDisk extends Disk {
  /** From now on all writing fails so, until told otherwise; reading goes on. */
  failWrites(kind: DiskFailure['kind'] | undefined): void;
  /** What a power cut now would leave: synced content, and of what was only appended the first `kept` part (0 to 1). */
  afterPowerCut(keptShare?: number): MemoryDisk;
}

interface StoredFile {
  readonly bytes: Uint8Array;
  /** How much of it would outlive a power cut. */
  readonly synced: number;
}

const FILE_NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}$/;

function concatBytes(...parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

const EMPTY: StoredFile = { bytes: new Uint8Array(0), synced: 0 };

function createDiskOver(files: Map<string, StoredFile>, capacity: number): MemoryDisk {
  let writeFailure: DiskFailure['kind'] | undefined;

  const checkName = (name: string) => {
    if (!FILE_NAME.test(name)) throw new Error(`"${name}" is no name for a file of the state directory`);
  };
  const fail = (kind: DiskFailure['kind'], name: string): never => {
    throw new DiskError({ kind, detail: `${name} cannot be stored: the disk in memory is ${kind}` });
  };
  const countUsedBytes = () => [...files.values()].reduce((sum, { bytes }) => sum + bytes.length, 0);
  const claimSpace = (name: string, more: number) => {
    if (writeFailure !== undefined) fail(writeFailure, name);
    if (countUsedBytes() + more > capacity) fail('full', name);
  };
  const store = (name: string, bytes: Uint8Array) => files.set(name, { bytes, synced: bytes.length });

  const createFile = (name: string): NewFile => {
    let bytes: Uint8Array = new Uint8Array(0);
    let isFinished = false;
    return {
      async write(more) {
        claimSpace(name, bytes.length + more.length);
        bytes = concatBytes(bytes, more);
      },
      async writeAt(offset, more) {
        if (offset < 0 || offset + more.length > bytes.length)
          throw new Error(`${name}: ${offset} is beyond what was written`);
        claimSpace(name, bytes.length);
        bytes.set(more, offset);
      },
      async commit() {
        if (isFinished) throw new Error(`${name} was abandoned or is in place already`);
        isFinished = true;
        claimSpace(name, bytes.length);
        store(name, bytes);
      },
      async abandon() {
        isFinished = true;
      },
    };
  };

  return {
    async read(name) {
      checkName(name);
      return files.get(name)?.bytes.slice();
    },
    async replace(name, bytes) {
      checkName(name);
      claimSpace(name, bytes.length);
      store(name, bytes.slice());
    },
    async append(name, bytes, { sync }) {
      checkName(name);
      claimSpace(name, bytes.length);
      const old = files.get(name) ?? EMPTY;
      const whole = concatBytes(old.bytes, bytes);
      files.set(name, { bytes: whole, synced: sync ? whole.length : old.synced });
    },
    async open(name) {
      checkName(name);
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
      checkName(name);
      claimSpace(name, 0);
      return createFile(name);
    },
    async remove(name) {
      checkName(name);
      if (writeFailure !== undefined) fail(writeFailure, name);
      files.delete(name);
    },
    list: async () => [...files.keys()].sort(),
    failWrites: (kind) => {
      writeFailure = kind;
    },
    afterPowerCut(keptShare = 0) {
      const survivors = [...files].map(([name, { bytes, synced }]): [string, StoredFile] => {
        const length = synced + Math.floor((bytes.length - synced) * keptShare);
        return [name, { bytes: bytes.slice(0, length), synced: length }];
      });
      return createDiskOver(new Map(survivors), capacity);
    },
  };
}

/** An empty disk; `capacity` in bytes makes it run full. */
export function createMemoryDisk(options: { readonly capacity?: number } = {}): MemoryDisk {
  return createDiskOver(new Map(), options.capacity ?? Number.POSITIVE_INFINITY);
}
