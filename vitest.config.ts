import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The emulated machines first: a file that waits for minutes must not be the last. */
class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]) {
    const isSlow = ({ moduleId }: TestSpecification) => moduleId.includes('/test/rig/');
    const sorted = await super.sort(files);
    return [...sorted.filter(isSlow), ...sorted.filter((file) => !isSlow(file))];
  }
}

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
    // One more than there are cores: many tests only wait, for a last will, a keepalive, or a machine that boots.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: SlowFirst },
    // Against a test that hangs: a run that is only slow ends before, also on a busy machine.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 250_000 } },
  },
});
