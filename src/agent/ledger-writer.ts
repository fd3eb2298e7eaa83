/** Records running times, and the rates known at the time, in the ledger. */

import type { Decision } from '../control/control-types.ts';
import { getPowerPortion } from '../domain/currents.ts';
import { commandsDevice } from '../domain/levels.ts';
import type { Level, LoadConfig } from '../domain/load-types.ts';
import { createPoller } from '../domain/poller.ts';
import type { Clock, ClockReading } from '../domain/ports.ts';
import { findPriceSpan, type PriceSpan, type Prices } from '../domain/tariff.ts';
import { type Duration, floorTo, formatInstant, type Instant, type KilowattHour, minutes } from '../domain/units.ts';
import type { JobEntry, PriceEntry, SettledEntry } from '../ledger/entries.ts';
import type { RunCause } from '../ledger/run-meter.ts';
import type { SignalView } from '../signal/signal-view.ts';
import { createLedgerQueue, type LedgerQueueParts } from './ledger-queue.ts';
import { createRunMeters } from './run-meters.ts';

/** The last job of each load that has its entry, so that a restart does not freeze its counterfactual anew. */
export type RecordedJobs = Readonly<Record<string, string>>;

export interface LedgerWriterParts extends LedgerQueueParts {
  readonly loads: readonly LoadConfig[];
  readonly clock: Clock;
}

export interface LedgerWriter {
  /** Goes on from what the life before recorded and did not append. */
  start(jobs: RecordedJobs | undefined): Promise<void>;
  recordDecision(decision: Decision, now: ClockReading): void;
  recordLevel(load: string, level: Level, now: ClockReading): void;
  /** Whether the device of a load confirms its level by itself; an MQTT device does not until it has shown that. */
  recordProof(load: string, isConfirmed: boolean, now: ClockReading): void;
  /** A reading of the counter of a load's device. */
  recordCounter(load: string, energy: KilowattHour, now: ClockReading): void;
  recordView(view: SignalView, now: ClockReading): void;
  /** Published rates, appended at once. */
  recordSettled(entry: SettledEntry): Promise<void>;
  recordedJobs(): RecordedJobs;
  /** Appends what has gathered. */
  flush(): Promise<void>;
  /** Closes the running pieces and flushes. */
  stop(): Promise<void>;
}

/** At most this much running time is lost by a kill. */
const PROTECT_INTERVAL = minutes(1);
/** At most this much is lost by a power cut. On the wall clock, so that it seldom cuts a slot. */
const FLUSH_INTERVAL = minutes(15);

export function createLedgerWriter(parts: LedgerWriterParts): LedgerWriter {
  const { loads, clock } = parts;
  const queue = createLedgerQueue(parts);
  const decisions = new Map<string, Decision>();
  let jobs: RecordedJobs = {};
  let lastRateAt: Instant | undefined;
  const priceLog = createPriceLog();
  let region: string | undefined;
  const proofs = createProofs(loads);
  const meters = createRunMeters(loads, (load, level) =>
    buildRunCause(level, decisions.get(load), { ...proofs.read(load), ...(region === undefined ? {} : { region }) }),
  );
  const protection = createProtection(clock, queue, meters);

  const recordJob = (decision: Decision): void => {
    const entry = buildJobEntry(loads, decision);
    if (entry === undefined || jobs[entry.load] === entry.job) return;
    jobs = { ...jobs, [entry.load]: entry.job };
    queue.add(entry);
    void queue.flush();
  };

  return {
    start(recorded = {}) {
      jobs = recorded;
      return queue.recover();
    },
    recordDecision(decision, now) {
      decisions.set(decision.load, decision);
      protection.add(meters.read(decision.load, undefined, now));
      recordJob(decision);
    },
    recordLevel: (load, level, now) => protection.add(meters.read(load, level, now)),
    recordProof(load, isConfirmed, now) {
      if (proofs.set(load, isConfirmed)) protection.add(meters.read(load, undefined, now));
    },
    recordCounter: (load, energy, now) => protection.add(meters.readCounter(load, energy, now)),
    recordView({ rate, horizon, region: viewRegion, prices }, now) {
      region = viewRegion;
      queue.add(...priceLog.read(prices, now.wall));
      if (horizon !== undefined) meters.setPeriod(horizon.period);
      protection.add(meters.readAll(now));
      if (rate === undefined || region === undefined || rate.at === lastRateAt) return;
      lastRateAt = rate.at;
      const model = horizon?.model === undefined ? {} : { model: horizon.model };
      queue.add({ kind: 'seen', region, at: rate.at, period: meters.period(), rate: rate.value, ...model });
    },
    recordSettled(entry) {
      queue.add(entry);
      return queue.flush();
    },
    recordedJobs: () => jobs,
    flush: queue.flush,
    async stop() {
      protection.stop();
      queue.add(...meters.readAll(clock.now(), 'off'), ...meters.cut());
      await queue.flush();
      queue.protect([]);
    },
  };
}

/** Undefined without a job. Without the agent a vehicle that is away would not have charged at once either. */
function buildJobEntry(loads: readonly LoadConfig[], { load, job, at, why }: Decision): JobEntry | undefined {
  const power = loads.find(({ name }) => name === load)?.powerKw;
  if (job === undefined || power === undefined || why === 'vehicle-away') return undefined;
  return { kind: 'job', load, job: formatInstant(job.by), armedAt: Math.max(job.from, at) as Instant, power };
}

/** Each price once, while it holds. */
function createPriceLog() {
  let last: PriceSpan | undefined;
  return {
    read(prices: Prices | undefined, now: Instant): readonly PriceEntry[] {
      const span = prices && findPriceSpan(prices.spans, now);
      const isKnown = span === undefined || (last !== undefined && last.price === span.price && last.to >= span.to);
      if (prices === undefined || isKnown) return [];
      last = span;
      const { from, to, price } = span;
      return [{ kind: 'price', at: from, for: (to - from) as Duration, price, currency: prices.currency }];
    },
  };
}

/** Which loads' levels are only sent: a relay is read back at once, a device confirms by itself or not at all, a dry run never. */
function createProofs(loads: readonly LoadConfig[]) {
  const unconfirmed = new Set(
    loads.flatMap(({ name, output }) => (commandsDevice(output) || output.kind === 'dry-run' ? [name] : [])),
  );
  return {
    read: (load: string): Pick<RunCause, 'unconfirmed'> => (unconfirmed.has(load) ? { unconfirmed: true } : {}),
    /** True when that is news. */
    set: (load: string, isConfirmed: boolean): boolean =>
      isConfirmed ? unconfirmed.delete(load) : !unconfirmed.has(load) && unconfirmed.add(load).has(load),
  };
}

type Queue = ReturnType<typeof createLedgerQueue>;
type Meters = ReturnType<typeof createRunMeters>;

/** Brings running time to safety while anything runs; an idle agent sleeps. */
function createProtection(clock: Clock, queue: Queue, meters: Meters) {
  let isPolling = false;
  let lastFlush: Instant | undefined;

  const poller = createPoller({
    clock,
    name: 'ledger',
    async poll() {
      const now = clock.now();
      queue.add(...meters.readAll(now));
      const window = floorTo(now.wall, FLUSH_INTERVAL);
      if (window !== lastFlush) {
        queue.add(...meters.cut());
        await queue.flush();
        lastFlush = window;
      }
      queue.protect(meters.pending());
      isPolling = meters.isAnyRunning() || queue.hasRuns();
      const untilFlush = (window + FLUSH_INTERVAL - now.wall) as Duration;
      if (!isPolling) return undefined;
      return meters.isAnyRunning() ? (Math.min(PROTECT_INTERVAL, untilFlush) as Duration) : untilFlush;
    },
  });

  return {
    /** Adds the rows that a reading of meters has ended. */
    add(entries: ReturnType<Meters['readAll']>): void {
      if (entries.length > 0) {
        queue.add(...entries);
        queue.protect(meters.pending());
      }
      if (isPolling || !(meters.isAnyRunning() || queue.hasRuns())) return;
      isPolling = true;
      lastFlush = floorTo(clock.now().wall, FLUSH_INTERVAL);
      poller.pollAfter(PROTECT_INTERVAL);
    },
    stop: poller.stop,
  };
}

function buildRunCause(
  level: Level,
  decision: Decision | undefined,
  rest: Pick<RunCause, 'region' | 'unconfirmed'>,
): RunCause {
  const job = decision?.job && formatInstant(decision.job.by);
  return {
    level,
    why: decision?.why ?? 'boot',
    basis: decision?.basis ?? 'fail-safe',
    ...rest,
    ...(job === undefined ? {} : { job }),
    ...(decision?.current === undefined ? {} : { portion: getPowerPortion(decision.current) }),
  };
}
