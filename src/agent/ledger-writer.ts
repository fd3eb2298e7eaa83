/** Records what ran, and the rates known at the time, in the ledger. */

import type { Decision } from '../control/control-types.ts';
import type { Level, LoadConfig } from '../domain/load-types.ts';
import type { ClockReading } from '../domain/ports.ts';
import { formatInstant, type Instant, minutes } from '../domain/units.ts';
import type { SettledEntry } from '../ledger/entries.ts';
import { advanceMeter, type Meter, type RunCause, startMeter } from '../ledger/run-meter.ts';
import type { SignalView } from '../signal/signal-view.ts';
import type { DocumentStore } from './document-store.ts';
import { createEntryQueue } from './entry-queue.ts';

/** The last job of each load that has its entry, so that a restart does not freeze its counterfactual anew. */
export type RecordedJobs = Readonly<Record<string, string>>;

export interface LedgerWriter {
  /** The jobs the life before recorded. */
  restoreJobs(jobs: RecordedJobs | undefined): void;
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

const ASSUMED_SLOT_PERIOD = minutes(5);

export function createLedgerWriter(loads: readonly LoadConfig[], store: DocumentStore): LedgerWriter {
  const queue = createEntryQueue(store);
  const meters = new Map<string, Meter>();
  const decisions = new Map<string, Decision>();
  let jobs: RecordedJobs = {};
  let lastRateAt: Instant | undefined;
  let region: string | undefined;
  let period = ASSUMED_SLOT_PERIOD;
  const findLoad = (load: string) => loads.find(({ name }) => name === load);

  const readMeter = (load: string, level: Level | undefined, now: ClockReading): void => {
    const meter = meters.get(load);
    const config = findLoad(load);
    const currentLevel = level ?? meter?.cause.level;
    if (config === undefined || currentLevel === undefined) return;
    const cause = buildRunCause(currentLevel, decisions.get(load), region);
    if (meter === undefined) {
      meters.set(load, startMeter(config, period, cause, now));
      return;
    }
    const { meter: next, entries } = advanceMeter(meter, now, cause);
    meters.set(load, next);
    queue.add(...entries);
  };

  return {
    restoreJobs(recorded = {}) {
      jobs = recorded;
    },
    recordDecision(decision, now) {
      const { load, job } = decision;
      decisions.set(load, decision);
      readMeter(load, undefined, now);
      const by = job && formatInstant(job.by);
      if (job === undefined || by === undefined || jobs[load] === by) return;
      jobs = { ...jobs, [load]: by };
      const armedAt = Math.max(job.from, decision.at) as Instant;
      const power = findLoad(load)?.powerKw;
      if (power !== undefined) queue.add({ kind: 'job', load, job: by, armedAt, power });
    },
    recordLevel: readMeter,
    recordView(view, now) {
      const { rate, horizon } = view;
      region = view.region;
      period = horizon?.period ?? period;
      for (const load of meters.keys()) readMeter(load, undefined, now);
      if (rate === undefined || region === undefined || rate.at === lastRateAt) return;
      lastRateAt = rate.at;
      const model = horizon?.model;
      queue.add({
        kind: 'seen',
        region,
        at: rate.at,
        period,
        rate: rate.value,
        ...(model === undefined ? {} : { model }),
      });
    },
    recordSettled(entry) {
      queue.add(entry);
      return queue.flush();
    },
    recordedJobs: () => jobs,
    flush: queue.flush,
    stop(now) {
      for (const load of meters.keys()) readMeter(load, 'off', now);
      return queue.flush();
    },
  };
}

function buildRunCause(level: Level, decision: Decision | undefined, region: string | undefined): RunCause {
  const job = decision?.job && formatInstant(decision.job.by);
  return {
    level,
    why: decision?.why ?? 'boot',
    basis: decision?.basis ?? 'fail-safe',
    ...(region === undefined ? {} : { region }),
    ...(job === undefined ? {} : { job }),
  };
}
