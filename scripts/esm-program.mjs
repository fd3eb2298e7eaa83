/** How one file of the sources becomes a program of its own beside the package: in benches, the simulator, the emulated machine and tests. */

export const ESM_PROGRAM = {
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  // CommonJS packages in it call require.
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module';const require = __createRequire(import.meta.url);",
  },
  logLevel: 'warning',
};
