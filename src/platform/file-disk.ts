/** The state directory on a real file system: replaces files atomically and appends to them durably. */

import { dirname, join } from 'node:path';
import type { Disk, NewFile, OpenFile } from '../domain/ports.ts';
import { buildRefusedDiskError, type DiskUse, isFileMissing, translateDiskError } from './disk-error-text.ts';
import {
  chmod,
  constants,
  type FileHandle,
  lstat,
  open,
  readdir,
  readSync,
  realpath,
  rename,
  stat,
  unlink,
} from './files.ts';
import { makeDirectory } from './make-directory.ts';

const { O_RDONLY, O_WRONLY, O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_DIRECTORY } = constants;

const FILE_MODE = 0o600;
const DIRECTORY_MODE = 0o700;
const WRITABLE_BY_OTHERS = 0o022;
const READABLE_BY_GROUP = 0o040;
/** The largest file that is read whole; larger ones are opened. */
const MAX_WHOLE_BYTES = 64 * 1024 * 1024;

/** First character no dot: those are the files being made. */
const DISK_FILE_NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}$/;
const UNFINISHED_NAME = /^\..+\.(\d+)-([0-9a-z]+)-\d+\.new$/;

/** Tells the files this process is making from those a dead one with the same number left. */
const processToken = process.hrtime.bigint().toString(36);
let fileCount = 0;

function requireFileName(name: string): string {
  if (!DISK_FILE_NAME.test(name)) throw new Error(`"${name}" is no name for a file of the state directory`);
  return name;
}

async function writeAll(file: FileHandle, bytes: Uint8Array, position: number | null): Promise<void> {
  let done = 0;
  while (done < bytes.length) {
    const at = position === null ? null : position + done;
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, at);
    done += bytesWritten;
  }
}

async function readAll(file: FileHandle, offset: number, length: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(length);
  let done = 0;
  while (done < length) {
    const { bytesRead } = await file.read(bytes, done, length - done, offset + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return bytes.subarray(0, done);
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, O_RDONLY | O_DIRECTORY);
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/** Whether the maker of an unfinished file may still be at work: `map update` runs beside the agent. */
function isBeingWritten(name: string): boolean {
  const [, pid = '', maker] = UNFINISHED_NAME.exec(name) ?? [];
  if (Number(pid) === process.pid) return maker === processToken;
  try {
    process.kill(Number(pid), 0);
    return true;
  } catch {
    return false; // ended, or of another user, who could not write here
  }
}

async function removeUnfinished(path: string): Promise<void> {
  const left = (await readdir(path)).filter((name) => UNFINISHED_NAME.test(name) && !isBeingWritten(name));
  // A disk that cannot be written can still be read: what is in the way stays.
  await Promise.all(left.map((name) => unlink(join(path, name)).catch(() => {})));
}

interface FileDiskOptions {
  readonly allowsOtherOwner?: boolean;
}

/** The real path of a state directory that is there; rejects with `DiskError` when others could put words into our mouth there. */
export async function resolveOwnDirectory(
  directory: string,
  { allowsOtherOwner = false }: FileDiskOptions = {},
): Promise<string> {
  const path = await realpath(directory); // it may be a link
  const [link, { uid, mode }] = await Promise.all([lstat(directory), stat(`${path}/`)]); // the slash refuses a file in its place
  const ours = process.getuid?.() ?? uid;
  if (!allowsOtherOwner && (![ours, 0].includes(uid) || ![ours, 0].includes(link.uid)))
    throw buildRefusedDiskError(directory, 'it belongs to another user; run this as that one, or name another');
  if ((mode & WRITABLE_BY_OTHERS) !== 0)
    throw buildRefusedDiskError(
      directory,
      `others may write it (mode ${(mode & 0o7777).toString(8)}); chmod 700 it or name another`,
    );
  return path;
}

/** Makes the directory where it is missing, refuses one that others may write, and gives its real path. */
async function prepareDirectory(directory: string, options: FileDiskOptions): Promise<string> {
  const first = await makeDirectory(directory, DIRECTORY_MODE);
  if (first !== undefined) await syncDirectory(dirname(first));

  const path = await resolveOwnDirectory(directory, options);
  if (first !== undefined) await chmod(path, DIRECTORY_MODE); // whatever the umask was

  await removeUnfinished(path);
  return path;
}

/** Runs the works of one name one after the other, in the order they came. */
function createTaskQueues() {
  const last = new Map<string, Promise<unknown>>();
  return <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const task = (last.get(name) ?? Promise.resolve()).then(work);
    const finished = task.then(
      () => {},
      () => {},
    );
    last.set(name, finished);
    finished.then(() => last.get(name) === finished && last.delete(name));
    return task;
  };
}

/** Removes what a failed append has added, so that the next record starts where a reader expects it. */
async function appendOrTruncate(file: FileHandle, bytes: Uint8Array, sync: boolean): Promise<void> {
  const { size } = await file.stat();
  try {
    await writeAll(file, bytes, null);
    if (sync) await file.datasync();
  } catch (error) {
    await file.truncate(size).catch(() => {});
    throw error;
  }
}

/** A new file is read by the group that may read its directory; root gives it to the owner of the directory. Removed where that fails. */
async function matchDirectory(file: FileHandle, path: string): Promise<void> {
  try {
    const { uid, gid, mode } = await stat(dirname(path));
    if (process.getuid?.() === 0 && uid !== 0) await file.chown(uid, gid);
    if ((mode & READABLE_BY_GROUP) !== 0) await file.chmod(FILE_MODE | READABLE_BY_GROUP);
  } catch (error) {
    await file.close().catch(() => {});
    await unlink(path).catch(() => {});
    throw error;
  }
}

/** A file under a temporary name until `commit`. */
async function createUnfinished(directory: string, name: string): Promise<NewFile> {
  const path = join(directory, `.${name}.${process.pid}-${processToken}-${fileCount++}.new`);
  const target = join(directory, name);
  let size = 0;
  let isFinished = false;

  const withDiskErrors = async <T>(work: () => Promise<T>) => {
    try {
      return await work();
    } catch (error) {
      throw translateDiskError(error, target, 'write');
    }
  };
  const file = await withDiskErrors(async () => {
    const created = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, FILE_MODE);
    await matchDirectory(created, path);
    return created;
  });

  const abandon = async () => {
    if (isFinished) return;
    isFinished = true;
    await file.close().catch(() => {});
    await unlink(path).catch(() => {});
  };
  return {
    write: (bytes) =>
      withDiskErrors(async () => {
        await writeAll(file, bytes, size);
        size += bytes.length;
      }),
    writeAt: async (offset, bytes) => {
      if (offset < 0 || offset + bytes.length > size) throw new Error(`${name}: ${offset} is beyond what was written`);
      return withDiskErrors(() => writeAll(file, bytes, offset));
    },
    commit: () =>
      withDiskErrors(async () => {
        try {
          await file.sync();
          await rename(path, target);
        } catch (error) {
          await abandon();
          throw error;
        }
        isFinished = true;
        await file.close();
        await syncDirectory(directory);
      }),
    abandon,
  };
}

function readSyncInto(target: Uint8Array, file: FileHandle, offset: number): number {
  let done = 0;
  while (done < target.length) {
    const bytesRead = readSync(file.fd, target, done, target.length - done, offset + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return done;
}

/** A regular file for reading, never through a link; undefined when there is none. */
async function openToRead(path: string): Promise<{ readonly file: FileHandle; readonly size: number } | undefined> {
  let file: FileHandle;
  try {
    file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    if (isFileMissing(error)) return undefined;
    throw error;
  }
  try {
    const found = await file.stat();
    if (found.isFile()) return { file, size: found.size };
    throw buildRefusedDiskError(path, 'it is not a regular file');
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function readWhole(path: string): Promise<Uint8Array | undefined> {
  const opened = await openToRead(path);
  if (opened === undefined) return undefined;
  try {
    if (opened.size > MAX_WHOLE_BYTES) throw buildRefusedDiskError(path, `it is larger than ${MAX_WHOLE_BYTES} bytes`);
    return await readAll(opened.file, 0, opened.size);
  } finally {
    await opened.file.close();
  }
}

async function replaceWhole(directory: string, name: string, bytes: Uint8Array): Promise<void> {
  const file = await createUnfinished(directory, name);
  try {
    await file.write(bytes);
    await file.commit();
  } finally {
    await file.abandon();
  }
}

/** A file that may be written in place: of this length, and under no other name. */
async function isOverwritable(path: string, length: number): Promise<boolean> {
  const found = await lstat(path).catch(() => undefined);
  return found?.isFile() === true && found.size === length && found.nlink === 1;
}

/** Neither a new file nor the directory has to reach the device. */
async function overwriteWhole(directory: string, name: string, bytes: Uint8Array): Promise<void> {
  const path = join(directory, name);
  if (!(await isOverwritable(path, bytes.length))) return replaceWhole(directory, name, bytes);
  const file = await open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    await writeAll(file, bytes, 0);
    await file.datasync();
  } finally {
    await file.close();
  }
}

async function appendTo(directory: string, name: string, bytes: Uint8Array, sync: boolean): Promise<void> {
  const path = join(directory, name);
  const isNew = (await lstat(path).catch(() => undefined)) === undefined;
  const file = await open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, FILE_MODE);
  try {
    if (isNew) await matchDirectory(file, path);
    await appendOrTruncate(file, bytes, sync);
  } finally {
    await file.close();
  }
  if (isNew && sync) await syncDirectory(directory);
}

/** Opens an existing file for random reads; undefined when there is none. */
async function openReadable(path: string): Promise<OpenFile | undefined> {
  const opened = await openToRead(path);
  if (opened === undefined) return undefined;
  const { file, size } = opened;
  return {
    size,
    read: async (offset, length) => {
      try {
        return await readAll(file, offset, Math.max(0, Math.min(length, size - offset)));
      } catch (error) {
        throw translateDiskError(error, path, 'read');
      }
    },
    readNow: (target, offset) => {
      try {
        return readSyncInto(target, file, offset);
      } catch (error) {
        throw translateDiskError(error, path, 'read');
      }
    },
    close: () => file.close(),
  };
}

/** Removes the file durably; does nothing when there is none. */
async function removeFile(directory: string, name: string): Promise<void> {
  try {
    await unlink(join(directory, name));
  } catch (error) {
    if (isFileMissing(error)) return;
    throw error;
  }
  await syncDirectory(directory);
}

async function listFiles(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && DISK_FILE_NAME.test(entry.name))
    .map((entry) => entry.name)
    .sort();
}

type DirectoryWork<T> = (directory: string) => Promise<T>;

/** Finds or makes the state directory for each use, until a use fails: it may be mounted, made or repaired meanwhile. */
function createDirectoryAccess(directory: string, options: FileDiskOptions) {
  let prepared: Promise<string> | undefined;
  let existing: Promise<string> | undefined;

  const withDiskErrors = async <T>(name: string, use: DiskUse, work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      prepared = undefined;
      existing = undefined;
      throw translateDiskError(error, join(directory, name), use);
    }
  };
  const asDirectoryError = (error: unknown): never => {
    throw translateDiskError(error, directory, 'keep');
  };

  return {
    /** In the directory, which is made where there is none. */
    inDirectory: <T>(name: string, work: DirectoryWork<T>): Promise<T> =>
      withDiskErrors(name, 'write', async () => {
        prepared ??= prepareDirectory(directory, options).catch(asDirectoryError);
        return work(await prepared);
      }),
    /** Undefined where there is no directory. */
    ifDirectoryExists: <T>(name: string, use: DiskUse, work: DirectoryWork<T>): Promise<T | undefined> =>
      withDiskErrors(name, use, async () => {
        existing ??= resolveOwnDirectory(directory, options);
        const path = await existing.catch((error) => {
          if (!isFileMissing(error)) return asDirectoryError(error);
          existing = undefined;
          return undefined;
        });
        return path === undefined ? undefined : work(path);
      }),
  };
}

/**
 * The disk over `directory`, which the first write makes (mode 0700), removing unfinished files of dead processes; reads change
 * nothing. Nothing is thrown here: while the directory cannot be used, each method rejects.
 */
export function createFileDisk(directory: string, options: FileDiskOptions = {}): Disk {
  const runInTurn = createTaskQueues();
  const { inDirectory, ifDirectoryExists } = createDirectoryAccess(directory, options);
  return {
    read: async (name) => ifDirectoryExists(requireFileName(name), 'read', (path) => readWhole(join(path, name))),
    replace: async (name, bytes) =>
      runInTurn(requireFileName(name), () => inDirectory(name, (path) => replaceWhole(path, name, bytes))),
    overwrite: async (name, bytes) =>
      runInTurn(requireFileName(name), () => inDirectory(name, (path) => overwriteWhole(path, name, bytes))),
    append: async (name, bytes, { sync }) =>
      runInTurn(requireFileName(name), () => inDirectory(name, (path) => appendTo(path, name, bytes, sync))),
    open: async (name) => ifDirectoryExists(requireFileName(name), 'read', (path) => openReadable(join(path, name))),
    create: async (name) => inDirectory(requireFileName(name), (path) => createUnfinished(path, name)),
    remove: async (name) =>
      runInTurn(requireFileName(name), () => ifDirectoryExists(name, 'write', (path) => removeFile(path, name))),
    list: async () => (await ifDirectoryExists('', 'read', listFiles)) ?? [],
  };
}

/** For commands beside the installed agent: the directory may be another user's. Root gives that user the files it writes. */
export const createSharedFileDisk = (directory: string): Disk => createFileDisk(directory, { allowsOtherOwner: true });
