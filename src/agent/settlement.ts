/** Requests the published rates of past running hours once a day and records the new ones in the ledger. */

import type { SignalType } from '../domain/load-types.ts';
import { createPoller } from '../domain/poller.ts';
import { type Clock, type Disk, DiskError, type Random } from '../domain/ports.ts';
import { type Duration, days, hours, type Instant, milliseconds, minutes } from '../domain/units.ts';
import type { Entry, SettledEntry } from '../ledger/entries.ts';
import { listLedgerFiles, readLedgerMonths } from '../ledger/ledger-files.ts';
import { buildSettledEntry, findUnsettledRange } from '../ledger/settlement-queries.ts';
import { tidyLedger } from '../ledger/tidy-ledger.ts';
import type { History } from '../service/api/response-types.ts';
import type { ServiceClient } from '../service/client.ts';
import type { Failure } from '../service/failure.ts';
import { computeRetryDelay } from '../service/limits/retry-delay.ts';

export interface SettlementParts {
  readonly service: Pick<ServiceClient, 'history'>;
  readonly clock: Clock;
  readonly random: Random;
  /** Where the files of the ledger lie. */
  readonly disk: Pick<Disk, 'list' | 'read' | 'open' | 'replace'>;
  /** Whose days the sums of old months are of. */
  readonly timezone: string;
  readonly signalType: SignalType;
  /** This agent's own moment of the day, in [0, 1). */
  readonly phase: number;
  /** Published rates that the ledger does not have yet. */
  readonly onSettled: (entry: SettledEntry) => Promise<void>;
  /** Each answer of the own region, for the history of the signal. */
  readonly onHistory: (history: History) => void;
  /** Without an answer the kilograms of CO₂ stay an estimate. */
  readonly onFailure: (failure: Failure) => void;
}

export interface Settlement {
  /** The first region begins the daily polls. */
  setRegion(region: string): void;
  stop(): void;
}

const SETTLEMENT_INTERVAL = days(1);
/** After a start: machines that boot together do not ask together, and the signal comes first. */
const FIRST_SETTLEMENT_DELAY = minutes(10);
const FIRST_SETTLEMENT_SPREAD = hours(1);
const MIN_RETRY_DELAY = hours(1);

export function createSettlement(parts: SettlementParts): Settlement {
  const { clock, random, phase } = parts;
  let region: string | undefined;
  let failures = 0;

  const poller = createPoller({
    clock,
    name: 'settle',
    async poll() {
      const failure = clock.now().trusted ? await settleRegions(parts, () => region, poller.signal) : undefined;
      if (poller.signal.aborted) return undefined;
      if (clock.now().trusted) await tidy(parts);
      failures = failure === undefined ? 0 : failures + 1;
      if (failure === undefined) return clock.now().trusted ? untilDailyMoment(clock, phase) : MIN_RETRY_DELAY;
      parts.onFailure(failure);
      // Nothing is urgent here: the wait after any other failure is longer.
      return milliseconds(Math.max(MIN_RETRY_DELAY, computeRetryDelay(failure, failures, random.fraction())));
    },
  });

  return {
    setRegion(found) {
      const isFirst = region === undefined;
      region = found;
      if (isFirst) poller.pollAfter(milliseconds(Math.floor(FIRST_SETTLEMENT_DELAY + phase * FIRST_SETTLEMENT_SPREAD)));
    },
    stop: poller.stop,
  };
}

/** The same moment of each day, though the last poll came late. */
function untilDailyMoment(clock: Clock, phase: number): Duration {
  const { wall } = clock.now();
  const since =
    (((wall - phase * SETTLEMENT_INTERVAL) % SETTLEMENT_INTERVAL) + SETTLEMENT_INTERVAL) % SETTLEMENT_INTERVAL;
  return milliseconds(Math.ceil(SETTLEMENT_INTERVAL - since));
}

/** The regions that loads ran in, one after the other; the first failure ends it. */
async function settleRegions(
  parts: SettlementParts,
  getOwnRegion: () => string | undefined,
  stop: AbortSignal,
): Promise<Failure | undefined> {
  const { service, clock, disk, signalType } = parts;
  const entries = await readLedgerEntries(disk, clock.now().wall);
  const regions = new Set(entries.flatMap((entry) => (entry.kind === 'slot' ? (entry.region ?? []) : [])));
  for (const region of regions) {
    const range = findUnsettledRange(entries, region, clock.now().wall);
    if (range === undefined) continue;
    // Never longer than one request may be (specification 8): `findUnsettledRange` sees to it.
    const outcome = await service.history({ ...range, signalType, includeImputedMarker: true });
    if (stop.aborted) return undefined;
    if (!outcome.ok) return outcome.failure;
    const entry = buildSettledEntry(entries, outcome.value, clock.now().wall);
    if (entry !== undefined) await parts.onSettled(entry);
    if (region === getOwnRegion()) parts.onHistory(outcome.value);
  }
  return undefined;
}

/** Files that cannot be read are tried again the next day. */
async function readLedgerEntries(disk: SettlementParts['disk'], now: Instant): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  try {
    const names = listLedgerFiles(await disk.list(), now);
    // One by one: a month may have more entries than a call takes arguments.
    for await (const month of readLedgerMonths(disk, names)) for (const one of month.entries) entries.push(one);
  } catch (error) {
    if (!(error instanceof DiskError)) throw error;
  }
  return entries;
}

/** A month that the disk refuses is rewritten another day. */
async function tidy({ disk, timezone, clock }: SettlementParts): Promise<void> {
  try {
    await tidyLedger(disk, { timezone, now: clock.now().wall });
  } catch (error) {
    if (!(error instanceof DiskError)) throw error;
  }
}
