/** Writes down what ran and the rates that were seen, as it happens; adds nothing up. */

import type { Decision } from '../control/control-types.ts';
import type { Level, LoadConfig } from '../domain/load-types.ts';
import type { ClockReading } from '../domain/ports.ts';
import { formatInstant, type Instant, minutes } from '../domain/units.ts';
import type { Entry, SettledEntry } from '../ledger/entries.ts';
import { formatEntryLine, getLedgerFile } from '../ledger/ledger-lines.ts';
import { advanceMeter, type Meter, type RunCause, startMeter } from '../ledger/run-meter.ts';
import type { SignalView } from '../signal/signal-view.ts';
import type { DocumentStore } from './document-store.ts';

/** The last job of each load that has its entry, so that a restart does not freeze its counterfactual anew. */
export type RecordedJobs = Readonly<Record<string, string>>;

export interface LedgerWriter {
  recordDecision(decision: Decision, now: ClockReading): void;
  recordLevel(load: string, level: Level, now: ClockReading): void;
  recordView(view: SignalView, now: ClockReading): void;
  /** Published rates, appended at once. */
  recordSettled(entry: SettledEntry): Promise<void>;
  recordedJobs(): RecordedJobs;
  /** Appends what has gathered. */
  flush(): Promise<void>;
  /** Closes the running pieces and flushes. */
  stop(now: ClockReading): Promise<void>;
}

/** What a full disk may make wait in memory: about two days of rates and rows. The oldest give way. */
const MAX_WAITING_ENTRIES = 1_000;

/** Entries that wait for one append: an hour of rates, so that the device is written to a few times an hour at most. */
const APPEND_BATCH = 12;
const ASSUMED_SLOT_PERIOD = minutes(5);

export function createLedgerWriter(
  loads: readonly LoadConfig[],
  store: DocumentStore,
  initialJobs: RecordedJobs,
): LedgerWriter {
  const meters = new Map<string, Meter>();
  const decisions = new Map<string, Decision>();
  const jobs: Record<string, string> = { ...initialJobs };
  let waiting: Entry[] = [];
  let gathered = 0;
  let lastRateAt: Instant | undefined;
  let region: string | undefined;
  let period = ASSUMED_SLOT_PERIOD;

  const flush = async (): Promise<void> => {
    const byFile = new Map<string, Entry[]>();
    for (const entry of waiting) {
      const file = getLedgerFile(getEntryTime(entry));
      byFile.set(file, [...(byFile.get(file) ?? []), entry]);
    }
    waiting = [];
    gathered = 0;
    for (const [file, entries] of byFile) {
      const lines = entries.map(formatEntryLine).join('');
      // What a full disk refuses waits for the next try.
      if (!(await store.append(file, new TextEncoder().encode(lines))))
        waiting = [...entries, ...waiting].slice(-MAX_WAITING_ENTRIES);
    }
  };

  const add = (...entries: readonly Entry[]): void => {
    waiting.push(...entries);
    gathered += entries.length;
    if (gathered >= APPEND_BATCH) void flush();
  };

  const buildCause = (load: string, level: Level): RunCause => {
    const decision = decisions.get(load);
    const job = decision?.job === undefined ? undefined : formatInstant(decision.job.by);
    return {
      level,
      why: decision?.why ?? 'boot',
      basis: decision?.basis ?? 'fail-safe',
      ...(region === undefined ? {} : { region }),
      ...(job === undefined ? {} : { job }),
    };
  };

  const readMeter = (load: string, level: Level | undefined, now: ClockReading): void => {
    const meter = meters.get(load);
    const config = loads.find(({ name }) => name === load);
    const currentLevel = level ?? meter?.cause.level;
    if (config === undefined || currentLevel === undefined) return;
    if (meter === undefined) {
      meters.set(load, startMeter(config, period, buildCause(load, currentLevel), now));
      return;
    }
    const { meter: next, entries } = advanceMeter(meter, now, buildCause(load, currentLevel));
    meters.set(load, next);
    add(...entries);
  };

  return {
    recordDecision(decision, now) {
      const { load, job } = decision;
      decisions.set(load, decision);
      readMeter(load, undefined, now);
      if (job === undefined || jobs[load] === formatInstant(job.by)) return;
      jobs[load] = formatInstant(job.by);
      const armedAt = Math.max(job.from, decision.at) as Instant;
      const power = loads.find(({ name }) => name === load)?.powerKw;
      if (power !== undefined) add({ kind: 'job', load, job: formatInstant(job.by), armedAt, power });
    },
    recordLevel: readMeter,
    recordView(view, now) {
      region = view.region;
      period = view.horizon?.period ?? period;
      for (const load of meters.keys()) readMeter(load, undefined, now);
      const { rate, horizon: outlook } = view;
      if (rate === undefined || region === undefined || rate.at === lastRateAt) return;
      lastRateAt = rate.at;
      const model = outlook?.model;
      add({ kind: 'seen', region, at: rate.at, period, rate: rate.value, ...(model === undefined ? {} : { model }) });
    },
    recordSettled(entry) {
      waiting.push(entry);
      return flush();
    },
    recordedJobs: () => jobs,
    flush,
    stop(now) {
      for (const load of meters.keys()) readMeter(load, 'off', now);
      return flush();
    },
  };
}

const getEntryTime = (entry: Entry): Instant => {
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
