import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as command from '../../src/cli/agent/report.ts';
import type { Instant } from '../../src/domain/units.ts';
import type { SlotEntry } from '../../src/ledger/entries.ts';
import { getLedgerFile } from '../../src/ledger/ledger-files.ts';
import { formatEntries } from '../../src/ledger/ledger-lines.ts';
import { runCommand } from '../doubles/run-command.ts';
import { jobEntry, ledgerInstant, seenEntries, slotEntries } from '../ledger/ledger-samples.ts';

let folder = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gridtide-report-'));
  // Car: armed at 1000 lb/MWh, run an hour later at 500; heating: no rate was known.
  const entries = [
    jobEntry('night', 0),
    ...seenEntries(0, [1000, 500]),
    ...slotEntries(1, { job: 'night' }),
    ...slotEntries(26, { load: 'heating', region: 'PSCO' }),
  ];
  await writeFile(join(folder, getLedgerFile(ledgerInstant(0))), `${formatEntries(entries)}torn`);
});
afterAll(() => rm(folder, { recursive: true }));

const HOUR_0 = ledgerInstant(0);
const SLOTS = {
  ...{ kind: 'slots', at: HOUR_0, load: 'car', metered: false, level: 'on' },
  ...{ why: 'plan', basis: 'fresh-forecast', region: 'PSCO' },
};
const DAY = {
  ...{ kind: 'day', load: 'car', day: '2026-03-01', at: HOUR_0, energy: 6, metered: 0, unconfirmed: 0, priced: 6 },
  ...{ emitted: 1, instead: 2, settled: 6, imputed: 0, restated: 0, starts: 1, estimated: false },
  ...{ baselines: ['at-once'], models: ['2026-01-01'], jobs: ['a'] },
};
const STRANGE_NUMBERS = [1e300, -1e300, 8.7e15, 1e-300, 0, -1];
const STRANGE_TEXTS = ['', '__proto__', 'Mars/Olympus', '\u001b[31mred\u0007'];

/** The value with one number or text in it replaced, each in turn by each strange one. */
function* changeEachValue(value: unknown): Generator<unknown> {
  if (typeof value === 'number') yield* STRANGE_NUMBERS;
  else if (typeof value === 'string') yield* STRANGE_TEXTS;
  else if (Array.isArray(value)) {
    for (const [i, one] of value.entries()) for (const changed of changeEachValue(one)) yield value.with(i, changed);
  } else if (typeof value === 'object' && value !== null)
    for (const [key, one] of Object.entries(value))
      for (const changed of key === 'kind' ? [] : changeEachValue(one)) yield { ...value, [key]: changed };
}

const report = (...words: string[]) => runCommand(command, words);

describe('gridtide report', () => {
  it('tells each load and day, with kilograms only where rates are known', async () => {
    const { code, out, err } = await report('--state', folder, '--json');
    expect([code, err]).toEqual([0, '1 damaged line of the ledger skipped\n']);
    const { totals } = JSON.parse(out);
    expect(totals).toHaveLength(2);
    expect(totals[0]).toMatchObject({ load: 'car', span: '2026-03-01', baselines: ['at-once'], standing: 'estimate' });
    expect(totals[0].energyKwh).toBeCloseTo(6, 9);
    expect(totals[0].savedKg).toBeCloseTo(6 * 0.5 * 0.45359237, 9);
    expect(totals[1]).toMatchObject({ load: 'heating', span: '2026-03-02', pricedKwh: 0, standing: 'unknown' });
    expect('kg' in totals[1]).toBe(false);
  });
  it('of ten years with a torn month it counts all whole lines, and says once what is lost', async () => {
    const state = await mkdtemp(join(folder, 'years-'));
    const starts = Array.from({ length: 120 }, (_, month) => Date.UTC(2016, month, 2, 12) as Instant);
    for (const [month, at] of starts.entries()) {
      const text = formatEntries([{ ...(slotEntries(0)[0] as SlotEntry), at }]);
      await writeFile(join(state, getLedgerFile(at)), month === 60 ? `${text}torn\n${text.slice(0, 20)}` : text);
    }
    const { code, out, err } = await report('--state', state, '--json', '--month');
    expect([code, err]).toEqual([0, '2 damaged lines of the ledger skipped\n']);
    const { totals, damaged } = JSON.parse(out) as { totals: { energyKwh: number }[]; damaged: number };
    expect([totals.length, damaged]).toEqual([120, 2]);
    expect(totals.map(({ energyKwh }) => energyKwh.toFixed(3))).toEqual(totals.map(() => '0.500'));
  });
  it('says in one sentence that a month cannot be read', async () => {
    const state = await mkdtemp(join(folder, 'odd-'));
    await mkdir(join(state, getLedgerFile(ledgerInstant(0))));
    expect(await report('--state', state)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/ledger-2026-03\.jsonl cannot be read \(EISDIR\)/),
    });
  });
  //  one line of each kind
  it.each<Readonly<Record<string, unknown>>>([
    { kind: 'job', load: 'car', job: 'a', armedAt: HOUR_0, power: 6 },
    { ...SLOTS, job: 'a', pieces: [[300_000, 12, 0.5]] },
    { kind: 'price', at: HOUR_0, for: 3_600_000, price: 0.3, currency: 'USD' },
    { kind: 'seen', region: 'PSCO', at: HOUR_0, period: 300_000, rates: [900, 800], model: '2026-01-01' },
    {
      kind: 'settled',
      region: 'PSCO',
      period: 300_000,
      readAt: HOUR_0,
      runs: [{ at: HOUR_0, rates: [900], imputed: true }],
    },
    { ...DAY, bill: { energy: 6, paid: 2, instead: 3, currency: 'USD' } },
    { kind: 'carried', load: 'car', end: HOUR_0, done: { a: 3 } },
    { kind: 'header', damaged: 0, foreign: 0, timezone: 'America/Denver' },
  ])('counts or skips a line of another version, whatever stands in it: $kind', async (line) => {
    const state = await mkdtemp(join(folder, 'other-'));
    const file = join(state, getLedgerFile(ledgerInstant(0)));
    for (const changed of changeEachValue(line)) {
      const json = JSON.stringify(changed);
      const usual = formatEntries([...seenEntries(0, [1000, 500]), ...slotEntries(1)]);
      await writeFile(file, `${usual}${crc32(json).toString(16).padStart(8, '0')} ${json}\n`);
      for (const words of [['--json'], ['--month'], ['--csv']]) {
        const { code, out, err } = await report('--state', state, ...words);
        expect([json, code, /\p{Cc}/u.test(`${out}${err}`.replaceAll('\n', ''))]).toEqual([json, 0, false]);
        expect(out).toContain('car');
      }
    }
  });
  it('prints no minus before a zero', async () => {
    const state = await mkdtemp(join(folder, 'zero-'));
    const json = JSON.stringify({
      ...DAY,
      emitted: 2.001,
      instead: 2,
      restated: -0.001,
      bill: { energy: 6, paid: 3.001, instead: 3, currency: 'EUR' },
    });
    const line = `${crc32(json).toString(16).padStart(8, '0')} ${json}\n`;
    await writeFile(join(state, getLedgerFile(HOUR_0)), line);
    const { out } = await report('--state', state);
    expect(out).toContain(' 0.00 kg  0 %  settled');
    expect(out).toContain('restated by 0.00 kg');
    expect(out).toContain('saved 0.00 EUR');
    expect(out).not.toMatch(/ -0/u);
  });
  it('says it in lines a person can read', async () => {
    const { out } = await report('--state', folder, '--month');
    expect(out).toContain('2026-03  car');
    expect(out).toContain('1.36 kg  50 %  estimate');
    expect(out).toContain('no rate known');
    expect(out).toMatch(
      /\ncar: 6.00 kWh from confirmed levels; model [-\d]+, 0.0 % settled, 0.0 % imputed, restated by 0.00 kg, instead: at-once\n/,
    );
    expect(out).toMatch(/\nheating: 6.00 kWh from confirmed levels; no rate is known, so there are no kilograms\n/);
    expect(
      Math.max(
        ...out
          .split('\n')
          .slice(0, 3)
          .map((line) => line.length),
      ),
    ).toBeLessThanOrEqual(80);
  });
  it('says of commands alone that nothing confirmed them, not that rates are missing', async () => {
    const state = await mkdtemp(join(folder, 'commands-'));
    const entries = [...seenEntries(0, [1000, 500]), ...slotEntries(1, { unconfirmed: true })];
    await writeFile(join(state, getLedgerFile(ledgerInstant(0))), formatEntries(entries));
    const { out } = await report('--state', state);
    expect(out).toMatch(/ {2}not confirmed\n/);
    expect(out).toMatch(
      /\ncar: 6.00 kWh from commands .* did not confirm, with no saving claimed, so there are no kilograms\n/,
    );
  });
  it('as CSV, with a head', async () => {
    const { out } = await report('--state', folder, '--csv');
    expect(out.split('\n').map((line) => line.split(',').length)).toEqual([21, 21, 21, 1]);
  });
  it('has the days and the directory of a configuration', async () => {
    const config = join(folder, 'house.yaml');
    await writeFile(
      config,
      `device: cellar
place: {latitude: 38.5, longitude: -122.0, timezone: Pacific/Kiritimati}
service: {url: "http://127.0.0.1:9", usernameFile: username, passwordFile: password}
state: ${folder}
loads:
  car: {type: ev, output: {kind: dry-run}, powerKw: 6}
`,
    );
    const { totals } = JSON.parse((await report('--config', config, '--json')).out);
    // 01:00 of the first in UTC is 15:00 there; 02:00 of the second, 16:00.
    expect(totals.map(({ span }: { span: string }) => span)).toEqual(['2026-03-01', '2026-03-02']);
    const later = JSON.parse((await report('--config', config, '--timezone', 'America/Los_Angeles', '--json')).out);
    expect(later.totals[0].span).toBe('2026-02-28');
    // Its window is 01:00-05:00 there, 11:00 in UTC, of which no rate is known.
    const timer = JSON.parse((await report('--config', config, '--baseline', 'timer', '--json')).out);
    expect(timer.totals[0].pricedKwh).toBe(0);
    await writeFile(
      config,
      (await readFile(config, 'utf8')).replace('powerKw: 6', 'powerKw: 6, window: "15:00-16:00"'),
    );
    const hour = JSON.parse((await report('--config', config, '--baseline', 'timer', '--json')).out);
    expect(hour.totals[0]).toMatchObject({ baselines: ['timer'], savedKg: 0 });
  });
  it.each([
    [['--state', '/nonexistent'], 'has no ledger, so there is nothing to report'],
    [['--json', '--csv'], 'one of them'],
    [['--timezone', 'Nowhere'], 'expected a zone'],
    [['--baseline', 'never'], '--baseline never: expected one of at-once, timer'],
  ])('%j is told in one sentence', async (words, sentence) => {
    const { code, err } = await report(...words);
    expect([code > 0, err]).toEqual([true, expect.stringContaining(sentence)]);
  });
});
