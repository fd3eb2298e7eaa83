/** Bundles the simulator, with the adapters of files over its modelled disk, and with defects planted where they are asked for. */

import { readdir, readFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { build } from 'esbuild';
import { ESM_PROGRAM } from './esm-program.mjs';

const ROOT = resolve(import.meta.dirname, '..');
const MODELLED_FS = join(ROOT, 'test/simulator/modelled-fs.ts');
/** The adapters that reach the disk. */
const FILE_ADAPTERS = /src[\\/]platform[\\/](file-disk|make-directory|secret-files)\.ts$/;

/** The text with a patch applied; throws when the text to replace is not there exactly once. */
export function applyPatch(text, { file, find, put }) {
  const parts = text.split(find);
  if (parts.length !== 2) throw new Error(`${file} holds ${parts.length - 1} times: ${find}`);
  return parts.join(put);
}

const modelledDisk = (patches) => ({
  name: 'modelled-disk',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^\.\/files\.ts$/ }, ({ importer }) =>
      FILE_ADAPTERS.test(importer) ? { path: MODELLED_FS } : undefined,
    );
    onLoad({ filter: /[\\/]src[\\/].*\.ts$/ }, async ({ path }) => {
      const own = patches.filter(({ file }) => file === basename(path));
      if (own.length === 0) return undefined;
      return { loader: 'ts', contents: own.reduce(applyPatch, await readFile(path, 'utf8')) };
    });
  },
});

/** Writes the simulator to `outfile`; `patches` are `{file, find, put}` by the name of a file, each of which is unique in src. */
export async function buildSimulator(outfile, patches = []) {
  const sources = await readdir(join(ROOT, 'src'), { recursive: true });
  for (const { file } of patches)
    if (!sources.some((source) => basename(source) === file)) throw new Error(`there is no ${file} in src`);
  await build({
    absWorkingDir: ROOT,
    entryPoints: [join(ROOT, 'test/simulator/simulate.program.ts')],
    outfile,
    ...ESM_PROGRAM,
    external: ['onoff'],
    plugins: [modelledDisk(patches)],
  });
}
