/** Bundles src/main.ts into dist: ESM, one chunk a command, onoff left to be found at run time. */

import { chmod, rm } from 'node:fs/promises';
import { build } from 'esbuild';

const out = 'dist';
await rm(out, { recursive: true, force: true });
const { metafile } = await build({
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
  // The CommonJS packages inside (undici among them) call `require` for node's own modules.
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module';const require = __createRequire(import.meta.url);",
  },
  logLevel: 'warning',
});
await chmod(`${out}/main.js`, 0o755);
const bytes = Object.values(metafile.outputs).reduce((sum, file) => sum + file.bytes, 0);
console.log(`built ${Object.keys(metafile.outputs).length} files, ${Math.round(bytes / 1024)} KiB, in ${out}/`);
