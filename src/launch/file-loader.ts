/** Loads the program's CommonJS files, each once: those of a start from the code cache of the installation, where V8 accepts it. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Script } from 'node:vm';
import { type CacheRefusal, type CodeCache, readCodeCache } from './code-cache.ts';

export const CODE_CACHE = 'code-cache';
/** In its directory: the files that are loaded after the first decision. */
export const LATE = 'late';
export const LATE_FILENAME = 'gridtide late';
/** Of the program: it names all others. */
export const FIRST_FILE = 'program.js';
/** Where the program finds what became of the code cache: `accepted`, or in words why it is refused. */
const STATE = Symbol.for('gridtide.code-cache');

type Exports = Record<string, unknown>;
interface Module {
  exports: Exports;
  readonly at: number;
}
type FileBody = (exports: Exports, require: (id: string) => unknown, module: Module, filename: string) => void;

// The bundler writes ASCII only.
const readBody = (path: string) => `function(exports, require, module, __filename){${readFileSync(path, 'latin1')}\n}`;

/** The source of an object with the body of each file. */
export const packFiles = (directory: string, names: readonly string[]): string =>
  `({${names.map((name) => `${JSON.stringify(name)}:${readBody(join(directory, name))}`).join(',\n')}})`;

/** Errors name the lines of the pack. */
export const compilePack = (source: string, code?: Buffer, filename = 'gridtide'): Script =>
  new Script(source, { filename, ...(code === undefined ? {} : { cachedData: code }) });

export type Files = Readonly<Record<string, FileBody>>;

/** Undefined where there is no cache; in words why it is refused. */
function readPack(cache: string, program: string, filename?: string): Files | string | undefined {
  const found: CodeCache | CacheRefusal | undefined = readCodeCache(cache, program);
  if (found === undefined) return undefined;
  if ('refused' in found) return found.refused;
  const script = compilePack(found.source, found.code, filename);
  return script.cachedDataRejected === true ? 'V8 does not accept its bytecode' : (script.runInThisContext() ?? {});
}

/** The bodies of the files of a start in the cache of this installation; none where it is refused. */
export function loadCachedFiles(directory: string): Files {
  const files = readPack(join(directory, CODE_CACHE), join(directory, FIRST_FILE));
  if (files === undefined) return {};
  const isUsable = typeof files !== 'string' && files[FIRST_FILE] !== undefined;
  Reflect.set(globalThis, STATE, isUsable ? 'accepted' : typeof files === 'string' ? files : 'it holds no program');
  return isUsable ? files : {};
}

/** The bodies of the files that a start needs only after its first decision. The agent has said by then what became of the others. */
export function loadLateFiles(directory: string): Files {
  const files = readPack(join(directory, CODE_CACHE, LATE), join(directory, FIRST_FILE), LATE_FILENAME);
  if (typeof files !== 'string') return files ?? {};
  process.emitWarning(`the late part of the code cache is not used: ${files}; install the same version again`);
  return {};
}

export interface LoadedFile {
  readonly name: string;
  /** Milliseconds of the machine's clock. */
  readonly at: number;
}

export interface FileLoader {
  load(name: string): Exports;
  /** In the order in which they were loaded first. */
  loadedFiles(): readonly LoadedFile[];
}

export interface FileLoaderParts {
  readonly directory: string;
  readonly cached: Files;
  /** Called once, for the first file that `cached` has not. */
  readonly loadLate?: () => Files;
  /** Finds what is no file of the program: that of its first file, since node:module would cost a start 5 ms. */
  readonly requireOther: (id: string) => unknown;
}

export function createFileLoader({ directory, cached, loadLate, requireOther }: FileLoaderParts): FileLoader {
  const modules = new Map<string, Module>();
  let late: Files | undefined;

  const findLate = (name: string): FileBody | undefined => {
    late ??= loadLate?.() ?? {};
    return late[name];
  };

  function load(name: string): Exports {
    const loaded = modules.get(name);
    if (loaded !== undefined) return loaded.exports;
    const module: Module = { exports: {}, at: Date.now() };
    modules.set(name, module);
    const path = join(directory, name);
    const body: FileBody =
      cached[name] ?? findLate(name) ?? new Script(`(${readBody(path)})`, { filename: path }).runInThisContext();
    body(module.exports, (id) => (id.startsWith('./') ? load(id.slice(2)) : requireOther(id)), module, path);
    return module.exports;
  }

  return { load, loadedFiles: () => [...modules].map(([name, { at }]) => ({ name, at })) };
}
