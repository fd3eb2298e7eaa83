import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as command from '../../src/cli/lab/tune.ts';
import { addDuration, type Instant, type LbsPerMwh, minutes } from '../../src/domain/units.ts';
import { getLedgerFile } from '../../src/ledger/ledger-files.ts';
import { formatEntries } from '../../src/ledger/ledger-lines.ts';
import { runCommand } from '../doubles/run-command.ts';

let folder = '';
let [series, config, state] = ['', '', ''];
const START = Date.UTC(2020, 5, 1) as Instant;
/** A daily wave: cleanest at 18:00 UTC, 11:00 in Los Angeles. */
const rateAt = (slot: number) => Math.round(600 + 300 * Math.sin((2 * Math.PI * slot) / 288));

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gridtide-tune-'));
  [series, config, state] = ['wave.csv', 'house.yaml', 'state'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const slots = Array.from({ length: 13 * 288 }, (_, i) => ({
    at: addDuration(START, minutes(5 * i)),
    rate: rateAt(i),
  }));
  const rows = slots.map(({ at, rate }) => `${new Date(at).toISOString()},${rate.toFixed(3)}\n`);
  await writeFile(series, `time,value\n${rows.join('')}`);
  const seen = slots.map(({ at, rate }) =>
    formatEntries([{ kind: 'seen', region: 'PSCO', at, period: minutes(5), rate: rate as LbsPerMwh }]),
  );
  await writeFile(join(folder, getLedgerFile(START)), `${seen.join('')}torn`);
  state = folder;
  await writeFile(
    config,
    `device: cellar
state: ${folder}
place: {latitude: 38.5, longitude: -122.0, timezone: America/Los_Angeles}
service: {url: "http://127.0.0.1:9", usernameFile: username, passwordFile: password}
loads:
  car: {type: ev, output: {kind: dry-run}, powerKw: 7.2, goal: {need: 4h, by: "07:00", from: "18:00"}}
  water: {type: tank, output: {kind: dry-run}, onBelow: 33, offAbove: 80}
  plug: {type: ev, output: {kind: dry-run}, powerKw: 7.2, goal: {need: 4h, by: "07:00", armedBy: command}}
  day: {type: generic, output: {kind: dry-run}, powerKw: 1, goal: {need: 1h, by: "18:00", from: "18:00"}}
`,
  );
});
afterAll(() => rm(folder, { recursive: true }));

const propose = (...words: string[]) => runCommand(command, words, { columns: 100 });
const wave = () => ['--series', series, '--units', 'lbs_co2_per_mwh', '--config', config, '--days', '3'];

describe('gridtide tune', () => {
  it('proposes thresholds that run as long on a cleaner grid, and a later end towards the clean morning', async () => {
    const { code, out, err } = await propose(...wave(), '--load', 'car', '--load', 'water', '--json');
    expect([code, err]).toEqual([0, '']);
    const { proposals } = JSON.parse(out);
    const [car, water] = proposals;
    expect(car).toMatchObject({
      load: 'car',
      kind: 'goal',
      now: { jobs: 3, missed: 0 },
      proposed: { laterMinutes: 120 },
    });
    expect(car.proposed.kgPerJob).toBeLessThan(car.now.kgPerJob);
    expect(water).toMatchObject({ load: 'water', kind: 'thresholds', now: { onBelow: 33, offAbove: 80 } });
    expect(water.proposed.lbsPerMwh).toBeLessThan(water.now.lbsPerMwh);
    expect(water.proposed.hoursPerDay).toBeGreaterThanOrEqual(0.98 * water.now.hoursPerDay);
  });
  it('says the same from the ledger of a state directory, and of a torn line once', async () => {
    const fromFile = JSON.parse((await propose(...wave(), '--load', 'car', '--json')).out);
    const fromLedger = await propose('--state', state, '--config', config, '--days', '3', '--load', 'car', '--json');
    const { proposals } = JSON.parse(fromLedger.out);
    expect(proposals).toEqual(fromFile.proposals);
    expect(fromLedger.err).toBe('1 damaged line of the ledger skipped\n');
  });
  it('says it in a table, with what is and what is proposed', async () => {
    const { out } = await propose(...wave(), '--load', 'car', '--load', 'water');
    expect(out).toMatch(/car, the last 3 days: ending 2 h later would have saved \d+\.\d\d kg a job/);
    expect(out).toMatch(
      /water, the last 3 days: onBelow \d+, offAbove \d+ would have run [\d.]+ h a day instead of [\d.]+ on a grid \d+ % cleaner/,
    );
    expect(out).toMatch(/ 33 +80 .* now\n/);
    expect(out).toMatch(/ proposed\n/);
  });
  it.each([
    ['--days', '1', '--days 1: expected a whole number within 3 to 60'],
    ['--days', '10', 'the rates span 13.0 days; --days 10 needs 20'],
    ['--load', 'sauna', '--load sauna: expected one of car, water, plug, day'],
    ['--units', 'stone', '--units stone: expected one of'],
  ])('%s %s is told in one sentence', async (flag, value, sentence) => {
    const given = wave();
    // In place of the value that the other rows give it.
    const others = given.includes(flag) ? given.toSpliced(given.indexOf(flag), 2) : given;
    const { code, err } = await propose(...others, flag, value);
    expect([code > 0, err]).toEqual([true, expect.stringContaining(sentence)]);
  });
  it('says of jobs armed by command, and of a window as long as the day, why nothing is proposed', async () => {
    const { out } = await propose(...wave(), '--load', 'plug', '--load', 'day');
    expect(out).toContain('plug: its jobs start with a command, each with its own window; nothing is proposed\n');
    expect(out).toContain('day, the last 3 days: no window an hour wider fits in its day\n');
  });
  it('without a ledger it says what to do', async () => {
    const { code, err } = await propose('--state', join(folder, 'nothing'));
    expect([code, err]).toEqual([1, expect.stringContaining('has no ledger')]);
  });
});
