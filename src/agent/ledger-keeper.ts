/** Writes down what ran and the rates that were seen, as it happens; adds nothing up. */

import type { Level, LoadConfig } from '../config/config.ts';
import type { Decision } from '../control/control.ts';
import type { Entry, SettledEntry } from '../ledger/entries.ts';
import { fileOf, lineOf } from '../ledger/lines.ts';
import { type Cause, type Meter, newMeter, read } from '../ledger/meter.ts';
import type { SignalView } from '../signal/view.ts';
import { type Instant, iso, minutes } from '../units.ts';
import type { Moment } from '../world.ts';
import type { Store } from './store.ts';

/** The last job of each load that has its entry, so that a restart does not freeze its counterfactual anew. */
export type JobsWritten = Readonly<Record<string, string>>;

export interface LedgerKeeper {
  decision(decision: Decision, now: Moment): void;
  confirmed(load: string, level: Level, now: Moment): void;
  view(view: SignalView, now: Moment): void;
  /** Published rates, appended at once. */
  settled(entry: SettledEntry): Promise<void>;
  jobs(): JobsWritten;
  /** Appends what has gathered. */
  flush(): Promise<void>;
  /** Closes the running pieces and flushes. */
  stop(now: Moment): Promise<void>;
}

/** What a full disk may make wait in memory: about two days of rates and rows. The oldest give way. */
const MOST_WAITING = 1_000;

/** Entries that wait for one append: an hour of rates, so that the device is written to a few times an hour at most. */
const GATHER = 12;
const ASSUMED_PERIOD = minutes(5);

export function createLedgerKeeper(loads: readonly LoadConfig[], store: Store, written: JobsWritten): LedgerKeeper {
  const meters = new Map<string, Meter>();
  const decisions = new Map<string, Decision>();
  const jobs: Record<string, string> = { ...written };
  let waiting: Entry[] = [];
  let gathered = 0;
  let lastSeen: Instant | undefined;
  let region: string | undefined;
  let period = ASSUMED_PERIOD;

  const flush = async (): Promise<void> => {
    const byFile = new Map<string, Entry[]>();
    for (const entry of waiting) {
      const file = fileOf(timeOf(entry));
      byFile.set(file, [...(byFile.get(file) ?? []), entry]);
    }
    waiting = [];
    gathered = 0;
    for (const [file, entries] of byFile) {
      const lines = entries.map(lineOf).join('');
      // What a full disk refuses waits for the next try.
      if (!(await store.append(file, new TextEncoder().encode(lines))))
        waiting = [...entries, ...waiting].slice(-MOST_WAITING);
    }
  };

  const add = (...entries: readonly Entry[]): void => {
    waiting.push(...entries);
    gathered += entries.length;
    if (gathered >= GATHER) void flush();
  };

  const causeOf = (load: string, level: Level): Cause => {
    const decision = decisions.get(load);
    const job = decision?.job === undefined ? undefined : iso(decision.job.by);
    return {
      level,
      why: decision?.why ?? 'boot',
      basis: decision?.basis ?? 'fail-safe',
      ...(region === undefined ? {} : { region }),
      ...(job === undefined ? {} : { job }),
    };
  };

  const readMeter = (load: string, level: Level | undefined, now: Moment): void => {
    const meter = meters.get(load);
    const config = loads.find(({ name }) => name === load);
    const at = level ?? meter?.cause.level;
    if (config === undefined || at === undefined) return;
    if (meter === undefined) {
      meters.set(load, newMeter(config, period, causeOf(load, at), now));
      return;
    }
    const { meter: next, entries } = read(meter, now, causeOf(load, at));
    meters.set(load, next);
    add(...entries);
  };

  return {
    decision(decision, now) {
      const { load, job } = decision;
      decisions.set(load, decision);
      readMeter(load, undefined, now);
      if (job === undefined || jobs[load] === iso(job.by)) return;
      jobs[load] = iso(job.by);
      const armedAt = Math.max(job.from, decision.at) as Instant;
      const power = loads.find(({ name }) => name === load)?.power;
      if (power !== undefined) add({ kind: 'job', load, job: iso(job.by), armedAt, power });
    },
    confirmed: readMeter,
    view(view, now) {
      region = view.region;
      period = view.outlook?.period ?? period;
      for (const load of meters.keys()) readMeter(load, undefined, now);
      const { rate, outlook } = view;
      if (rate === undefined || region === undefined || rate.at === lastSeen) return;
      lastSeen = rate.at;
      const model = outlook?.model;
      add({ kind: 'seen', region, at: rate.at, period, rate: rate.value, ...(model === undefined ? {} : { model }) });
    },
    settled(entry) {
      waiting.push(entry);
      return flush();
    },
    jobs: () => jobs,
    flush,
    stop(now) {
      for (const load of meters.keys()) readMeter(load, 'off', now);
      return flush();
    },
  };
}

const timeOf = (entry: Entry): Instant => {
  switch (entry.kind) {
    case 'job':
      return entry.armedAt;
    case 'settled':
      return entry.readAt;
    case 'slot':
    case 'seen':
      return entry.at;
  }
};
