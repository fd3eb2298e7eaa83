import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as command from '../../src/cli/lab/backtest.ts';
import { runCommand } from '../doubles/run-command.ts';

let folder = '';
let file = '';

/** 12 days of time,value in lb/MWh: a daily wave. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gridtide-backtest-'));
  file = join(folder, 'wave.csv.gz');
  const start = Date.UTC(2020, 5, 1);
  const lines = Array.from({ length: 12 * 288 }, (_, i) => {
    const value = 600 + 300 * Math.sin((2 * Math.PI * i) / 288);
    return `${new Date(start + i * 300_000).toISOString()},${value.toFixed(3)}`;
  });
  await writeFile(file, gzipSync(`time,value\n${lines.join('\n')}\n`));
});
afterAll(() => rm(folder, { recursive: true }));

const replay = (...words: string[]) => runCommand(command, words, { columns: 100 });
const some = ['--units', 'lbs_co2_per_mwh', '--load', 'ev-overnight', '--policy', 'immediate,window,hindsight'];

describe('gridtide backtest', () => {
  it('--json is one document of the agreed shape, and nothing else', async () => {
    const { code, out, err } = await replay('--series', file, ...some, '--json');
    expect([code, err]).toEqual([0, '']);
    const { series, results } = JSON.parse(out);
    expect(series).toEqual({
      from: '2020-06-01T00:00:00+00:00',
      to: '2020-06-12T23:55:00+00:00',
      points: 3_456,
      forecasts: false,
      lbsPerMwh: { least: 300, mean: expect.closeTo(600, 6), most: 900 },
    });
    expect(results.map(({ load, policy }: { load: string; policy: string }) => [load, policy])).toEqual([
      ['ev-overnight', 'immediate'],
      ['ev-overnight', 'window'],
      ['ev-overnight', 'hindsight'],
    ]);
    expect(results[2]).toMatchObject({ deadlines: { met: 3, missed: 0 }, violations: 0 });
    expect(results[2].energyKwh).toBeCloseTo(3 * 28.8, 6);
    expect(results[2].kg + results[2].savedKg).toBeCloseTo(results[0].kg, 9);
    expect(results[2].shareOfHindsight).toBeCloseTo(1, 9);
  });
  it('takes files without the flag, and says it in a table with bars', async () => {
    const { out } = await replay(file, ...some);
    expect(out).toContain('3456 slots of 5 minutes');
    expect(out).toContain('600 lb/MWh on average, 300 to 900, without forecasts');
    expect(out).toMatch(/hindsight +█+ 100/);
    // From the first night that counts to the end: the days that teach are left out.
    expect(out).toContain('window: default-window 4255 min (100.0 %)');
    expect(out).toContain('immediate: computed from the series, without decisions');
    expect(out).toMatch(/hindsight: .*\n.* by leaving the plan 0\.0 kg\n/);
  });
  it('says the rates in the unit of the house', async () => {
    const config = join(folder, 'house.yaml');
    await writeFile(
      config,
      `device: house
place: {latitude: 52.5, longitude: 13.4, timezone: Europe/Berlin}
service: {url: "http://127.0.0.1:1", usernameFile: u, passwordFile: p}
loads: {car: {type: ev, goal: {need: 4h, by: "07:00", from: "20:00"}, output: {kind: dry-run}}}
`,
    );
    const { out } = await replay(file, '--config', config, '--units', 'lbs_co2_per_mwh', '--policy', 'immediate');
    expect(out).toContain('272 g/kWh on average, 136 to 408, without forecasts');
  });
  it('--seed replays the grid of the reference service, the same each time', async () => {
    const words = [
      '--from',
      '2026-03-01',
      '--to',
      '2026-03-04',
      '--load',
      'ev-overnight',
      '--policy',
      'hindsight',
      '--json',
    ];
    const first = await replay('--seed', '7', ...words);
    expect((await replay('--seed', '7', ...words)).out).toBe(first.out);
    expect((await replay('--seed', '8', ...words)).out).not.toBe(first.out);
    expect(JSON.parse(first.out)).toMatchObject({
      series: { from: '2026-02-20T00:00:00+00:00', to: '2026-03-03T23:55:00+00:00', points: 12 * 288 },
      results: [{ policy: 'hindsight', deadlines: { met: 3, missed: 0 }, violations: 0 }],
    });
  });
  it('--latency, --baseline, --by month and --jobs say what they change', async () => {
    const jobs = join(folder, 'jobs.csv');
    const { code, out } = await replay(
      ...[file, '--units', 'lbs_co2_per_mwh', '--load', 'ev-overnight', '--policy', 'timer,hindsight'],
      ...['--latency', '5m', '--baseline', 'timer', '--by', 'month', '--jobs', jobs],
    );
    expect(code).toBe(0);
    expect(out).toContain('faults: each answer comes 5m late');
    expect(out).toMatch(/timer +86 +\S+ +0\.0 kg +0\.0 % +0\.0 % +0\.0 %/);
    expect(out).toMatch(/2020-06 +hindsight +\S+ kg +\S+ % +100\.0 %/);
    const lines = (await readFile(jobs, 'utf8')).trim().split('\n');
    expect(lines[0]).toBe('load,policy,from,by,kg,immediateKg,timerKg,hindsightKg,runs');
    expect(lines).toHaveLength(1 + 2 * 3);
  });
  it('--csv has a head and one line a result', async () => {
    const { out } = await replay(file, ...some, '--csv');
    expect(out.split('\n').map((line) => line.split(',').length)).toEqual([28, 28, 28, 28, 1]);
  });
  it.each([
    [[], 'no series; give --series FILE'],
    [['x.csv', '--seed', '7'], '--seed and a file: expected one of them'],
    [['--seed', '7', '--region', 'NOWHERE'], 'NOWHERE is not a region of the reference service'],
    [['--seed', '7', '--from', '2026-03-04', '--to', '2026-03-01'], 'expected a time after --from 2026-03-04'],
    [['--seed', '7', '--from', '2020-03-04', '--to', '2026-03-01'], 'expected a span of up to 3 years'],
    [['x.csv', '--policy', 'best'], '--policy best: expected some of immediate'],
    [['x.csv', '--faults', 'fire'], '--faults fire: expected some of outage'],
    [['x.csv', '--load', 'sauna'], '--load sauna: expected one of ev-overnight, ev-day, heat-pump'],
    [['x.csv', '--from', 'noon'], '--from noon: expected a time with a zone'],
    [['x.csv', '--units', 'stone'], '--units stone: expected one of'],
    [['nowhere.csv'], 'nowhere.csv: cannot be read'],
    [['x.csv', '--latency', 'soon'], '--latency soon: expected a duration'],
    [['x.csv', '--baseline', 'best'], '--baseline best: expected one of immediate, latest, timer'],
    [['x.csv', '--by', 'week'], '--by week: expected one of month'],
    [['x.csv', '--policy', ' , '], '--policy " , " names nothing'],
  ])('%j is told in one sentence', async (words, sentence) => {
    const { code, out, err } = await replay(...words);
    expect([code > 0, out]).toEqual([true, '']);
    expect(err).toContain(sentence);
  });
  it('a history too short to count is refused with its ends', async () => {
    const { code, err } = await replay(file, ...some, '--from', '2020-06-12T12:00:00Z');
    expect([code, err]).toEqual([1, expect.stringContaining('no job lies wholly between')]);
  });
});
