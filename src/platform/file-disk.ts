/** The state directory on a real file system: replaces files atomically, adds to them durably; never knows what is in them. */

import {
  chmod,
  constants,
  type FileHandle,
  lstat,
  open,
  readdir,
  realpath,
  rename,
  stat,
  unlink,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Disk, NewFile, OpenFile } from '../domain/ports.ts';
import { buildRefusedDiskError, type DiskUse, isFileMissing, translateDiskError } from './disk-error-text.ts';
import { makeDirectory } from './make-directory.ts';

const { O_RDONLY, O_WRONLY, O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_DIRECTORY } = constants;

const FILE_MODE = 0o600;
const DIRECTORY_MODE = 0o700;
const WRITABLE_BY_OTHERS = 0o022;
/** The largest file that is read whole; larger ones are opened. */
const MAX_WHOLE_BYTES = 64 * 1024 * 1024;

/** First character no dot: those are the files being made. */
const DISK_FILE_NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}$/;
const UNFINISHED_NAME = /^\..+\.(\d+)-([0-9a-z]+)-\d+\.new$/;

/** Tells the files this process is making from those a dead one with the same number left. */
const processToken = process.hrtime.bigint().toString(36);
let filesMade = 0;

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
function isBeingMade(name: string): boolean {
  const [, pid = '', maker] = UNFINISHED_NAME.exec(name) ?? [];
  if (Number(pid) === process.pid) return maker === processToken;
  try {
    process.kill(Number(pid), 0);
    return true;
  } catch {
    return false; // gone, or of another user, who could not write here
  }
}

async function removeUnfinished(path: string): Promise<void> {
  const left = (await readdir(path)).filter((name) => UNFINISHED_NAME.test(name) && !isBeingMade(name));
  // A disk that cannot be written can still be read: what is in the way stays.
  await Promise.all(left.map((name) => unlink(join(path, name)).catch(() => {})));
}

/** The real path of a state directory that is there; rejects with `DiskError` when others could put words into our mouth there. */
export async function resolveOwnDirectory(directory: string): Promise<string> {
  const path = await realpath(directory); // systemd's dynamic users get a link
  const [link, { uid, mode }] = await Promise.all([lstat(directory), stat(`${path}/`)]); // the slash refuses a file in its place
  const ours = process.getuid?.() ?? uid;
  if (![ours, 0].includes(uid) || ![ours, 0].includes(link.uid))
    throw buildRefusedDiskError(directory, 'it belongs to another user; run this as that one, or name another');
  if ((mode & WRITABLE_BY_OTHERS) !== 0)
    throw buildRefusedDiskError(
      directory,
      `others may write it (mode ${(mode & 0o7777).toString(8)}); chmod 700 it or name another`,
    );
  return path;
}

/** Makes the directory where it is missing, refuses one that others may write, and gives its real path. */
async function prepareDirectory(directory: string): Promise<string> {
  const first = await makeDirectory(directory, DIRECTORY_MODE);
  if (first !== undefined) await syncDirectory(dirname(first));

  const path = await resolveOwnDirectory(directory);
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

/** What was added by a failed append is taken back, so that the next record starts where a reader expects it. */
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

/** A file under a name nobody reads until `commit`. */
async function createUnfinished(directory: string, name: string): Promise<NewFile> {
  const path = join(directory, `.${name}.${process.pid}-${processToken}-${filesMade++}.new`);
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
  const file = await withDiskErrors(() => open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, FILE_MODE));

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

/** An import of node:fs would load its streams too, which is 2 ms of every start. */
const { readSync } = process.getBuiltinModule('node:fs');

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

async function appendTo(directory: string, name: string, bytes: Uint8Array, sync: boolean): Promise<void> {
  const path = join(directory, name);
  const isNew = (await lstat(path).catch(() => undefined)) === undefined;
  const file = await open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, FILE_MODE);
  try {
    await appendOrTruncate(file, bytes, sync);
  } finally {
    await file.close();
  }
  if (isNew && sync) await syncDirectory(directory);
}

/**
 * The disk over `directory`, which is made (mode 0700) by the first writing, when unfinished files of dead processes go as well;
 * reading leaves all as it is. Nothing is thrown here: a directory that cannot be used makes each method reject, and is looked at again each time.
 */
export function createFileDisk(directory: string): Disk {
  const runInTurn = createTaskQueues();
  let preparedPath: Promise<string> | undefined;
  let existingPath: Promise<string> | undefined;

  const rejectAsDiskError = (path: Promise<string>) =>
    path.catch((error) => {
      throw translateDiskError(error, directory, 'keep');
    });

  const withDiskErrors = async <T>(name: string, use: DiskUse, work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      // The next use looks again: a directory may be mounted, made or repaired meanwhile.
      preparedPath = undefined;
      existingPath = undefined;
      throw translateDiskError(error, join(directory, name), use);
    }
  };

  /** In the directory, which is made where there is none. */
  const inDirectory = <T>(name: string, work: (path: string) => Promise<T>): Promise<T> =>
    withDiskErrors(name, 'write', async () => {
      preparedPath ??= rejectAsDiskError(prepareDirectory(directory));
      return work(await preparedPath);
    });

  /** Undefined where there is no directory. */
  const ifDirectoryExists = <T>(
    name: string,
    use: DiskUse,
    work: (path: string) => Promise<T>,
  ): Promise<T | undefined> =>
    withDiskErrors(name, use, async () => {
      existingPath ??= resolveOwnDirectory(directory);
      const path = await existingPath.catch((error) => {
        if (!isFileMissing(error)) throw translateDiskError(error, directory, 'keep');
        existingPath = undefined;
        return undefined;
      });
      return path === undefined ? undefined : work(path);
    });

  return {
    read: async (name) => ifDirectoryExists(requireFileName(name), 'read', (path) => readWhole(join(path, name))),

    replace: async (name, bytes) =>
      runInTurn(requireFileName(name), () => inDirectory(name, (path) => replaceWhole(path, name, bytes))),

    append: async (name, bytes, { sync }) =>
      runInTurn(requireFileName(name), () => inDirectory(name, (path) => appendTo(path, name, bytes, sync))),

    open: async (name) =>
      ifDirectoryExists(requireFileName(name), 'read', async (path): Promise<OpenFile | undefined> => {
        const opened = await openToRead(join(path, name));
        if (opened === undefined) return undefined;
        const { file, size } = opened;
        return {
          size,
          read: async (offset, length) => {
            try {
              return await readAll(file, offset, Math.max(0, Math.min(length, size - offset)));
            } catch (error) {
              throw translateDiskError(error, join(path, name), 'read');
            }
          },
          readNow: (target, offset) => {
            try {
              return readSyncInto(target, file, offset);
            } catch (error) {
              throw translateDiskError(error, join(path, name), 'read');
            }
          },
          close: () => file.close(),
        };
      }),

    create: async (name) => inDirectory(requireFileName(name), (path) => createUnfinished(path, name)),

    remove: async (name) =>
      runInTurn(requireFileName(name), () =>
        ifDirectoryExists(name, 'write', async (path) => {
          try {
            await unlink(join(path, name));
          } catch (error) {
            if (isFileMissing(error)) return;
            throw error;
          }
          await syncDirectory(path);
        }),
      ),

    list: async () => {
      const names = await ifDirectoryExists('', 'read', async (path) => {
        const entries = await readdir(path, { withFileTypes: true });
        return entries
          .filter((entry) => entry.isFile() && DISK_FILE_NAME.test(entry.name))
          .map((entry) => entry.name)
          .sort();
      });
      return names ?? [];
    },
  };
}
