/** Builds what other programs import, `gridtide/client` and `gridtide/region`: one bundle each, and the declarations that they reach. */

import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { lean } from './lean.mjs';

const ROOT = resolve(import.meta.dirname, '..');
const ENTRIES = { client: 'src/library/exported-client.ts', region: 'src/library/exported-region.ts' };
const COMPILER_FLAGS =
  '--ignoreConfig --declaration --emitDeclarationOnly --rootDir src --target es2023 --lib es2023 --module preserve --moduleResolution bundler --allowImportingTsExtensions --verbatimModuleSyntax --strict --exactOptionalPropertyTypes --types node --skipLibCheck';

/** The declarations of the entries and of what they import, each import with the ending that other programs expect. */
async function writeDeclarations(out) {
  const made = await mkdtemp(join(tmpdir(), 'gridtide-declarations-'));
  try {
    const compiler = join(ROOT, 'node_modules', '.bin', 'tsc');
    await promisify(execFile)(compiler, [...COMPILER_FLAGS.split(' '), '--outDir', made, ...Object.values(ENTRIES)], {
      cwd: ROOT,
    });
    const waiting = Object.values(ENTRIES).map((entry) => join(made, relative('src', entry).replace(/\.ts$/, '.d.ts')));
    const written = new Set();
    for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
      if (written.has(file)) continue;
      written.add(file);
      const text = await readFile(file, 'utf8');
      for (const [, target] of text.matchAll(/from '(\.[^']+)\.ts'/g))
        waiting.push(join(dirname(file), `${target}.d.ts`));
      const place = join(out, relative(made, file));
      await mkdir(dirname(place), { recursive: true });
      // An import without names declares nothing.
      const declared = text.replace(/^import '.*';\n/gm, '').replace(/(from '\.[^']+)\.ts'/g, "$1.js'");
      await writeFile(place, declared);
    }
  } finally {
    await rm(made, { recursive: true, force: true });
  }
}

/** Names the sources as they lie beside the installed package, wherever it was built and whatever its node_modules links to. */
async function relocateSourceMaps(directory) {
  for (const name of (await readdir(directory)).filter((name) => name.endsWith('.map'))) {
    const map = JSON.parse(await readFile(join(directory, name), 'utf8'));
    const sources = map.sources.map((source) => {
      // Made while building: it has no file.
      if (source.includes(':')) return basename(source);
      const file = resolve(directory, source);
      const at = file.indexOf('/node_modules/');
      return `../..${at < 0 ? `/${relative(ROOT, file)}` : file.slice(at)}`;
    });
    await writeFile(join(directory, name), JSON.stringify({ ...map, sources }));
  }
}

/** Adds the bundles and the declarations to `out`, the directory of the built program; gives what the bundler read. */
export async function buildLibrary(out) {
  const { metafile } = await build({
    metafile: true,
    absWorkingDir: ROOT,
    entryPoints: ENTRIES,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    preserveSymlinks: true,
    outdir: join(out, 'library'),
    minifySyntax: true,
    // undici's parser is nested so deeply that most of it would be white space.
    minifyWhitespace: true,
    lineLimit: 160,
    // Files and lines of the repository for a stack, relative to the package; with the sources themselves they would be thrice as large.
    sourcemap: true,
    sourcesContent: false,
    legalComments: 'none',
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module';const require = __createRequire(import.meta.url);",
    },
    plugins: [lean],
    logLevel: 'warning',
  });
  await relocateSourceMaps(join(out, 'library'));
  await writeDeclarations(join(out, 'types'));
  // The program beside them is CommonJS.
  for (const part of ['library', 'types']) await writeFile(join(out, part, 'package.json'), '{"type":"module"}\n');
  return metafile;
}
