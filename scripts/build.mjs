/** Bundles src/main.ts: CommonJS files that commands share, onoff left to be found at run time. Run as a program it builds all of the package into dist, or the directory given. */

import { execFileSync, spawnSync } from 'node:child_process';
import { chmod, copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { build, transform } from 'esbuild';
import { lean } from './lean.mjs';
import { buildLibrary } from './library.mjs';
import { writeNotices } from './notices.mjs';
import { writeSbom } from './sbom.mjs';

const ROOT = resolve(import.meta.dirname, '..');
const SRC = join(ROOT, 'src');

/** How the program is bundled, in a package and while it is developed. */
export const BASE = {
  absWorkingDir: ROOT,
  entryPoints: ['src/main.ts'],
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  // A package that is linked into a tree to be released keeps its place there: the real one would name the machine that built it.
  preserveSymlinks: true,
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
      return { loader: 'ts', contents: `${sharedImports}${await readFile(path, 'utf8')}` };
    });
  },
};

/** V8 takes CommonJS from a code cache, and Node evaluates every getter of its own modules for an ES import of one. */
async function toCommonJs({ path, text }) {
  const { code } = await transform(text, {
    format: 'cjs',
    platform: 'node',
    target: BASE.target,
    // A late import becomes a late `require`.
    supported: { 'dynamic-import': false },
    define: { 'import.meta.url': '__filename' },
    minifyWhitespace: true,
    // Node prints the line of an error.
    lineLimit: 160,
    charset: 'ascii',
  });
  await writeFile(path, code);
  return code.length;
}

const LAUNCH = ['launch', 'make-code-cache'].map((name) => join(SRC, `launch/${name}.ts`));

/** `main.js` and the maker of the code cache: each one file, loaded by Node itself. */
const buildLaunch = (out) =>
  build({
    absWorkingDir: ROOT,
    entryPoints: { main: LAUNCH[0], 'make-code-cache': LAUNCH[1] },
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: BASE.target,
    outdir: out,
    minifySyntax: true,
    legalComments: 'none',
  });

/** Builds the program into `out`, which is emptied first; gives the number of files and their bytes. */
export async function buildProgram(out) {
  await rm(out, { recursive: true, force: true });
  const { outputFiles, metafile } = await build({
    ...BASE,
    entryPoints: { program: BASE.entryPoints[0] },
    write: false,
    outdir: out,
    minifySyntax: true,
    legalComments: 'none',
    sourcemap: false,
    metafile: true,
    plugins: [sharedChunk, lean],
    logLevel: 'warning',
  });
  await mkdir(out, { recursive: true });
  const sizes = await Promise.all(outputFiles.map(toCommonJs));
  await buildLaunch(out);
  await writeFile(join(out, 'package.json'), '{"type":"commonjs"}\n');
  await chmod(join(out, 'main.js'), 0o755);
  return { files: sizes.length, bytes: sizes.reduce((sum, bytes) => sum + bytes, 0), metafile };
}

/** The files that `gridtide page` serves: one script and one style sheet, with the chart inside. */
export async function buildPage(out) {
  const browser = join(SRC, 'page', 'browser');
  const { metafile } = await build({
    absWorkingDir: ROOT,
    metafile: true,
    entryPoints: { page: join(browser, 'page-view.ts') },
    outdir: join(out, 'page'),
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    preserveSymlinks: true,
    legalComments: 'eof',
    logLevel: 'warning',
  });
  for (const name of ['index.html', 'icon.svg']) await copyFile(join(browser, name), join(out, 'page', name));
  return metafile;
}

/** The holder of GPIO lines for this machine's processor; without a C compiler relays need /sys/class/gpio. */
function buildLineProgram(out) {
  const program = join(out, `gridtide-lines-${process.arch}`);
  const flags = ['-O2', '-Wall', '-Wextra', '-static', '-s', '-o', program];
  const { status, stderr, error } = spawnSync('cc', [...flags, join(ROOT, 'src/native/gridtide-lines.c')], {
    encoding: 'utf8',
  });
  if (status === 0) return;
  const cause = error === undefined ? stderr : 'there is no C compiler (apt install gcc libc6-dev)';
  console.warn(`gridtide-lines was not built, so GPIO lines need onoff and /sys/class/gpio: ${cause}`);
}

if (process.argv[1] === import.meta.filename) {
  const out = resolve(process.argv[2] ?? 'dist');
  const { files, bytes, metafile } = await buildProgram(out);
  const notices = await writeNotices(out, ROOT, [metafile, await buildLibrary(out), await buildPage(out)]);
  const packages = notices.map(({ directory, name, version, license }) => ({ directory, name, version, license }));
  await writeSbom(join(out, 'sbom.cdx.json'), ROOT, packages);
  await writeFile(
    join(out, 'gridtide.schema.json'),
    execFileSync(process.execPath, [join(out, 'main.js'), 'init', '--schema']),
  );
  buildLineProgram(out);
  console.log(`built ${files} files, ${Math.round(bytes / 1024)} KiB, in dist/`);
}
