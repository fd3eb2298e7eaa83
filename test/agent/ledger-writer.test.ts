import { describe, expect, it } from 'vitest';
import { createDocumentStore } from '../../src/agent/document-store.ts';
import { createLedgerWriter } from '../../src/agent/ledger-writer.ts';
import { addDuration, type Instant, type LbsPerMwh, minutes } from '../../src/domain/units.ts';
import { parseLedger } from '../../src/ledger/ledger-lines.ts';
import { createMemoryDisk } from '../../src/simulation/memory-disk.ts';
import { createVirtualClock } from '../../src/simulation/virtual-clock.ts';
import { buildLoad } from '../outputs/output-fixture.ts';

const NOON = Date.parse('2026-03-01T12:00:00Z') as Instant;
const FILE = 'ledger-2026-03.jsonl';

const CAR = { ...buildLoad({ kind: 'dry-run', as: 'relay' }), name: 'car' };

function setUp({ disk = createMemoryDisk() } = {}) {
  const clock = createVirtualClock(NOON);
  const keeper = createLedgerWriter({
    loads: [CAR],
    clock,
    store: createDocumentStore(disk, () => {}),
    scratch: undefined,
    disk,
  });
  const see = (slot: number) => {
    const at = addDuration(NOON, minutes(5 * slot));
    const rate = { value: 400 as LbsPerMwh, at, until: addDuration(at, minutes(5)) };
    keeper.recordView({ region: 'PSCO', rate, changesAt: rate.until }, clock.now());
  };
  const seen = async () => {
    const bytes = await disk.read(FILE);
    return bytes === undefined
      ? []
      : parseLedger(new TextDecoder().decode(bytes)).entries.map(
          (entry) => entry.kind === 'seen' && (entry.at - NOON) / 300_000,
        );
  };
  const decide = (by: Instant) => {
    const job = { by, from: NOON, need: minutes(60), done: minutes(0), shortfall: minutes(0) };
    const reason = { wanted: 'off', why: 'plan-waits', priority: 7, basis: 'fresh-forecast' } as const;
    keeper.recordDecision({ load: 'car', at: NOON, level: 'off', ...reason, job }, clock.now());
  };
  const listJobs = async () => {
    await keeper.flush();
    return parseLedger(new TextDecoder().decode(await disk.read(FILE))).entries.map(
      (entry) => entry.kind === 'job' && entry.job,
    );
  };
  return { clock, disk, keeper, see, seen, decide, listJobs };
}

describe('writing the ledger', () => {
  it('gathers an hour of rates for one write, each slot once', async () => {
    const { keeper, see, seen } = setUp();
    for (let slot = 0; slot < 11; slot++) {
      see(slot);
      see(slot);
    }
    expect(await seen()).toEqual([]);
    see(11);
    await keeper.flush();
    expect(await seen()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  });

  it('counts a charger that the power budget lowers at its part of the power', async () => {
    const { disk, keeper, clock } = setUp();
    const reason = { wanted: 'on', why: 'clean', priority: 8, basis: 'fresh-forecast' } as const;
    const decide = (current?: { amps: number; of: number }) =>
      keeper.recordDecision(
        { load: 'car', at: clock.now().wall, level: 'on', ...reason, ...(current && { current }) },
        clock.now(),
      );
    decide();
    keeper.recordLevel('car', 'on', clock.now());
    await clock.runUntil(addDuration(NOON, minutes(30)));
    decide({ amps: 8, of: 16 });
    await clock.runUntil(addDuration(NOON, minutes(60)));
    await keeper.stop();
    const { entries } = parseLedger(new TextDecoder().decode(await disk.read(FILE)));
    const energy = entries.reduce((sum, entry) => sum + (entry.kind === 'slot' ? entry.energy : 0), 0);
    expect(energy).toBeCloseTo(CAR.powerKw * 0.75, 6);
  });

  it('keeps what a full disk refuses, in order, until there is room', async () => {
    const { disk, keeper, see, seen } = setUp();
    see(0);
    disk.failWrites('full');
    await keeper.flush();
    see(1);
    await keeper.flush();
    expect(await seen()).toEqual([]);
    disk.failWrites(undefined);
    see(2);
    await keeper.flush();
    expect(await seen()).toEqual([0, 1, 2]);
  });

  it('records a job once, whatever is decided and however often the agent starts', async () => {
    const [seven, eight] = [addDuration(NOON, minutes(420)), addDuration(NOON, minutes(480))];
    const first = setUp();
    await first.keeper.start(undefined);
    first.decide(seven);
    first.decide(seven);
    const jobs = first.keeper.recordedJobs();
    await first.keeper.flush();
    const second = setUp({ disk: first.disk });
    await second.keeper.start(jobs);
    second.decide(seven);
    second.decide(eight);
    expect(await second.listJobs()).toEqual(['2026-03-01T19:00:00+00:00', '2026-03-01T20:00:00+00:00']);
  });

  it('counts what a dry run would have drawn as unconfirmed, so that nothing is claimed for it', async () => {
    const { disk, clock, keeper } = setUp();
    keeper.recordLevel('car', 'on', clock.now());
    await clock.runUntil(addDuration(NOON, minutes(10)));
    keeper.recordLevel('car', 'off', clock.now());
    await keeper.stop();
    const { entries } = parseLedger(new TextDecoder().decode(await disk.read(FILE)));
    const slots = entries.filter((entry) => entry.kind === 'slot');
    expect(slots.map(({ unconfirmed }) => unconfirmed)).toEqual([true, true]);
  });
});
