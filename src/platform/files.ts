/** Node's file functions as promises, without what `node:fs/promises` loads beside them: lines, streams and watchers, 6 to 9 ms of each start. */

import type { Stats } from 'node:fs';
import { promisify } from 'node:util';

/** An import of node:fs would load its streams too, which is 2 ms of every start. */
const fs = process.getBuiltinModule('node:fs');

export const { constants, readSync } = fs;
export const access = promisify(fs.access);
export const chmod = promisify(fs.chmod);
export const lstat = promisify(fs.lstat);
export const mkdir = promisify(fs.mkdir);
export const readdir = promisify(fs.readdir);
export const readFile = promisify(fs.readFile);
export const realpath = promisify(fs.realpath.native);
export const rename = promisify(fs.rename);
export const stat = promisify(fs.stat);
export const unlink = promisify(fs.unlink);
export const writeFile = promisify(fs.writeFile);

const [openDescriptor, closeDescriptor] = [promisify(fs.open), promisify(fs.close)];
const [read, write, fstat] = [promisify(fs.read), promisify(fs.write), promisify(fs.fstat)];
const [fsync, fdatasync, ftruncate] = [promisify(fs.fsync), promisify(fs.fdatasync), promisify(fs.ftruncate)];
const [fchown, fchmod] = [promisify(fs.fchown), promisify(fs.fchmod)];

/** As `node:fs/promises` has it, with what is used of it. */
export interface FileHandle {
  readonly fd: number;
  read(into: Uint8Array, offset: number, length: number, position: number): Promise<{ readonly bytesRead: number }>;
  write(
    bytes: Uint8Array,
    offset: number,
    length: number,
    position: number | null,
  ): Promise<{ readonly bytesWritten: number }>;
  stat(): Promise<Stats>;
  sync(): Promise<void>;
  datasync(): Promise<void>;
  truncate(size: number): Promise<void>;
  chown(uid: number, gid: number): Promise<void>;
  chmod(mode: number): Promise<void>;
  /** Waits for what is under way: the number of a closed file is soon that of another. */
  close(): Promise<void>;
}

const CLOSED = -1;

export async function open(path: string, flags: number, mode?: number): Promise<FileHandle> {
  let fd = await openDescriptor(path, flags, mode);
  const underWay = new Set<Promise<unknown>>();
  const run = async <T>(work: (fd: number) => Promise<T>): Promise<T> => {
    if (fd === CLOSED) throw Object.assign(new Error(`EBADF: ${path} is closed`), { code: 'EBADF' });
    const task = work(fd);
    underWay.add(task);
    try {
      return await task;
    } finally {
      underWay.delete(task);
    }
  };
  return {
    get fd() {
      return fd;
    },
    read: (into, offset, length, position) => run((fd) => read(fd, into, offset, length, position)),
    write: (bytes, offset, length, position) => run((fd) => write(fd, bytes, offset, length, position)),
    stat: () => run((fd) => fstat(fd)),
    sync: () => run(fsync),
    datasync: () => run(fdatasync),
    truncate: (size) => run((fd) => ftruncate(fd, size)),
    chown: (uid, gid) => run((fd) => fchown(fd, uid, gid)),
    chmod: (mode) => run((fd) => fchmod(fd, mode)),
    async close() {
      const closing = fd;
      fd = CLOSED;
      await Promise.allSettled(underWay);
      if (closing !== CLOSED) await closeDescriptor(closing);
    },
  };
}
