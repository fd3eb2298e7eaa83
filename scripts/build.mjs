/** Bundles src/main.ts: ESM, one chunk a command, onoff left to be found at run time. Run as a program it builds into dist. */

import { chmod, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { build } from 'esbuild';
import { lean } from './lean.mjs';

const SRC = resolve(import.meta.dirname, '../src');

/** What most commands load. Each file costs a start almost a millisecond, and modules shared by different sets of commands would
 * each make a file of their own; reached from all of them, they share one. */
const SHARED = [
  'units',
  'zone',
  'world',
  'commands/command',
  'commands/version',
  'commands/state-directory',
  'commands/here',
  'commands/asked',
  'commands/lines',
  'commands/service-options',
  'config/written',
  'times',
  'platform/disk',
  'region/place',
  'region/held',
].map((name) => join(SRC, `${name}.ts`));

/** The files that others load on demand, and the one that starts. */
async function onDemand() {
  const names = (await readdir(SRC, { recursive: true })).filter((name) => name.endsWith('.ts'));
  const asked = names.map(async (name) => {
    const text = await readFile(join(SRC, name), 'utf8');
    return [...text.matchAll(/import\('(\.[^']*\.ts)'\)/g)].map(([, to]) => resolve(SRC, dirname(name), to));
  });
  return new Set([join(SRC, 'main.ts'), ...(await Promise.all(asked)).flat()]);
}

const sharedChunk = {
  name: 'shared-chunk',
  async setup({ onLoad }) {
    const alone = await onDemand();
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      if (!alone.has(path) || SHARED.includes(path)) return undefined;
      const imports = SHARED.map((file) => `import ${JSON.stringify(file)};`).join('');
      const text = await readFile(path, 'utf8');
      // A first line that starts with #! must stay first.
      const [first = '', ...rest] = text.split('\n');
      return {
        loader: 'ts',
        contents: first.startsWith('#!') ? `${first}\n${imports}${rest.join('\n')}` : `${imports}${text}`,
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
    write: false,
    absWorkingDir: resolve(SRC, '..'),
    entryPoints: ['src/main.ts'],
    outdir: out,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
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
  const { files, bytes } = await buildProgram(resolve('dist'));
  console.log(`built ${files} files, ${Math.round(bytes / 1024)} KiB, in dist/`);
}
