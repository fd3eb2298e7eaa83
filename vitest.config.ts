import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Longest first, so that no core is idle at the end; the rest in vitest's own order. */
const LONGEST = [
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

/**
 * Folders whose tests leave nothing behind in their process. In `scripts/check` their files share processes, one file after the other,
 * which saves the start and the modules of each: half a second of processor time a file. By hand each file has a process of its own.
 */
const SHARING = '{config,contract,control,days,domain,ledger,mqtt,outputs,reference,region,service,signal,tariff}';
const isCheck = process.env.GRIDTIDE_CHECK === '1';
const sharedFiles = isCheck ? [`test/${SHARING}/**/*.test.ts`] : [];

/** Minutes of an emulated machine that boots under systemd: `scripts/nightly machine` and `starts` run them. */
const nightlyFiles = isCheck ? ['test/rig/installed.test.ts'] : [];

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
      {
        extends: true,
        test: { name: 'all', include: ['test/**/*.test.ts'], exclude: [...sharedFiles, ...nightlyFiles] },
      },
      { extends: true, test: { name: 'shared', include: sharedFiles, isolate: false } },
      // The contract and the commands again, with the service as deployments are seen to answer.
      {
        extends: true,
        test: {
          name: 'published',
          isolate: !isCheck,
          include: ['test/contract/{plain,client}-*.test.ts', 'test/cli/service-commands.test.ts'],
          env: { GRIDTIDE_PROFILE: 'published' },
        },
      },
    ],
    setupFiles: ['test/seed.setup.ts'],
    pool: 'forks',
    // Two more than there are cores: many tests only wait, for a last will, a keepalive, or a machine that boots.
    maxWorkers: availableParallelism() + 2,
    sequence: { sequencer: LongestFirst },
    // Against a test that hangs: a run that is only slow ends before, also on a busy machine.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 250_000 } },
  },
});
