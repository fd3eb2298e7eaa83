/** undici's parser of answers as plain JavaScript, translated from its WebAssembly: V8 has no WebAssembly where it may write no machine code. */

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { transform } from 'esbuild';

const require = createRequire(import.meta.url);
const run = promisify(execFile);
const CACHE = resolve(import.meta.dirname, '../node_modules/.cache/gridtide');

/** What wasm2js writes around the translation: an import of its imports, and an instance at once. */
const HEAD = "import * as env from 'env';\n";
const TAIL = 'var retasmFunc = asmFunc({';

async function translate(wasm, work) {
  const [from, to] = [join(work, 'parser.wasm'), join(work, 'parser.js')];
  await writeFile(from, wasm);
  const wasm2js = join(dirname(require.resolve('binaryen/package.json')), 'bin/wasm2js');
  await run(process.execPath, [wasm2js, '-Os', from, '-o', to]);
  const text = await readFile(to, 'utf8');
  const end = text.indexOf(TAIL);
  if (!text.startsWith(HEAD) || end < 0)
    throw new Error('wasm2js writes another frame: see scripts/javascript-parser.mjs');
  const bare = `${text.slice(HEAD.length, end)}\nmodule.exports = (imports) => ({ exports: asmFunc(imports) });`;
  const { code } = await transform(bare, { minify: true, format: 'cjs', target: 'node20.19', lineLimit: 200 });
  return code;
}

/** A CommonJS module that makes what `new WebAssembly.Instance` makes of `wasm`. Ten seconds of work, so its result is kept beside the packages. */
export async function translateParser(wasm) {
  const version = require('binaryen/package.json').version;
  const key = createHash('sha256')
    .update(wasm)
    .update(version)
    .update(await readFile(import.meta.filename));
  const file = join(CACHE, `parser-${key.digest('hex').slice(0, 16)}.cjs`);
  const kept = await readFile(file, 'utf8').catch(() => undefined);
  if (kept !== undefined) return kept;
  await mkdir(CACHE, { recursive: true });
  const work = await mkdtemp(join(CACHE, 'parser-'));
  try {
    const code = await translate(wasm, work);
    await writeFile(join(work, 'done'), code);
    await rename(join(work, 'done'), file);
    return code;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
