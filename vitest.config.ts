import { defineConfig } from 'vitest/config';

// Forked processes, not threads: onoff's native watcher must not live in a worker thread.
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/seed.setup.ts'],
    pool: 'forks',
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
