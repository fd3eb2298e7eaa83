/** Entries for the tests of the ledger, on 2026-03-01 UTC unless said otherwise. */

import type { ClockReading } from '../../src/domain/ports.ts';
import {
  type Instant,
  type Kilowatt,
  type KilowattHour,
  type LbsPerMwh,
  minutes,
  type Uptime,
} from '../../src/domain/units.ts';
import type { Entry, JobEntry, SlotEntry } from '../../src/ledger/entries.ts';

export const ledgerInstant = (hours: number) => (Date.UTC(2026, 2, 1) + hours * 3_600_000) as Instant;
export const ledgerMoment = (hours: number): ClockReading => ({
  wall: ledgerInstant(hours),
  uptime: (hours * 3_600_000) as Uptime,
  trusted: true,
});

export const jobEntry = (name: string, armed: number, kw = 6): JobEntry => ({
  kind: 'job',
  load: 'car',
  job: name,
  armedAt: ledgerInstant(armed),
  power: kw as Kilowatt,
});

/** An hour of running, 6 kWh, as its 12 slots. */
export const slotEntries = (start: number, change: Partial<SlotEntry> = {}): SlotEntry[] =>
  Array.from({ length: 12 }, (_, i) => ({
    kind: 'slot',
    load: 'car',
    at: ledgerInstant(start + i / 12),
    for: minutes(5),
    energy: 0.5 as KilowattHour,
    metered: false,
    level: 'on',
    why: 'planned',
    basis: 'fresh-forecast',
    region: 'CAISO_NORTH',
    ...change,
  }));

/** Hourly rates as seen, from `from` on. */
export const seenEntries = (from: number, rates: readonly number[]): Entry[] =>
  rates.flatMap((rate, h) =>
    Array.from({ length: 12 }, (_, i) => ({
      kind: 'seen' as const,
      region: 'CAISO_NORTH',
      at: ledgerInstant(from + h + i / 12),
      period: minutes(5),
      rate: rate as LbsPerMwh,
      model: '2026-01-01',
    })),
  );

/** Hourly rates as published, read at `read`. */
export const settledEntry = (from: number, rates: readonly number[], read: number, imputed = false): Entry => ({
  kind: 'settled',
  region: 'CAISO_NORTH',
  period: minutes(5),
  model: '2026-01-01',
  readAt: ledgerInstant(read),
  points: rates.flatMap((rate, h) =>
    Array.from({ length: 12 }, (_, i) => ({ at: ledgerInstant(from + h + i / 12), rate: rate as LbsPerMwh, imputed })),
  ),
});

/** Uniform in [0, 1), the same for the same seed. */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 16_807) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}
