/** Says what an error of the file system means to the owner; never hides one that is not about files. */

import { DiskError, type DiskFailure } from '../world.ts';

/** `keep`: the directory itself, before anything in it. */
export type DiskUse = 'read' | 'write' | 'keep';

const FULL = ['ENOSPC', 'EDQUOT'];
/** The last: a file where the directory should be. */
const MISSING = ['ENOENT', 'ENOTDIR', 'EEXIST'];
/** To a reader a refused permission is trouble of its own, to a writer it is a disk that cannot be written. */
const REFUSED = ['EACCES', 'EPERM'];

function kindOf(code: string, use: DiskUse): DiskFailure['kind'] {
  if (FULL.includes(code)) return 'full';
  if (MISSING.includes(code)) return 'missing';
  if (code === 'EROFS' || (use !== 'read' && REFUSED.includes(code))) return 'read-only';
  return 'io';
}

const CURES: Readonly<Record<DiskFailure['kind'], string>> = {
  full: 'no space is left; free some',
  'read-only': 'it cannot be written; check that the file system is mounted writable and that the directory is ours',
  io: 'the device answered with an error; check the storage and its file system',
  missing: 'it is not there; check that the state directory is one',
};

const NO_DESCRIPTOR = 'no file can be opened, for too many are open already';
const IN_THE_WAY = 'a file stands in the way; take it away, or name another state directory';
/** Not the device's doing, whatever it is called. */
const NOT_THE_DEVICE: Readonly<Record<string, string>> = {
  EMFILE: NO_DESCRIPTOR,
  ENFILE: NO_DESCRIPTOR,
  EFBIG: 'a file may not grow that large here; raise the limit of the process (ulimit -f) or use another file system',
  ENOTDIR: IN_THE_WAY,
  EEXIST: IN_THE_WAY,
};
const cureOf = (kind: DiskFailure['kind'], code: string) => NOT_THE_DEVICE[code] ?? CURES[kind];

const DONE: Readonly<Record<DiskUse, string>> = { read: 'read', write: 'stored', keep: 'used' };

const codeOf = (error: unknown) =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;

/** The same trouble as a `DiskError` naming `path`; what is no trouble of files comes back as it was. */
export function diskError(error: unknown, path: string, use: DiskUse): unknown {
  const code = codeOf(error);
  if (code === undefined || error instanceof DiskError) return error;
  const kind = kindOf(code, use);
  return new DiskError({
    kind,
    detail: `${path} cannot be ${DONE[use]} (${code}): ${cureOf(kind, code)}`,
  });
}

export const isMissing = (error: unknown) => codeOf(error) === 'ENOENT';

/** A refusal of our own, in the same shape. */
export const refusal = (path: string, why: string) =>
  new DiskError({ kind: 'io', detail: `${path} is not used: ${why}` });
