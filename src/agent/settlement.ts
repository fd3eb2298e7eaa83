/** Asks once a day for the published rates of what ran and writes the news into the ledger; decides neither what to ask nor what is news (ledger). */

import type { SignalType } from '../domain/load-types.ts';
import { type Cancel, type Clock, type Disk, DiskError, type Random } from '../domain/ports.ts';
import { addDuration, type Duration, days, hours, type Instant, milliseconds, minutes } from '../domain/units.ts';
import type { Entry, SettledEntry } from '../ledger/entries.ts';
import { getLedgerFile, isLedgerFile, parseLedger } from '../ledger/ledger-lines.ts';
import { buildSettledEntry, findUnsettledRange } from '../ledger/settlement-queries.ts';
import type { History } from '../service/api/response-types.ts';
import type { ServiceClient } from '../service/client.ts';
import type { Failure } from '../service/failure.ts';
import { computeRetryDelay } from '../service/limits/retry-delay.ts';

export interface SettlementParts {
  readonly service: Pick<ServiceClient, 'history'>;
  readonly clock: Clock;
  readonly random: Random;
  /** Where the files of the ledger lie. */
  readonly disk: Pick<Disk, 'list' | 'read'>;
  readonly signalType: SignalType;
  /** This device's own moment of the day, in [0, 1). */
  readonly phase: number;
  /** Published rates that tell something new. */
  readonly onSettled: (entry: SettledEntry) => Promise<void>;
  /** Each answer as it came, for the archive of the signal. */
  readonly onHistory: (history: History) => void;
  /** Without an answer kilograms stay an estimate. */
  readonly onFailure: (failure: Failure) => void;
}

export interface Settlement {
  /** From now on there is something to ask; before it nothing is. */
  setRegion(region: string): void;
  stop(): void;
}

const SETTLEMENT_PERIOD = days(1);
/** After a start: devices that boot together do not ask together, and the signal comes first. */
const FIRST_SETTLEMENT_DELAY = minutes(10);
const FIRST_SETTLEMENT_SPREAD = hours(1);
const MIN_RETRY_DELAY = hours(1);
/** Entries older than this are not asked about any more (`unsettled`), with the margin of a month's file. */
const LEDGER_READ_BACK = days(40);

export function createSettlement(parts: SettlementParts): Settlement {
  const { service, clock, random, disk, signalType, phase } = parts;
  let region: string | undefined;
  let failures = 0;
  let timer: Cancel | undefined;
  let stopped = false;

  const scheduleAfter = (wait: Duration) => {
    timer?.();
    if (!stopped) timer = clock.wakeAt(addDuration(clock.now().uptime, wait), 'settle', () => void runSettlement());
  };

  /** The same moment of each day, though the last look came late. */
  const untilDailyMoment = (): Duration => {
    const { wall } = clock.now();
    const since = (((wall - phase * SETTLEMENT_PERIOD) % SETTLEMENT_PERIOD) + SETTLEMENT_PERIOD) % SETTLEMENT_PERIOD;
    return milliseconds(Math.ceil(SETTLEMENT_PERIOD - since));
  };

  async function runSettlement(): Promise<void> {
    const failure = clock.now().trusted ? await settleRegions() : undefined;
    if (stopped) return;
    failures = failure === undefined ? 0 : failures + 1;
    if (failure === undefined) return scheduleAfter(clock.now().trusted ? untilDailyMoment() : MIN_RETRY_DELAY);
    parts.onFailure(failure);
    // Nothing hurries: whatever else fails is tried more often.
    scheduleAfter(milliseconds(Math.max(MIN_RETRY_DELAY, computeRetryDelay(failure, failures, random.fraction()))));
  }

  /** The regions things ran in, one after the other; the first failure ends it. */
  async function settleRegions(): Promise<Failure | undefined> {
    const entries = await readLedgerEntries();
    const regions = new Set(entries.flatMap((entry) => (entry.kind === 'slot' ? (entry.region ?? []) : [])));
    for (const settledRegion of regions) {
      const failure = await settleRegion(entries, settledRegion);
      if (failure !== undefined || stopped) return failure;
    }
    return undefined;
  }

  async function settleRegion(entries: readonly Entry[], settledRegion: string): Promise<Failure | undefined> {
    const range = findUnsettledRange(entries, settledRegion, clock.now().wall);
    if (range === undefined) return undefined;
    // Never longer than one request may be (specification 8): `unsettled` sees to it.
    const outcome = await service.history({ ...range, signalType, includeImputedMarker: true });
    if (stopped) return undefined;
    if (!outcome.ok) return outcome.failure;
    const entry = buildSettledEntry(entries, outcome.value, clock.now().wall);
    if (entry !== undefined) await parts.onSettled(entry);
    if (settledRegion === region) parts.onHistory(outcome.value);
    return undefined;
  }

  /** What a disk does not give is asked about the next day. */
  async function readLedgerEntries(): Promise<readonly Entry[]> {
    const oldest = getLedgerFile((clock.now().wall - LEDGER_READ_BACK) as Instant);
    const entries: Entry[] = [];
    try {
      const names = (await disk.list()).filter((name) => isLedgerFile(name) && name >= oldest).sort();
      for (const name of names) {
        const bytes = await disk.read(name);
        if (bytes !== undefined)
          for (const one of parseLedger(new TextDecoder().decode(bytes)).entries) entries.push(one);
      }
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
    }
    return entries;
  }

  return {
    setRegion(found) {
      const isFirst = region === undefined;
      region = found;
      if (isFirst) scheduleAfter(milliseconds(Math.floor(FIRST_SETTLEMENT_DELAY + phase * FIRST_SETTLEMENT_SPREAD)));
    },
    stop() {
      stopped = true;
      timer?.();
    },
  };
}
