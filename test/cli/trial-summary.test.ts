/** The end of `gridtide try`: the trial without the fail-safe levels that its stop sets. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { summarizeTrial } from '../../src/cli/agent/trial-summary.ts';
import { parseConfig } from '../../src/config/parse-config.ts';
import { getLedgerFile } from '../../src/ledger/ledger-files.ts';
import { formatEntries } from '../../src/ledger/ledger-lines.ts';
import { afterTest } from '../doubles/stop-after-test.ts';
import { ledgerInstant, slotEntries } from '../ledger/ledger-samples.ts';

const DAILY = 'need: 2h, by: "07:00"';
it.each([
  // its goal                            hours of the runs    what it did
  [DAILY, [1], 'ran 1h in 1 start, 6.0 kWh', 'gridtide backtest'],
  [DAILY, [1, 3], 'ran 1h in 1 start, 6.0 kWh', 'gridtide backtest'],
  [`${DAILY}, armedBy: command`, [3], 'did not run', undefined],
])('a trial of three hours, goal {%s}, runs at hours %j: %s', async (goal, runs, sentence, hint) => {
  const state = await mkdtemp(join(tmpdir(), 'trial-'));
  afterTest(() => rm(state, { recursive: true }));
  const read = parseConfig(`device: cellar
place: {latitude: 38.5, longitude: -122, timezone: UTC}
service: {url: "https://signal.invalid", usernameFile: a, passwordFile: b}
loads:
  car: {type: ev, powerKw: 6, output: {kind: dry-run}, goal: {${goal}}}
`);
  if (!read.ok) throw new Error(read.mistakes.join('\n'));
  const text = formatEntries(runs.flatMap((hour) => slotEntries(hour)));
  await writeFile(join(state, getLedgerFile(ledgerInstant(0))), text);
  const end = { at: ledgerInstant(3), decisions: [] };
  const lines = (await summarizeTrial({ ...read.config, state }, ledgerInstant(0), end)).split('\n');
  expect(lines.slice(0, 2)).toEqual(['3h of cellar:', `  car  ${sentence}`]);
  expect(lines[3]?.slice(0, 17)).toBe(hint ?? '');
});
