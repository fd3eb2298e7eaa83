/** Months rewritten: the same totals before and after, whatever was under way at their ends. */

import { crc32 } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addDuration, days, type Instant } from '../../src/domain/units.ts';
import { type Entry, getEntryTime, type RecordedEntry } from '../../src/ledger/entries.ts';
import { getLedgerFile, listLedgerFiles, readLedgerMonths } from '../../src/ledger/ledger-files.ts';
import { formatEntries } from '../../src/ledger/ledger-lines.ts';
import { computeTotals, computeTotalsByMonth, type Total } from '../../src/ledger/load-totals.ts';
import type { AccountingOptions } from '../../src/ledger/savings-accounting.ts';
import { tidyLedger } from '../../src/ledger/tidy-ledger.ts';
import { createMemoryDisk, type MemoryDisk } from '../../src/simulation/memory-disk.ts';
import { createRandom, jobEntry, ledgerInstant, seenEntries, settledEntry, slotEntries } from './ledger-samples.ts';
import { listRandomEntries } from './random-ledger.ts';

const START = Date.UTC(2025, 0, 20) as Instant;
const LOADS = [
  { name: 'car', power: 7.2, hours: 4, hasJobs: true },
  { name: 'heating', power: 2, hours: 9, hasJobs: false },
];

/** A line each, as an agent appends them when they come one by one. */
async function storeEntries(disk: MemoryDisk, entries: readonly Entry[]): Promise<void> {
  const files = new Map<string, string[]>();
  for (const entry of entries) {
    const name = getLedgerFile(getEntryTime(entry as RecordedEntry));
    const lines = files.get(name) ?? [];
    lines.push(formatEntries([entry]));
    files.set(name, lines);
  }
  for (const [name, lines] of files) await disk.replace(name, new TextEncoder().encode(lines.join('')));
}

const readAll = async (disk: MemoryDisk, options: AccountingOptions) =>
  computeTotalsByMonth(readLedgerMonths(disk, listLedgerFiles(await disk.list(), options.from, options.to)), options);

async function tidyAll(disk: MemoryDisk, timezone: string, now: Instant): Promise<number> {
  let rounds = 0;
  while (await tidyLedger(disk, { timezone, now })) rounds += 1;
  return rounds;
}

/** To nine digits: sums of days are added in another order. */
const roundTotal = (total: Total) =>
  Object.fromEntries(
    Object.entries(total).map(([key, value]) => [
      key,
      typeof value === 'number' ? Number(value.toPrecision(9)) : value,
    ]),
  );

const countBytes = async (disk: MemoryDisk) => {
  const sizes = (await disk.list()).map(async (name) => (await disk.read(name))?.length ?? 0);
  return (await Promise.all(sizes)).reduce((sum, bytes) => sum + bytes, 0);
};

describe('tidying a ledger', () => {
  it('keeps every total, by day, month and all, in any zone', async () => {
    const zones = fc.constantFrom('UTC', 'America/Los_Angeles', 'Asia/Kathmandu', 'Pacific/Kiritimati');
    await fc.assert(
      fc.asyncProperty(
        zones,
        fc.integer({ min: 1, max: 1_000_000 }),
        fc.integer({ min: 0, max: 40 }),
        async (timezone, seed, offset) => {
          const from = addDuration(START, days(offset));
          const entries = listRandomEntries({ from, days: 70, loads: LOADS, random: createRandom(seed) });
          const now = addDuration(from, days(500));
          const disk = createMemoryDisk();
          await storeEntries(disk, entries);
          const queries: readonly AccountingOptions[] = (['day', 'month', 'all'] as const).map((by) => ({
            timezone,
            by,
            now,
          }));
          const whole = queries.map((query) => computeTotals(entries, query).map(roundTotal));
          const streamed = await Promise.all(queries.map((query) => readAll(disk, query)));
          expect(streamed.map(({ totals }) => totals.map(roundTotal))).toEqual(whole);

          expect(await tidyAll(disk, timezone, now)).toBeGreaterThan(2);
          const after = await Promise.all(queries.map((query) => readAll(disk, query)));
          expect(after.map(({ totals }) => totals.map(roundTotal))).toEqual(whole);
          expect([...(after[0]?.timezones ?? [])]).toEqual([timezone]);
        },
      ),
      { numRuns: Number(process.env.GRIDTIDE_RUNS ?? 3) },
    );
  });

  const NOW = addDuration(ledgerInstant(0), days(500));
  const stored = async (entries: readonly Entry[], torn = '') => {
    const disk = createMemoryDisk();
    await storeEntries(disk, entries);
    const [name = ''] = await disk.list();
    await disk.append(name, new TextEncoder().encode(torn), { sync: true });
    return disk;
  };
  const march = [
    jobEntry('night', 0),
    ...seenEntries(0, [1000, 500]),
    ...slotEntries(1, { job: 'night' }),
    settledEntry(0, [1000, 400], 30),
  ];
  const ALL = { timezone: 'UTC', by: 'all', now: NOW } as const;

  it('a torn month is told as torn ever after, and costs its line alone', async () => {
    const disk = await stored(march, 'torn by a power cut');
    const before = await readAll(disk, ALL);
    await tidyAll(disk, 'UTC', NOW);
    const after = await readAll(disk, ALL);
    expect([before.damaged, after.damaged]).toEqual([1, 1]);
    expect(after.totals.map(roundTotal)).toEqual(before.totals.map(roundTotal));
  });

  it('leaves the month alone that is not over, and folds none of the last thirteen', async () => {
    const disk = await stored(march);
    const read = async () => new TextDecoder().decode(await disk.read('ledger-2026-03.jsonl'));
    const raw = await read();
    expect(await tidyAll(disk, 'UTC', Date.UTC(2026, 3, 1, 12) as Instant)).toBe(0);
    expect(await read()).toBe(raw);
    expect(await tidyAll(disk, 'UTC', Date.UTC(2026, 3, 3) as Instant)).toBe(1);
    const joined = await read();
    expect(joined).toContain('"kind":"slots"');
    expect(await tidyAll(disk, 'UTC', Date.UTC(2027, 3, 30) as Instant)).toBe(0);
    expect(await tidyAll(disk, 'UTC', Date.UTC(2027, 4, 1) as Instant)).toBe(1);
    expect(await read()).not.toContain('"kind":"slots"');
  });

  it('lines of another version of the program stay where they are, joined month or folded', async () => {
    const disk = await stored(march);
    const json = '{"kind":"tariff","price":0.31}';
    const line = `${crc32(json).toString(16).padStart(8, '0')} ${json}\n`;
    const name = 'ledger-2026-03.jsonl';
    await disk.append(name, new TextEncoder().encode(line), { sync: true });
    for (const now of [Date.UTC(2026, 4, 1), Date.UTC(2027, 5, 1)]) {
      await tidyAll(disk, 'UTC', now as Instant);
      expect(new TextDecoder().decode(await disk.read(name))).toContain(line);
      for await (const { foreign } of readLedgerMonths(disk, [name])) expect(foreign).toBe(1);
    }
  });

  it('a disk that refuses the new month keeps the old one', async () => {
    const disk = await stored(march);
    disk.failWrites('full');
    await expect(tidyAll(disk, 'UTC', NOW)).rejects.toThrow('full');
    disk.failWrites(undefined);
    expect((await readAll(disk, ALL)).totals).toEqual(computeTotals(march, ALL));
  });

  it('what is appended to a folded month later is counted too', async () => {
    const disk = await stored(march);
    await tidyAll(disk, 'UTC', NOW);
    await disk.append('ledger-2026-03.jsonl', new TextEncoder().encode(formatEntries(slotEntries(5))), { sync: true });
    expect((await readAll(disk, ALL)).totals[0]?.energy).toBeCloseTo(12, 9);
  });

  it('three loads take at most 12 MB in their first year, and 0.5 MB once it is old', async () => {
    const loads = [...LOADS, { name: 'water', power: 3, hours: 3, hasJobs: false }];
    const disk = createMemoryDisk();
    await storeEntries(disk, listRandomEntries({ from: START, days: 365, loads, random: createRandom(1) }));
    await tidyAll(disk, 'UTC', addDuration(START, days(365)));
    expect(await countBytes(disk)).toBeLessThan(12e6);
    await tidyAll(disk, 'UTC', addDuration(START, days(830)));
    expect(await countBytes(disk)).toBeLessThan(0.5e6);
  });
});
