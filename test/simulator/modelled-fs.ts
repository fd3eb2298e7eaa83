/** Stands in for `src/platform/files.ts` under the adapters of files: each path begins with the life of the agent that it belongs to. */

import { constants } from 'node:fs';
import { fileError, type Inode, type ModelFiles } from './model-files.ts';

export { constants };

/** What one life of the agent sees of the machine's disk; `act` never resolves once that life has ended. */
export interface Mount {
  readonly files: ModelFiles;
  act<Result>(work: () => Result): Promise<Result>;
}

const mounts = new Map<string, Mount>();
const openFiles = new Map<number, Inode>();
let descriptors = 100;

/** `name` is the first part of its paths, such as `life-3`. */
export const mountLife = (name: string, mount: Mount): void => void mounts.set(name, mount);
export const unmountAll = (): void => {
  mounts.clear();
  openFiles.clear();
};

function findMount(path: string): { readonly mount: Mount; readonly inner: string } {
  const [, life = '', ...rest] = path.split('/');
  const mount = mounts.get(life);
  if (mount === undefined) throw new Error(`${path} belongs to no life of the simulated machine`);
  return { mount, inner: `/${rest.join('/')}`.replace(/\/$/, '') };
}

function act<Result>(path: string, work: (files: ModelFiles, inner: string) => Result): Promise<Result> {
  const { mount, inner } = findMount(path);
  return mount.act(() => work(mount.files, inner));
}

const buildStats = (size: number, isDirectory: boolean, isSecret = false) => ({
  size,
  uid: process.getuid?.() ?? 0,
  mode: isDirectory ? 0o40700 : isSecret ? 0o100400 : 0o100600,
  isFile: () => !isDirectory,
  isDirectory: () => isDirectory,
});

function findStats(files: ModelFiles, path: string) {
  if (files.isDirectory(path)) return buildStats(0, true);
  const inode = files.names.get(path);
  if (inode === undefined) throw fileError('ENOENT', path);
  return buildStats(inode.size, false);
}

function createFileHandle(mount: Mount, inode: Inode, path: string, isAppending: boolean) {
  descriptors += 1;
  const fd = descriptors;
  openFiles.set(fd, inode);
  const { files } = mount;
  const flush = () =>
    mount.act(() => {
      files.checkWritable(path);
      inode.sync();
    });
  return {
    fd,
    stat: () => mount.act(() => buildStats(inode.size, false)),
    read: (target: Uint8Array, offset: number, length: number, position: number) =>
      mount.act(() => ({ bytesRead: copyContent(inode, target, { offset, length, position }) })),
    write: (source: Uint8Array, offset: number, length: number, position: number | null) =>
      mount.act(() => {
        files.checkWritable(path);
        const at = isAppending || position === null ? inode.size : position;
        inode.write(source.subarray(offset, offset + length), at);
        if (!path.startsWith('/run/')) files.bytesWritten += length;
        return { bytesWritten: length };
      }),
    sync: flush,
    datasync: flush,
    truncate: (size: number) => mount.act(() => inode.truncate(size)),
    async close() {
      openFiles.delete(fd);
    },
  };
}

interface Span {
  readonly offset: number;
  readonly length: number;
  readonly position: number;
}

function copyContent(inode: Inode, target: Uint8Array, { offset, length, position }: Span): number {
  const content = inode.content(position, position + length);
  target.set(content, offset);
  return content.length;
}

export function open(path: string, flags: number) {
  const { mount, inner } = findMount(path);
  return mount.act(() => {
    const { files } = mount;
    if ((flags & constants.O_DIRECTORY) !== 0) return createDirectoryHandle(mount, inner);
    if ((flags & (constants.O_WRONLY | constants.O_RDWR)) !== 0) files.checkWritable(inner);
    const found = files.names.get(inner);
    if (found === undefined && (flags & constants.O_CREAT) === 0) throw fileError('ENOENT', inner);
    if (found !== undefined && (flags & constants.O_EXCL) !== 0) throw fileError('EEXIST', inner);
    return createFileHandle(mount, found ?? files.create(inner), inner, (flags & constants.O_APPEND) !== 0);
  });
}

const createDirectoryHandle = (mount: Mount, path: string) => ({
  sync: () =>
    mount.act(() => {
      mount.files.checkWritable(path);
      mount.files.syncDirectory(path);
    }),
  async close() {},
});

export const chmod = (path: string, _mode: number) => act(path, () => undefined);
export const lstat = (path: string) => act(path, findStats);
export const stat = (path: string) => act(path, findStats);
export const realpath = (path: string) =>
  act(path, (files, inner) => {
    findStats(files, inner);
    return path;
  });
export const mkdir = (path: string, _options: object) =>
  act(path, (files, inner) => {
    if (files.isDirectory(inner)) throw fileError('EEXIST', inner);
    files.checkWritable(inner);
    files.makeDirectory(inner);
  });
export const readFile = (path: string, _encoding: 'utf8') =>
  act(path, (files, inner) => {
    const inode = files.names.get(inner);
    if (inode === undefined) throw fileError('ENOENT', inner);
    return new TextDecoder().decode(inode.content());
  });
export const rename = (from: string, to: string) =>
  act(from, (files, inner) => {
    files.checkWritable(inner);
    files.rename(inner, findMount(to).inner);
  });
export const unlink = (path: string) =>
  act(path, (files, inner) => {
    if (!files.names.has(inner)) throw fileError('ENOENT', inner);
    files.checkWritable(inner);
    files.remove(inner);
  });
export const readdir = (path: string, options?: { readonly withFileTypes: boolean }) =>
  act(path, (files, inner) => {
    const names = files.list(inner);
    return options === undefined ? names : names.map((name) => ({ name, isFile: () => true }));
  });

export function readSync(fd: number, target: Uint8Array, offset: number, length: number, position: number): number {
  const inode = openFiles.get(fd);
  if (inode === undefined) throw fileError('EBADF', String(fd));
  return copyContent(inode, target, { offset, length, position });
}
