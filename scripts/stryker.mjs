/** Configures Stryker for `scripts/mutations`: the rooms that are mutated, the tests that meet them, and which mutants are drawn. */

import { createHash } from 'node:crypto';
import { globSync } from 'node:fs';
import { relative } from 'node:path';

const { GRIDTIDE_SEED, GRIDTIDE_PARTS = '', GRIDTIDE_ONE_IN = '36' } = process.env;
const parts = GRIDTIDE_PARTS.split(' ');

/** Tests that call a room within their own process: the built program, which others start, has no mutants. */
const TESTS = {
  platform: ['platform', 'agent', 'outputs'],
  agent: ['agent', 'control', 'days', 'mqtt', 'outputs'],
  service: ['service', 'contract'],
  control: ['control', 'days'],
};
const NIGHTS = ['time-clock', 'mqtt-commands', 'mqtt-devices', 'service-place', 'storage-full', 'versions'];
/** They search for minutes, or look at the package as it is built. */
const NEVER = ['control/exhaustive', 'service/client-properties', 'platform/failsafe', 'platform/javascript-parser'];

/** By what is mutated, so that a change elsewhere leaves the draw as it is. */
function isDrawn({ fileName, location, mutatorName, replacement }) {
  const text = JSON.stringify([GRIDTIDE_SEED, relative(process.cwd(), fileName), location, mutatorName, replacement]);
  return createHash('sha256').update(text).digest().readUInt32BE() % Number(GRIDTIDE_ONE_IN) === 0;
}

/** Stryker asks its checkers about each mutant before it runs: this one lets the drawn ones pass. */
const createDraw = () => ({
  init: async () => {},
  group: async (mutants) => [mutants.map(({ id }) => id)],
  check: async (mutants) => {
    const verdict = (mutant) =>
      isDrawn(mutant) ? { status: 'passed' } : { status: 'compileError', reason: 'not drawn' };
    return Object.fromEntries(mutants.map((mutant) => [mutant.id, verdict(mutant)]));
  },
});

/** A line for each mutant as soon as its tests have ended: a run takes hours. */
const createReporter = () => ({
  onMutantTested: ({ status, fileName, location, mutatorName, replacement }) => {
    if (status === 'CompileError' || status === 'Ignored') return;
    const change = replacement.replaceAll(/\s+/g, ' ').slice(0, 80);
    console.log(`${status} ${relative(process.cwd(), fileName)}:${location.start.line} ${mutatorName}: ${change}`);
  },
});
export const strykerPlugins = [
  { kind: 'Checker', name: 'draw', factory: createDraw },
  { kind: 'Reporter', name: 'lines', factory: createReporter },
];

const rooms = parts.map((part) => part.split('/')[0]);
const folders = [...new Set(rooms.flatMap((room) => TESTS[room] ?? []))];
const patterns = folders.map((folder) => `test/${folder}/*.test.ts`);
if (rooms.includes('agent')) patterns.push(`test/faults/{${NIGHTS}}.test.ts`);

export default {
  mutate: parts.map((part) => `src/${part}/**/*.ts`),
  testFiles: globSync(patterns).filter((file) => !NEVER.some((name) => file === `test/${name}.test.ts`)),
  testRunner: 'vitest',
  vitest: { related: false },
  plugins: ['@stryker-mutator/vitest-runner', import.meta.filename],
  checkers: ['draw'],
  mutator: { excludedMutations: ['StringLiteral'] },
  ignoreStatic: true,
  coverageAnalysis: 'perTest',
  dryRunTimeoutMinutes: 60,
  // A time-out counts as noticed, so a busy machine must not cause one.
  timeoutMS: 60_000,
  timeoutFactor: 4,
  thresholds: { high: 90, low: 85, break: 85 },
  // Stryker rewrites a tsconfig.json with functions that TypeScript 7 does not have.
  tsconfigFile: 'none',
  tempDirName: '.cache/stryker',
  ignorePatterns: ['dist', 'release', '.cache'],
  reporters: ['lines', 'clear-text'],
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false, skipFull: true },
};
