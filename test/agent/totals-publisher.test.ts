import { expect, it } from 'vitest';
import type { AgentContext } from '../../src/agent/agent-context.ts';
import { createTotalsPublisher } from '../../src/agent/totals-publisher.ts';
import { addDuration, hours } from '../../src/domain/units.ts';
import { getLedgerFile } from '../../src/ledger/ledger-files.ts';
import { formatEntries } from '../../src/ledger/ledger-lines.ts';
import { createMemoryDisk } from '../../src/simulation/memory-disk.ts';
import { createVirtualClock } from '../../src/simulation/virtual-clock.ts';
import { ledgerInstant, seenEntries, slotEntries } from '../ledger/ledger-samples.ts';

/** Whose baseline is the mean of the day: the hours of the clock at which totals were published. */
async function listPublications(entries: Parameters<typeof formatEntries>[0]): Promise<readonly string[]> {
  const disk = createMemoryDisk();
  const start = ledgerInstant(18);
  await disk.append(getLedgerFile(start), new TextEncoder().encode(formatEntries(entries)), { sync: true });
  const clock = createVirtualClock(start);
  const published: string[] = [];
  const monitor = {
    publishTotals: ({ at }: { at: number }) => published.push(new Date(at).toISOString().slice(8, 19)),
  };
  const context = {
    ...{ world: { clock, disk }, config: { place: { timezone: 'UTC' } } },
    clock: { now: () => ({ ...clock.now(), trusted: true }) },
  };
  const publisher = createTotalsPublisher(context as unknown as AgentContext, {
    ...{ monitor: monitor as never, decisions: () => [] },
  });
  publisher.start?.(new AbortController().signal);
  await clock.runUntil(addDuration(start, hours(8)));
  publisher.stop?.();
  expect(clock.waiting()).toEqual([]);
  return published;
}

it('compares what ran this morning with more of its day every hour', async () => {
  const ran = [...seenEntries(0, Array(24).fill(600)), ...slotEntries(1)];
  expect(await listPublications(ran)).toEqual([
    ...['01T18:00:05', '01T19:00:30', '01T20:00:30', '01T21:00:30', '01T22:00:30', '01T23:00:30', '02T00:00:30'],
  ]);
});

it('publishes once a day while nothing has run', async () => {
  expect(await listPublications(seenEntries(0, Array(24).fill(600)))).toEqual(['01T18:00:05', '02T00:00:30']);
});
