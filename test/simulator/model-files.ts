/** The disk of the simulated machine: contents, names, and of both what a power cut leaves. */

import type { Chance } from './chance.ts';

export type DiskTrouble = 'full' | 'read-only' | 'io';

const CODES: Readonly<Record<DiskTrouble, string>> = { full: 'ENOSPC', 'read-only': 'EROFS', io: 'EIO' };

export const fileError = (code: string, path: string) => Object.assign(new Error(`${code}: ${path}`), { code });

/** The content of a file, and how much of it is on the medium. */
export class Inode {
  readonly number: number;
  private bytes = new Uint8Array(256);
  size = 0;
  private syncedSize = 0;
  /** What is on the medium, once what was synced has been overwritten. */
  private syncedCopy: Uint8Array | undefined;

  constructor(number: number) {
    this.number = number;
  }

  write(source: Uint8Array, at: number): void {
    const end = at + source.length;
    if (at < this.syncedSize) this.syncedCopy ??= this.bytes.slice(0, this.syncedSize);
    if (end > this.bytes.length) {
      const grown = new Uint8Array(Math.max(end, this.bytes.length * 2));
      grown.set(this.bytes.subarray(0, this.size));
      this.bytes = grown;
    }
    this.bytes.set(source, at);
    this.size = Math.max(this.size, end);
  }

  truncate(size: number): void {
    if (size < this.syncedSize) this.syncedCopy ??= this.bytes.slice(0, this.syncedSize);
    this.size = Math.min(this.size, size);
  }

  content(from = 0, to = this.size): Uint8Array {
    return this.bytes.subarray(Math.min(from, this.size), Math.min(to, this.size));
  }

  sync(): void {
    this.syncedSize = this.size;
    this.syncedCopy = undefined;
  }

  /** What the medium has after a power cut: of what was not synced nothing, a part in order, or a part whose end is zeros. */
  losePower(chance: Chance): void {
    const part = chance.pick([0, chance.fraction(), 1]);
    if (this.syncedCopy !== undefined) {
      const torn = Math.floor(this.syncedCopy.length * part);
      const left = this.syncedCopy.slice();
      left.set(this.bytes.subarray(0, Math.min(torn, this.size)));
      this.bytes = left;
      this.size = left.length;
    } else {
      const unsynced = this.size - this.syncedSize;
      const left = Math.floor(unsynced * part);
      this.size = this.syncedSize + left;
      const zeros = chance.hits(0.3) ? Math.min(left, chance.whole(1, 512)) : 0;
      this.bytes.fill(0, this.size - zeros, this.size);
    }
    this.sync();
  }
}

interface NameChange {
  readonly directory: string;
  apply(names: Map<string, Inode>): void;
}

export interface ModelFiles {
  /** From now on writing fails so below this directory, or everywhere, or works again. */
  trouble: { readonly kind: DiskTrouble; readonly since: number; readonly below?: string } | undefined;
  bytesWritten: number;
  readonly names: ReadonlyMap<string, Inode>;
  isDirectory(path: string): boolean;
  makeDirectory(path: string): void;
  /** Throws what the trouble of the moment says. */
  checkWritable(path: string): void;
  create(path: string): Inode;
  rename(from: string, to: string): void;
  remove(path: string): void;
  syncDirectory(path: string): void;
  list(directory: string): readonly string[];
  /** Content written by the machine's owner, on the medium at once. */
  place(path: string, text: string): void;
  losePower(chance: Chance): void;
  /** The files a dead process was making are those of a dead process from now on. */
  orphanUnfinished(pid: number): void;
}

const directoryOf = (path: string) => path.slice(0, path.lastIndexOf('/'));

export function createModelFiles(directories: readonly string[]): ModelFiles {
  let names = new Map<string, Inode>();
  let durableNames = new Map<string, Inode>();
  let changes: NameChange[] = [];
  let made = 0;
  const known = new Set(directories);

  const change = (directory: string, apply: NameChange['apply']): void => {
    apply(names);
    changes.push({ directory, apply });
  };
  const files: ModelFiles = {
    trouble: undefined,
    bytesWritten: 0,
    get names() {
      return names;
    },
    isDirectory: (path) => known.has(path),
    makeDirectory: (path) => void known.add(path),
    checkWritable(path) {
      const { kind, below = '/' } = files.trouble ?? {};
      if (kind !== undefined && path.startsWith(below)) throw fileError(CODES[kind], path);
    },
    create(path) {
      made += 1;
      const inode = new Inode(made);
      change(directoryOf(path), (all) => void all.set(path, inode));
      return inode;
    },
    rename(from, to) {
      const inode = names.get(from);
      if (inode === undefined) throw fileError('ENOENT', from);
      change(directoryOf(to), (all) => {
        all.delete(from);
        all.set(to, inode);
      });
    },
    remove: (path) => change(directoryOf(path), (all) => void all.delete(path)),
    syncDirectory(path) {
      for (const one of changes) if (one.directory === path) one.apply(durableNames);
      changes = changes.filter((one) => one.directory !== path);
    },
    list: (directory) =>
      [...names.keys()]
        .filter((path) => directoryOf(path) === directory)
        .map((path) => path.slice(directory.length + 1)),
    place(path, text) {
      made += 1;
      const inode = new Inode(made);
      inode.write(new TextEncoder().encode(text), 0);
      inode.sync();
      names.set(path, inode);
      durableNames.set(path, inode);
    },
    losePower(chance) {
      // The journal keeps the changes of names in their order.
      const kept = chance.hits(0.5) ? 0 : chance.whole(0, changes.length);
      for (const one of changes.slice(0, kept)) one.apply(durableNames);
      changes = [];
      names = durableNames;
      for (const inode of new Set(names.values())) inode.losePower(chance);
      durableNames = new Map(names);
    },
    orphanUnfinished(pid) {
      for (const [path, inode] of [...names]) {
        if (!path.endsWith('.new')) continue;
        const orphan = path.replace(`.${pid}-`, '.4194305-');
        for (const all of [names, durableNames]) if (all.delete(path)) all.set(orphan, inode);
      }
    },
  };
  return files;
}
