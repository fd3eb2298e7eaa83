/** Configures Stryker for `scripts/mutations`: the rooms that are mutated, the tests that meet them, and which mutants are drawn. */

import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';

const { GRIDTIDE_SEED, GRIDTIDE_PARTS = '', GRIDTIDE_ONE_IN = '36' } = process.env;
const parts = GRIDTIDE_PARTS.split(' ');

/** Tests that call a room within their own process: the built program, which others start, has no mutants. */
const TESTS = {
  platform: ['platform/*', 'outputs/*', 'faults/{device-bench,mqtt-*,service-wire,storage-*}'],
  agent: [
    'agent/*',
    'days/*',
    'faults/{acknowledged,ledger-loss,load-names,mqtt-*,observe-only,service-place,service-wire,storage-*,time-clock,versions}',
    'relay/relayed-*',
  ],
  service: ['service/*', 'contract/*'],
  control: ['control/*', 'days/*'],
};
/** They search for minutes, start the built program in each row, or look at the package as it is built. */
const NEVER = [
  'control/exhaustive',
  'service/client-properties',
  'platform/failsafe',
  'platform/javascript-parser',
  'faults/storage-kill',
  'faults/storage-power',
];

const ROOT = `${import.meta.dirname}/..`;
const linesByFile = new Map();
function readLine(file, line) {
  if (!linesByFile.has(file)) linesByFile.set(file, readFileSync(`${ROOT}/${file}`, 'utf8').split('\n'));
  return linesByFile.get(file)[line];
}

/** By the text of the line that is mutated, not by its number, so that a change elsewhere leaves the draw as it is. */
function isDrawn({ fileName, location: { start }, mutatorName, replacement }) {
  const file = relative(process.cwd(), fileName);
  const line = readLine(file, start.line);
  const column = start.column - line.search(/\S/);
  const text = JSON.stringify([GRIDTIDE_SEED, file, line.trim(), column, mutatorName, replacement]);
  return createHash('sha256').update(text).digest().readUInt32BE() * Number(GRIDTIDE_ONE_IN) < 2 ** 32;
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

const NOTICED = ['Killed', 'Timeout'];
const isRun = ({ status }) => !['CompileError', 'Ignored', 'RuntimeError'].includes(status);

function formatRow(name, mutants) {
  const noticed = mutants.filter(({ status }) => NOTICED.includes(status)).length;
  const share = mutants.length === 0 ? '' : `${((100 * noticed) / mutants.length).toFixed(1)} %`;
  return [name.padEnd(10), String(mutants.length).padStart(5), String(noticed).padStart(8), share.padStart(8)].join('');
}

/** A line for each mutant as soon as its tests have ended, because a run takes long; at the end a row for each room. */
const createReporter = () => ({
  onMutantTested: ({ status, fileName, location, mutatorName, replacement }) => {
    if (!isRun({ status })) return;
    const change = replacement.replaceAll(/\s+/g, ' ').slice(0, 80);
    console.log(`${status} ${relative(process.cwd(), fileName)}:${location.start.line} ${mutatorName}: ${change}`);
  },
  onMutationTestReportReady: ({ files }) => {
    const byRoom = Map.groupBy(Object.entries(files), ([path]) => path.split('/')[1]);
    const rooms = [...byRoom].map(([room, entries]) => [
      room,
      entries.flatMap(([, { mutants }]) => mutants.filter(isRun)),
    ]);
    const rows = rooms.map(([room, mutants]) => formatRow(room, mutants));
    const total = formatRow(
      'all',
      rooms.flatMap(([, mutants]) => mutants),
    );
    console.log(['\nroom      drawn noticed   share', ...rows, ...(rows.length > 1 ? [total] : [])].join('\n'));
  },
});
export const strykerPlugins = [
  { kind: 'Checker', name: 'draw', factory: createDraw },
  { kind: 'Reporter', name: 'lines', factory: createReporter },
];

const getRoom = (path) => path.split('/')[0];
const patterns = parts.flatMap((part) => TESTS[getRoom(part)]).map((name) => `test/${name}.test.ts`);

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
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false, reportScoreTable: false },
};
