import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Longest first, so that no core is idle at the end; the rest in vitest's own order. */
const LONGEST = [
  'rig/installed',
  'rig/relays',
  'simulation/run-backtest',
  'simulator/simulator',
  'faults/signal-data',
  'faults/service-models',
  'faults/service-paths',
  'faults/charger-night',
  'cli/tune',
  'system/demo',
  'faults/secrets',
  'faults/process-end',
  'faults/release',
  'control/exhaustive',
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]) {
    const rank = ({ moduleId }: TestSpecification) => {
      const place = LONGEST.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
      return place < 0 ? LONGEST.length : place;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
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
    sequence: { sequencer: LongestFirst },
    // Against a test that hangs: a run that is only slow ends before, also on a busy machine.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 250_000 } },
  },
});
