/** Loads the program's CommonJS files, each once: those of a start from the code cache of the installation, where V8 accepts it. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Script } from 'node:vm';
import { type CacheRefusal, type CodeCache, readCodeCache } from './code-cache.ts';

export const CODE_CACHE = 'code-cache';
/** Of the program: it names all others. */
export const FIRST_FILE = 'program.js';
/** Where the program finds what became of the code cache: `accepted`, or in words why it is refused. */
const STATE = Symbol.for('gridtide.code-cache');

type Exports = Record<string, unknown>;
interface Module {
  exports: Exports;
}
type FileBody = (exports: Exports, require: (id: string) => unknown, module: Module, filename: string) => void;

// The bundler writes ASCII only.
const readBody = (path: string) => `function(exports, require, module, __filename){${readFileSync(path, 'latin1')}\n}`;

/** The source of an object with the body of each file. */
export const packFiles = (directory: string, names: readonly string[]): string =>
  `({${names.map((name) => `${JSON.stringify(name)}:${readBody(join(directory, name))}`).join(',\n')}})`;

export const compilePack = (source: string, code?: Buffer): Script =>
  new Script(source, { filename: 'gridtide', ...(code === undefined ? {} : { cachedData: code }) });

/** The bodies of the files in the cache of this installation; none where it is refused. */
export function loadCachedFiles(directory: string): Readonly<Record<string, FileBody>> {
  const found: CodeCache | CacheRefusal | undefined = readCodeCache(join(directory, CODE_CACHE));
  if (found === undefined) return {};
  const refuse = (reason: string) => {
    Reflect.set(globalThis, STATE, reason);
    return {};
  };
  if ('refused' in found) return refuse(found.refused);
  const script = compilePack(found.source, found.code);
  if (script.cachedDataRejected === true) return refuse('V8 does not accept its bytecode');
  const files: Readonly<Record<string, FileBody>> | undefined = script.runInThisContext();
  if (files?.[FIRST_FILE] === undefined) return refuse('it holds no program');
  Reflect.set(globalThis, STATE, 'accepted');
  return files;
}

export interface FileLoader {
  load(name: string): Exports;
  /** In the order in which they were loaded first. */
  loadedNames(): readonly string[];
}

export interface FileLoaderParts {
  readonly directory: string;
  readonly cached: Readonly<Record<string, FileBody>>;
  /** Finds what is no file of the program: that of its first file, since node:module would cost a start 5 ms. */
  readonly requireOther: (id: string) => unknown;
}

export function createFileLoader({ directory, cached, requireOther }: FileLoaderParts): FileLoader {
  const modules = new Map<string, Module>();

  function load(name: string): Exports {
    const loaded = modules.get(name);
    if (loaded !== undefined) return loaded.exports;
    const module: Module = { exports: {} };
    modules.set(name, module);
    const path = join(directory, name);
    const body: FileBody = cached[name] ?? new Script(`(${readBody(path)})`, { filename: path }).runInThisContext();
    body(module.exports, (id) => (id.startsWith('./') ? load(id.slice(2)) : requireOther(id)), module, path);
    return module.exports;
  }

  return { load, loadedNames: () => [...modules.keys()] };
}
