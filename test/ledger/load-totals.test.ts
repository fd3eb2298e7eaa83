/** What ran and what it saved, by hand: 6 kWh at 1000 lb/MWh are 2.7216 kg. */

import { describe, expect, it } from 'vitest';
import type { Entry } from '../../src/ledger/entries.ts';
import { computeTotals } from '../../src/ledger/load-totals.ts';
import type { AccountingOptions } from '../../src/ledger/savings-accounting.ts';
import { jobEntry, ledgerInstant, seenEntries, settledEntry, slotEntries } from './ledger-samples.ts';

const HOUR_AT_1000 = 6 * 0.45359237;
const ALL: AccountingOptions = { timezone: 'UTC', by: 'all', now: ledgerInstant(12) };
const only = (entries: readonly Entry[], options = ALL) => computeTotals(entries, options)[0];
const inJob = { job: 'night' };

describe('a job against the same energy at once', () => {
  //  case                      entries                                                                                       kg   instead
  const rows = [
    [
      'moved from 1000 to 500',
      [jobEntry('night', 0), ...seenEntries(0, [1000, 500]), ...slotEntries(1, inJob)],
      0.5,
      1,
    ],
    ['at once: nothing saved', [jobEntry('night', 0), ...seenEntries(0, [1000, 500]), ...slotEntries(0, inJob)], 1, 1],
    ['a bad day is negative', [jobEntry('night', 0), ...seenEntries(0, [500, 1000]), ...slotEntries(1, inJob)], 1, 0.5],
    [
      'two hours, paused',
      [
        jobEntry('night', 0),
        ...seenEntries(0, [1000, 800, 100, 900, 200]),
        ...slotEntries(2, inJob),
        ...slotEntries(4, inJob),
      ],
      0.3,
      1.8,
    ],
    [
      'armed on the half hour',
      [jobEntry('night', 0.5), ...seenEntries(0, [1000, 500, 0]), ...slotEntries(2, inJob)],
      0,
      0.75,
    ],
    [
      'negative rates are values',
      [jobEntry('night', 0), ...seenEntries(0, [1000, -100]), ...slotEntries(1, inJob)],
      -0.1,
      1,
    ],
    [
      'published rates replace seen ones',
      [jobEntry('night', 0), ...seenEntries(0, [1000, 500]), ...slotEntries(1, inJob), settledEntry(0, [2000, 100], 3)],
      0.1,
      2,
    ],
  ] as const;
  it.each(rows)('%s', (_, entries, emitted, instead) => {
    const total = only(entries);
    expect(total?.emitted).toBeCloseTo(emitted * HOUR_AT_1000, 9);
    expect(total?.instead).toBeCloseTo(instead * HOUR_AT_1000, 9);
    expect(total?.saved).toBeCloseTo((instead - emitted) * HOUR_AT_1000, 9);
    expect(total?.baselines).toEqual(['at-once']);
  });

  it('stays frozen when later jobs are armed', () => {
    const first = [jobEntry('night', 0), ...seenEntries(0, [1000, 500, 300, 200]), ...slotEntries(1, inJob)];
    const more = [...first, jobEntry('day', 2), ...slotEntries(3, { job: 'day' })];
    expect(only(more)?.instead).toBeCloseTo(1.3 * HOUR_AT_1000, 9);
    expect(only(more)?.jobs).toBe(2);
  });
});

describe('a job against a timer', () => {
  const rates = seenEntries(0, [1000, 900, 800, 100, 200, 300, 700]);
  const timers = (from: number, to: number) => ({
    timers: new Map([['car', { window: { from: from * 60, to: to * 60 }, timezone: 'UTC' }]]),
  });
  const entries = [jobEntry('night', 0), ...rates, ...slotEntries(3, inJob), ...slotEntries(6, inJob)];
  //  timer         instead of 2 hours at 100 and 700
  it.each([
    ['that begins later', 4, 6, 0.5],
    ['that is open when the job is armed', 0, 2, 1.9],
    ['on the half hours', 2.5, 4.5, 0.6],
  ] as const)('%s', (_, from, to, instead) => {
    const total = only(entries, { ...ALL, ...timers(from, to) });
    expect(total?.instead).toBeCloseTo(instead * HOUR_AT_1000, 9);
    expect(total?.emitted).toBeCloseTo(0.8 * HOUR_AT_1000, 9);
    expect(total?.baselines).toEqual(['timer']);
  });
  it('goes on the day after, and counts nothing whose rate is not known', () => {
    const total = only(entries, { ...ALL, ...timers(4, 5) });
    expect(total?.priced).toBe(6);
    expect(total?.instead).toBeCloseTo(0.2 * HOUR_AT_1000, 9);
  });
  it('leaves a load without a job with its day', () =>
    expect(only([...rates, ...slotEntries(3)], { ...ALL, ...timers(4, 6) })?.baselines).toEqual(['even-day']));
});

describe('a load without a job against the same energy over its day', () => {
  const rates = seenEntries(0, [...new Array<number>(12).fill(200), ...new Array<number>(12).fill(800)]);
  it('saves against the mean of the day', () => {
    const total = only([...rates, ...slotEntries(3)]);
    expect(total?.saved).toBeCloseTo(0.3 * HOUR_AT_1000, 9);
    expect(total?.baselines).toEqual(['even-day']);
  });
  it('takes the local day, not that of UTC', () => {
    const west = only([...rates, ...slotEntries(3)], { ...ALL, timezone: 'America/Los_Angeles' });
    // 00–08 UTC is the evening before in California: its known rates are 200 throughout.
    expect(west?.saved).toBeCloseTo(0, 9);
  });
});

describe('how sure a figure is', () => {
  const base: readonly Entry[] = [jobEntry('night', 0), ...seenEntries(0, [1000, 500]), ...slotEntries(1, inJob)];
  const published = settledEntry(0, [1000, 400], 3);
  //  case                               entries                                          now            standing       settled  imputed  restated
  const rows = [
    ['as forecast', base, 12, 'estimate', 0, 0, 0],
    ['published today', [...base, published], 12, 'provisional', 0, 0, 0],
    ['unchanged for 7 days', [...base, published], 3 + 7 * 24, 'settled', 1, 0, 0],
    ['restated on day 6', [...base, published, settledEntry(1, [450], 6 * 24)], 8 * 24, 'provisional', 0, 0, 0.05],
    ['restated, then unchanged', [...base, published, settledEntry(1, [450], 6 * 24)], 14 * 24, 'settled', 1, 0, 0.05],
    ['imputed', [...base, settledEntry(0, [1000, 400], 3, true)], 12, 'provisional', 0, 1, 0],
  ] as const;
  it.each(rows)('%s', (_, entries, now, standing, share, imputed, restated) => {
    const total = only(entries, { ...ALL, now: ledgerInstant(now) });
    expect([total?.standing, total?.settledShare, total?.imputedShare]).toEqual([standing, share, imputed]);
    expect(total?.restated).toBeCloseTo(restated * HOUR_AT_1000, 9);
    expect(total?.models).toEqual(['2026-01-01']);
  });

  it('energy without a rate has no kilograms', () => {
    const total = only([jobEntry('night', 0), ...slotEntries(1, inJob)]);
    expect([total?.energy, total?.priced, total?.emitted, total?.saved, total?.standing]).toEqual([
      6,
      0,
      0,
      0,
      undefined,
    ]);
  });
  it('energy whose counterfactual has no rate counts on neither side', () => {
    const total = only([jobEntry('night', 0), ...seenEntries(1, [500]), ...slotEntries(1, inJob)]);
    expect([total?.priced, total?.emitted, total?.instead]).toEqual([0, 0, 0]);
  });
});

describe('days and months', () => {
  const entries = [
    ...seenEntries(0, new Array<number>(50).fill(500)),
    ...slotEntries(3),
    ...slotEntries(30),
    ...slotEntries(31),
  ];
  it.each([
    ['day', 'UTC', ['2026-03-01', '2026-03-02'], [6, 12]],
    ['day', 'America/Los_Angeles', ['2026-02-28', '2026-03-01'], [6, 12]],
    ['month', 'UTC', ['2026-03'], [18]],
    ['month', 'America/Los_Angeles', ['2026-02', '2026-03'], [6, 12]],
  ] as const)('by %s in %s', (by, timezone, spans, energies) => {
    const found = computeTotals(entries, { ...ALL, by, timezone });
    expect(found.map(({ span }) => span)).toEqual(spans);
    expect(found.map(({ energy }) => Number(energy.toFixed(9)))).toEqual(energies);
  });
  it('two hours without a pause are one start', () => expect(only(entries)?.starts).toBe(2));
  it('a range takes what lies in it, its end outside', () =>
    expect(only(entries, { ...ALL, from: ledgerInstant(3.5), to: ledgerInstant(30.5) })?.energy).toBeCloseTo(6, 9));
});
