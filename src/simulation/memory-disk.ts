/** A state directory in memory with the contract of the real one, and with power cuts and failures on request. */

import { type Disk, DiskError, type DiskFailure, type NewFile, type OpenFile } from '../domain/ports.ts';

export interface MemoryDisk extends Disk {
  /** From now on every write fails in this way, until called with undefined; reading goes on. */
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

type Files = Map<string, StoredFile>;

/** The free room of the disk, and the reason of its refusals. */
interface Space {
  setFailure(kind: DiskFailure['kind'] | undefined): void;
  /** Throws `DiskError` when writing fails or `more` bytes do not fit. */
  claim(name: string, more: number): void;
}

function createSpace(files: Files, capacity: number): Space {
  let failure: DiskFailure['kind'] | undefined;
  const countUsedBytes = () => [...files.values()].reduce((sum, { bytes }) => sum + bytes.length, 0);
  return {
    setFailure: (kind) => {
      failure = kind;
    },
    claim(name, more) {
      const kind = failure ?? (more > 0 && countUsedBytes() + more > capacity ? 'full' : undefined);
      if (kind !== undefined)
        throw new DiskError({ kind, detail: `cannot store ${name}: the disk in memory is ${kind}` });
    },
  };
}

function createNewFile(name: string, files: Files, space: Space): NewFile {
  let bytes: Uint8Array = new Uint8Array(0);
  let isFinished = false;
  return {
    async write(more) {
      space.claim(name, bytes.length + more.length);
      bytes = concatBytes(bytes, more);
    },
    async writeAt(offset, more) {
      if (offset < 0 || offset + more.length > bytes.length)
        throw new Error(`${name}: ${offset} is beyond what was written`);
      space.claim(name, bytes.length);
      bytes.set(more, offset);
    },
    async commit() {
      if (isFinished) throw new Error(`${name} was abandoned or is in place already`);
      isFinished = true;
      space.claim(name, bytes.length);
      files.set(name, { bytes, synced: bytes.length });
    },
    async abandon() {
      isFinished = true;
    },
  };
}

/** An open file keeps its content when another file replaces it. */
const openStoredFile = ({ bytes }: StoredFile): OpenFile => ({
  size: bytes.length,
  read: async (offset, length) => bytes.slice(offset, offset + length),
  readNow: (target, offset) => {
    const part = bytes.subarray(offset, offset + target.length);
    target.set(part);
    return part.length;
  },
  close: async () => {},
});

function checkFileName(name: string): void {
  if (!FILE_NAME.test(name)) throw new Error(`"${name}" is no name for a file of the state directory`);
}

function createDiskOver(files: Files, capacity: number): MemoryDisk {
  const space = createSpace(files, capacity);
  const replace = async (name: string, bytes: Uint8Array) => {
    checkFileName(name);
    space.claim(name, bytes.length);
    files.set(name, { bytes: bytes.slice(), synced: bytes.length });
  };
  return {
    async read(name) {
      checkFileName(name);
      return files.get(name)?.bytes.slice();
    },
    replace,
    overwrite: replace,
    async append(name, bytes, { sync }) {
      checkFileName(name);
      space.claim(name, bytes.length);
      const old = files.get(name) ?? { bytes: new Uint8Array(0), synced: 0 };
      const whole = concatBytes(old.bytes, bytes);
      files.set(name, { bytes: whole, synced: sync ? whole.length : old.synced });
    },
    async open(name) {
      checkFileName(name);
      const found = files.get(name);
      return found && openStoredFile(found);
    },
    async create(name) {
      checkFileName(name);
      space.claim(name, 0);
      return createNewFile(name, files, space);
    },
    async remove(name) {
      checkFileName(name);
      space.claim(name, 0);
      files.delete(name);
    },
    list: async () => [...files.keys()].sort(),
    failWrites: space.setFailure,
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
