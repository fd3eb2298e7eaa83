/** `node scripts/lean-undici.mjs FILE`: bundles undici as the program carries it into one file, for tests of its parser as JavaScript. */

import { build } from 'esbuild';
import { lean } from './lean.mjs';

const bundleUndici = (outfile) =>
  build({
    stdin: { contents: "export { default } from 'undici';", resolveDir: import.meta.dirname },
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    banner: { js: "import { createRequire } from 'node:module';const require = createRequire(import.meta.url);" },
    outfile,
    plugins: [lean],
    logLevel: 'warning',
  });

if (process.argv[1] === import.meta.filename) await bundleUndici(process.argv[2] ?? 'undici.mjs');
