import { describe, expect, it } from 'vitest';
import { createDocumentStore } from '../../src/agent/document-store.ts';
import { createLedgerWriter } from '../../src/agent/ledger-writer.ts';
import { createSettlement } from '../../src/agent/settlement.ts';
import { addDuration, days, hours, minutes } from '../../src/domain/units.ts';
import { getLedgerFile } from '../../src/ledger/ledger-files.ts';
import { formatEntries, parseLedger } from '../../src/ledger/ledger-lines.ts';
import { computeTotals } from '../../src/ledger/load-totals.ts';
import type { HistoryQuery } from '../../src/service/api/query-types.ts';
import type { History } from '../../src/service/api/response-types.ts';
import type { Failure } from '../../src/service/failure.ts';
import { createMemoryDisk } from '../../src/simulation/memory-disk.ts';
import { createVirtualClock } from '../../src/simulation/virtual-clock.ts';
import { ledgerInstant, seenEntries, slotEntries } from '../ledger/ledger-samples.ts';

/** A car that ran from 01:00 to 02:00 UTC; the agent starts at noon. */
const NOON = ledgerInstant(12);

async function setUp(failure: () => Failure | undefined = () => undefined) {
  const disk = createMemoryDisk();
  const entries = [
    ...seenEntries(
      0,
      Array.from({ length: 24 }, () => 600),
    ),
    ...slotEntries(1),
  ];
  await disk.append(getLedgerFile(NOON), new TextEncoder().encode(formatEntries(entries)), {
    sync: true,
  });
  const clock = createVirtualClock(NOON);
  const asked: (HistoryQuery & { now: number })[] = [];
  const failures: Failure[] = [];
  const archived: History[] = [];
  const store = createDocumentStore(disk, () => {});
  const settler = createSettlement({
    service: {
      async history(query) {
        asked.push({ ...query, now: clock.now().wall });
        const wrong = failure();
        if (wrong !== undefined) return { ok: false, failure: wrong };
        const since = query.updatedSince;
        const points = Array.from({ length: 27 * 12 }, (_, i) => ({
          at: addDuration(ledgerInstant(-24), minutes(5 * i)),
          value: 500,
        }));
        const envelope = { region: query.region, signalType: 'co2_moer', period: minutes(5) };
        const rest = { units: 'lbs_co2_per_mwh', warnings: [], refusedPoints: 0, model: '2026-01-01' };
        return { ok: true, value: { ...envelope, ...rest, points: since === undefined ? points : [] } };
      },
    },
    clock,
    random: { fraction: () => 0.5 },
    disk,
    signalType: 'co2_moer',
    phase: 0.25,
    timezone: 'UTC',
    onSettled: createLedgerWriter({ loads: [], clock, store, scratch: undefined, disk }).recordSettled,
    onHistory: (history) => archived.push(history),
    onFailure: (one) => failures.push(one),
  });
  const standing = async () => {
    const bytes = await disk.read(getLedgerFile(NOON));
    const { entries: read } = parseLedger(new TextDecoder().decode(bytes));
    return computeTotals(read, { timezone: 'UTC', by: 'all', now: clock.now().wall })[0];
  };
  return { clock, settler, asked, failures, archived, standing };
}

describe('settling what ran', () => {
  it('asks nothing before the region is known', async () => {
    const { clock, asked } = await setUp();
    await clock.runUntil(addDuration(NOON, days(3)));
    expect(asked).toEqual([]);
  });

  it('turns an estimate into published rates, and those into settled ones after a week', async () => {
    const { clock, settler, asked, archived, standing } = await setUp();
    settler.setRegion('CAISO_NORTH');
    expect((await standing())?.standing).toBe('estimate');
    await clock.runUntil(addDuration(NOON, hours(2)));
    expect(await standing()).toMatchObject({ standing: 'provisional', models: ['2026-01-01'] });
    expect((await standing())?.emitted).toBeCloseTo(6 * 0.5 * 0.45359237, 9);
    expect(archived).toHaveLength(1);
    await clock.runUntil(addDuration(NOON, days(8)));
    expect((await standing())?.standing).toBe('settled');
    expect(asked[0]).toMatchObject({ region: 'CAISO_NORTH', includeImputedMarker: true });
    settler.stop();
    expect(clock.waiting()).toEqual([]);
  });

  it('asks at its own moment of each day for what has changed since, and no more once all is settled', async () => {
    const { clock, settler, asked } = await setUp();
    settler.setRegion('CAISO_NORTH');
    await clock.runUntil(addDuration(NOON, days(20)));
    // The first look 25 minutes after the start, then daily at 06:00 until the week is over.
    expect(asked.map(({ now }) => new Date(now).toISOString().slice(8, 16))).toEqual([
      '01T12:25',
      ...['02', '03', '04', '05', '06', '07', '08'].map((day) => `${day}T06:00`),
    ]);
    const since = (asked[0]?.now ?? 0) - hours(1);
    expect(asked.slice(1).map(({ updatedSince }) => updatedSince)).toEqual(Array(7).fill(since));
  });

  const rows: readonly (readonly [string, Failure, number, number])[] = [
    [
      'without a subscription it stays an estimate, asked for again once a day',
      { kind: 'not-entitled', message: 'no' },
      3,
      3,
    ],
    [
      'after a server error the service is asked again once an hour',
      { kind: 'server-error', message: 'no', status: 503 },
      70,
      72,
    ],
  ];
  it.each(rows)('%s', async (_, failure, fewest, most) => {
    const { clock, settler, asked, failures, standing } = await setUp(() => failure);
    settler.setRegion('CAISO_NORTH');
    await clock.runUntil(addDuration(NOON, days(3)));
    expect(asked.length).toBeGreaterThanOrEqual(fewest);
    expect(asked.length).toBeLessThanOrEqual(most);
    expect(failures).toHaveLength(asked.length);
    expect((await standing())?.standing).toBe('estimate');
  });

  it('asks nothing while no clock can be gone by', async () => {
    const { clock, settler, asked } = await setUp();
    clock.setTrusted(false);
    settler.setRegion('CAISO_NORTH');
    await clock.runUntil(addDuration(NOON, hours(5)));
    expect(asked).toEqual([]);
    clock.setTrusted(true);
    await clock.runUntil(addDuration(NOON, hours(7)));
    expect(asked).toHaveLength(1);
  });
});
