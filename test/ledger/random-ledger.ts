/** A ledger as an agent would have written it, drawn by chance: loads with and without jobs, gaps, restatements, month after month. */

import {
  addDuration,
  days,
  type Instant,
  type Kilowatt,
  type KilowattHour,
  type LbsPerMwh,
  minutes,
} from '../../src/domain/units.ts';
import type { Entry, JobEntry, SlotEntry } from '../../src/ledger/entries.ts';

const SLOT = minutes(5);
const REGION = 'CAISO_NORTH';

interface RandomLoad {
  readonly name: string;
  readonly power: number;
  /** Hours of running a day, from a start that differs by day. */
  readonly hours: number;
  readonly hasJobs: boolean;
}

export interface RandomLedgerOptions {
  readonly from: Instant;
  readonly days: number;
  readonly loads: readonly RandomLoad[];
  readonly random: () => number;
}

const roundRate = (rate: number) => (Math.round(rate * 10) / 10) as LbsPerMwh;

/** Slots of one run, the first and last of them cut. */
function listRun(load: RandomLoad, start: number, length: number, job: string | undefined): SlotEntry[] {
  const slots: SlotEntry[] = [];
  for (let at = start; at < start + length; ) {
    const end = Math.min(start + length, (Math.floor(at / SLOT) + 1) * SLOT);
    slots.push({
      kind: 'slot',
      load: load.name,
      at: at as Instant,
      for: (end - at) as typeof SLOT,
      energy: ((load.power * (end - at)) / 3_600_000) as KilowattHour,
      metered: false,
      level: 'on',
      why: job === undefined ? 'clean' : 'planned',
      basis: 'fresh-forecast',
      region: REGION,
      ...(job === undefined ? {} : { job }),
    });
    at = end;
  }
  return slots;
}

/** One day of one load: its job armed in the evening, its running time in two runs that may pass midnight. */
function listLoadDay(load: RandomLoad, day: Instant, random: () => number): readonly (JobEntry | SlotEntry)[] {
  const half = Math.round((load.hours / 2) * 3_600_000);
  const armedAt = addDuration(day, minutes(Math.floor(18 * 60 + random() * 60)));
  const job = load.hasJobs ? new Date(addDuration(day, days(1))).toISOString() : undefined;
  const first = addDuration(armedAt, minutes(Math.floor(random() * 120)));
  const second = addDuration(first, minutes(Math.floor(half / 60_000 + 30 + random() * 120)));
  const armed: JobEntry[] =
    job === undefined ? [] : [{ kind: 'job', load: load.name, job, armedAt, power: load.power as Kilowatt }];
  return [...armed, ...listRun(load, first, half, job), ...listRun(load, second, half, job)];
}

const entryTime = (entry: Entry): number =>
  entry.kind === 'job' ? entry.armedAt : entry.kind === 'settled' ? entry.readAt : 'at' in entry ? entry.at : 0;

/** The entries in the order an agent writes them. */
export function listRandomEntries({ from, days: length, loads, random }: RandomLedgerOptions): readonly Entry[] {
  const entries: Entry[] = [];
  for (let day = 0; day < length; day++) {
    const start = addDuration(from, days(day));
    for (const load of loads) entries.push(...listLoadDay(load, start, random));
    const rates = Array.from({ length: 288 }, (_, i) =>
      roundRate(700 + 300 * Math.sin((i / 288) * 6.28) + 50 * random()),
    );
    const at = (i: number) => addDuration(start, minutes(5 * i));
    const model = '2026-01-01';
    rates.forEach((rate, i) => {
      if (random() > 0.01) entries.push({ kind: 'seen', region: REGION, at: at(i), period: SLOT, rate, model });
    });
    const points = rates.map((rate, i) => ({
      at: at(i),
      rate: roundRate(rate * (random() < 0.05 ? 1.1 : 1)),
      imputed: random() < 0.02,
    }));
    entries.push({
      kind: 'settled',
      region: REGION,
      period: SLOT,
      model,
      readAt: addDuration(start, days(1.3)),
      points,
    });
    const restated = points.slice(0, 12).map((point) => ({ ...point, rate: roundRate(point.rate + 5) }));
    if (random() < 0.1)
      entries.push({
        kind: 'settled',
        region: REGION,
        period: SLOT,
        model,
        readAt: addDuration(start, days(6)),
        points: restated,
      });
  }
  return entries.sort((a, b) => entryTime(a) - entryTime(b));
}
