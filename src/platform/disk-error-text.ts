/** Explains an error of the file system to the owner. */

import { DiskError, type DiskFailure } from '../domain/ports.ts';

/** `keep`: the directory itself, before anything in it. */
export type DiskUse = 'read' | 'write' | 'keep';

const FULL_CODES = ['ENOSPC', 'EDQUOT'];
/** The last: a file where the directory should be. */
const MISSING_CODES = ['ENOENT', 'ENOTDIR', 'EEXIST'];
/** To a reader a refused permission is trouble of its own, to a writer it is a disk that cannot be written. */
const REFUSED_CODES = ['EACCES', 'EPERM'];

function classifyDiskCode(code: string, use: DiskUse): DiskFailure['kind'] {
  if (FULL_CODES.includes(code)) return 'full';
  if (MISSING_CODES.includes(code)) return 'missing';
  if (code === 'EROFS' || (use !== 'read' && REFUSED_CODES.includes(code))) return 'read-only';
  return 'io';
}

const DISK_CURES: Readonly<Record<DiskFailure['kind'], string>> = {
  full: 'no space is left; free some',
  'read-only':
    'it cannot be written; check that the file system is mounted writable and that the directory belongs to the user of this program',
  io: 'the device answered with an error; check the storage and its file system',
  missing: 'it is not there; check that the state directory is one',
};

const NO_DESCRIPTOR = 'no file can be opened, for too many are open already';
const FILE_IN_THE_WAY = 'a file stands in the way; take it away, or name another state directory';
/** Not an error of the storage, whatever its code is. */
const CURES_BY_CODE: Readonly<Record<string, string>> = {
  EMFILE: NO_DESCRIPTOR,
  ENFILE: NO_DESCRIPTOR,
  EFBIG: 'a file may not grow that large here; raise the limit of the process (ulimit -f) or use another file system',
  ENOTDIR: FILE_IN_THE_WAY,
  EEXIST: FILE_IN_THE_WAY,
  EISDIR: 'a directory stands there; take it away',
};
const READ_REFUSED =
  'this user may not read it; members of the group gridtide may read the state of the installed agent (sudo adduser "$USER" gridtide, then log in again)';

function getDiskCure(kind: DiskFailure['kind'], code: string, use: DiskUse): string {
  if (use === 'read' && code === 'EACCES') return READ_REFUSED;
  return CURES_BY_CODE[code] ?? DISK_CURES[kind];
}

const USE_PARTICIPLES: Readonly<Record<DiskUse, string>> = { read: 'read', write: 'stored', keep: 'used' };

export const getFileErrorCode = (error: unknown) => (error as NodeJS.ErrnoException).code;

/** The same trouble as a `DiskError` naming `path`; what is no trouble of files comes back as it was. */
export function translateDiskError(error: unknown, path: string, use: DiskUse): unknown {
  const code = getFileErrorCode(error);
  if (code === undefined || error instanceof DiskError) return error;
  const kind = classifyDiskCode(code, use);
  return new DiskError({
    kind,
    detail: `${path} cannot be ${USE_PARTICIPLES[use]} (${code}): ${getDiskCure(kind, code, use)}`,
  });
}

export const isFileMissing = (error: unknown) => getFileErrorCode(error) === 'ENOENT';

/** A refusal of our own, in the same shape. */
export const buildRefusedDiskError = (path: string, why: string) =>
  new DiskError({ kind: 'io', detail: `${path} is not used: ${why}` });
