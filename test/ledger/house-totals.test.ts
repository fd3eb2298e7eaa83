/** The totals for watchers: the same sums as from the whole ledger, of which little is read between two midnights. */

import { describe, expect, it } from 'vitest';
import { addDuration, days, type Instant, minutes } from '../../src/domain/units.ts';
import { type Entry, getEntryTime, type RecordedEntry } from '../../src/ledger/entries.ts';
import { createHouseTotals, type HouseTotals } from '../../src/ledger/house-totals.ts';
import { getLedgerFile } from '../../src/ledger/ledger-files.ts';
import { formatEntries } from '../../src/ledger/ledger-lines.ts';
import { computeTotals, type Total } from '../../src/ledger/load-totals.ts';
import { createRandom } from './ledger-samples.ts';
import { listRandomEntries } from './random-ledger.ts';

const START = Date.UTC(2025, 0, 20, 9) as Instant;
const LOADS = [
  { name: 'car', power: 7.2, hours: 4, hasJobs: true },
  { name: 'heating', power: 2, hours: 9, hasJobs: false },
];

/** The ledger as it stands at an instant, counting what is read of it. */
function createSource(entries: readonly Entry[]) {
  const world = { now: START, reads: [] as string[] };
  const known = () => entries.filter((entry) => getEntryTime(entry as RecordedEntry) < world.now);
  return {
    world,
    known,
    list: async () => [...new Set(known().map((entry) => getLedgerFile(getEntryTime(entry as RecordedEntry))))],
    async read(name: string) {
      world.reads.push(name);
      const lines = known().filter((entry) => getLedgerFile(getEntryTime(entry as RecordedEntry)) === name);
      return new TextEncoder().encode(formatEntries(lines));
    },
  };
}

const sumOf = (totals: readonly Total[], load: string) => {
  const own = totals.filter((total) => total.load === load);
  return [own.reduce((sum, { energy }) => sum + energy, 0), own.reduce((sum, { starts }) => sum + starts, 0)];
};

const bySpan = (a: Total, b: Total) => a.span.localeCompare(b.span) || a.load.localeCompare(b.load);

describe('the totals of a house', () => {
  const timezone = 'America/Los_Angeles';
  const entries = listRandomEntries({ from: START, days: 80, loads: LOADS, random: createRandom(7) });

  it('are those of the whole ledger at each look, month after month', async () => {
    const source = createSource(entries);
    const compute = createHouseTotals(source, timezone);
    let last: HouseTotals | undefined;
    for (const day of [0, 0.01, 1, 40, 40.02, 75.3]) {
      source.world.now = addDuration(START, days(day));
      const now = source.world.now;
      last = await compute(now);
      const whole = computeTotals(source.known(), { timezone, by: 'day', now });
      for (const { name } of LOADS)
        for (const [i, sum] of sumOf(last.spans, name).entries())
          expect(sum).toBeCloseTo(sumOf(whole, name)[i] ?? Number.NaN, 6);
      const shown = last.spans.filter(({ span }) => span.length === 10);
      const kept = whole.filter(({ span }) => span >= (shown.map((total) => total.span).sort()[0] ?? '~'));
      expect(shown.sort(bySpan)).toEqual(kept.sort(bySpan));
      expect(last.since).toBe(whole[0]?.span);
    }
    expect(last?.spans.filter(({ span }) => span.length === 7).length).toBeGreaterThan(0);
  });

  it('read all once a day, else the months that bear on yesterday and today', async () => {
    const source = createSource(entries);
    source.world.now = addDuration(START, days(78));
    const compute = createHouseTotals(source, timezone);
    await compute(source.world.now);
    expect(new Set(source.world.reads).size).toBe(4);
    source.world.reads.length = 0;
    source.world.now = addDuration(source.world.now, minutes(15));
    await compute(source.world.now);
    expect(source.world.reads).toEqual(['ledger-2025-02.jsonl', 'ledger-2025-03.jsonl', 'ledger-2025-04.jsonl']);
  });
});
