/** Bundles src/main.ts: ESM, one chunk a command, onoff left to be found at run time. Run as a program it builds all of the package into dist, or the directory given. */

import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { build } from 'esbuild';
import { lean } from './lean.mjs';
import { buildLibrary } from './library.mjs';

const ROOT = resolve(import.meta.dirname, '..');
const SRC = join(ROOT, 'src');

const BASE = {
  absWorkingDir: ROOT,
  entryPoints: ['src/main.ts'],
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
};

/** Who imports whom in src, as the bundler reads it: by file, what it imports at once and what on demand; packages are external. */
async function readImports() {
  const { metafile } = await build({ ...BASE, write: false, metafile: true, packages: 'external', outdir: 'unused' });
  const entries = Object.entries(metafile.inputs).map(([file, { imports }]) => [
    resolve(ROOT, file),
    imports.map(({ path, kind, external = false }) => ({
      path: external ? path : resolve(ROOT, path),
      external: external && !path.startsWith('node:'),
      onDemand: kind === 'dynamic-import',
    })),
  ]);
  return new Map(entries);
}

/**
 * What the shortest commands load, beside packages and what needs them. Each file costs a start almost a millisecond, and modules
 * shared by different sets of commands would each make a file of their own; imported by all on-demand files, they share one.
 */
function findShared(imports) {
  const found = new Set();
  const visit = (file) => {
    const of = imports.get(file) ?? [];
    if (found.has(file) || of.some(({ external, onDemand }) => external && !onDemand)) return;
    found.add(file);
    for (const { path, external, onDemand } of of) if (!external && !onDemand) visit(path);
  };
  const starts = [join(SRC, 'main.ts'), join(SRC, 'cli/service/region.ts')];
  for (const start of starts) visit(start);
  return [...found].filter((file) => !starts.includes(file));
}

const sharedChunk = {
  name: 'shared-chunk',
  async setup({ onLoad }) {
    const imports = await readImports();
    const shared = findShared(imports);
    const loaded = [...imports.values()].flat().filter(({ external, onDemand }) => onDemand && !external);
    const alone = new Set([join(SRC, 'main.ts'), ...loaded.map(({ path }) => path)]);
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      if (!alone.has(path) || shared.includes(path)) return undefined;
      const sharedImports = shared.map((file) => `import ${JSON.stringify(file)};`).join('');
      const text = await readFile(path, 'utf8');
      // A first line that starts with #! must stay first.
      const [first = '', ...rest] = text.split('\n');
      return {
        loader: 'ts',
        contents: first.startsWith('#!') ? `${first}\n${sharedImports}${rest.join('\n')}` : `${sharedImports}${text}`,
      };
    });
  },
};

/** The CommonJS packages inside (mqtt among them) call `require` for node's own modules. */
const REQUIRE =
  "import { createRequire as __createRequire } from 'node:module';const require = __createRequire(import.meta.url);";

/** Only a file that calls it gets a `require`, and none loads the bundler's helpers without using one: 2 ms of a start. */
function trimmed(text, runtime) {
  const helpers = runtime === undefined ? text : text.replace(`import "./${basename(runtime)}";\n`, '');
  if (!/(?<![\w$.])require\b/.test(helpers)) return helpers;
  const [first = '', ...rest] = helpers.split('\n');
  return first.startsWith('#!') ? [first, REQUIRE, ...rest].join('\n') : `${REQUIRE}\n${helpers}`;
}

/** Builds the program into `out`, which is emptied first; gives the number of files and their bytes. */
export async function buildProgram(out) {
  await rm(out, { recursive: true, force: true });
  const { metafile, outputFiles } = await build({
    ...BASE,
    write: false,
    outdir: out,
    minifySyntax: true,
    legalComments: 'none',
    sourcemap: false,
    metafile: true,
    external: ['onoff'],
    plugins: [sharedChunk, lean],
    logLevel: 'warning',
  });
  await mkdir(out, { recursive: true });
  const runtime = outputFiles.find(({ text }) => text.includes('var __require = '))?.path;
  const written = outputFiles.map(({ path, text }) => writeFile(path, trimmed(text, runtime)));
  await Promise.all(written);
  await chmod(join(out, 'main.js'), 0o755);
  const sizes = Object.values(metafile.outputs).map(({ bytes }) => bytes);
  return { files: sizes.length, bytes: sizes.reduce((sum, bytes) => sum + bytes, 0) };
}

if (process.argv[1] === import.meta.filename) {
  const out = resolve(process.argv[2] ?? 'dist');
  const { files, bytes } = await buildProgram(out);
  await buildLibrary(out);
  console.log(`built ${files} files, ${Math.round(bytes / 1024)} KiB, in dist/`);
}
