/** Loads the program's CommonJS files, each once, with its bytecode from the code cache where V8 accepts it. */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Script } from 'node:vm';
import { type CacheRefusal, type CodeCache, openCodeCache } from './code-cache.ts';

export const CODE_CACHE = 'code-cache';
/** Where the program finds what became of the code cache: `accepted`, or in words why it is refused. */
const STATE = Symbol.for('gridtide.code-cache');

const PARAMETERS = 'exports, require, module, __filename';

export interface FileLoader {
  load(name: string): unknown;
  /** The bytecode of all that was loaded, with the functions that have run. */
  createCache(): ReadonlyMap<string, Buffer>;
}

/** A refusal counts for all files: it stays. */
function createCacheReader(directory: string) {
  let cache: CodeCache | CacheRefusal | undefined = openCodeCache(directory);
  const refuse = (refusal: CacheRefusal) => {
    cache = refusal;
    Reflect.set(globalThis, STATE, refusal.refused);
  };
  if (cache !== undefined && 'refused' in cache) refuse(cache);
  else if (cache !== undefined) Reflect.set(globalThis, STATE, 'accepted');
  return {
    refuse,
    read(name: string): Buffer | undefined {
      const code = cache === undefined || 'refused' in cache ? undefined : cache.read(name);
      if (code === undefined || !('refused' in code)) return code;
      refuse(code);
      return undefined;
    },
  };
}

export function createFileLoader(directory: string): FileLoader {
  const requireOther = createRequire(join(directory, 'main.js'));
  const cache = createCacheReader(join(directory, CODE_CACHE));
  const modules = new Map<string, { exports: unknown }>();
  const scripts = new Map<string, Script>();

  function compile(name: string): Script {
    const filename = join(directory, name);
    const cachedData = cache.read(name);
    // The bundler writes ASCII only.
    const source = `(function(${PARAMETERS}){${readFileSync(filename, 'latin1')}\n})`;
    const script = new Script(source, { filename, ...(cachedData === undefined ? {} : { cachedData }) });
    if (script.cachedDataRejected === true) cache.refuse({ refused: `V8 does not accept its ${name}` });
    return script;
  }

  function load(name: string): unknown {
    const loaded = modules.get(name);
    if (loaded !== undefined) return loaded.exports;
    const module = { exports: {} as unknown };
    modules.set(name, module);
    const script = compile(name);
    scripts.set(name, script);
    const requireFile = (id: string) => (id.startsWith('./') ? load(id.slice(2)) : requireOther(id));
    script.runInThisContext()(module.exports, requireFile, module, join(directory, name));
    return module.exports;
  }

  return {
    load,
    createCache: () => new Map([...scripts].map(([name, script]) => [name, script.createCachedData()])),
  };
}
