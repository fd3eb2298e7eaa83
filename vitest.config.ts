import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

// Forked processes, not threads: onoff's native watcher must not live in a worker thread.
export default defineConfig({
  test: {
    projects: [
      { extends: true, test: { name: 'all', include: ['test/**/*.test.ts'] } },
      // The contract and the commands again, with the service as deployments are seen to answer.
      {
        extends: true,
        test: {
          name: 'published',
          include: ['test/contract/{plain,client}-*.test.ts', 'test/cli/service-commands.test.ts'],
          env: { GRIDTIDE_PROFILE: 'published' },
        },
      },
    ],
    setupFiles: ['test/seed.setup.ts'],
    pool: 'forks',
    // The runner's own choice leaves one core free: on two cores that is one file at a time, while many tests only wait for processes.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
