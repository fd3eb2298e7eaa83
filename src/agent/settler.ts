/** Asks once a day for the published rates of what ran and writes the news into the ledger; decides neither what to ask nor what is news (ledger). */

import type { SignalType } from '../config/config.ts';
import type { Entry, SettledEntry } from '../ledger/entries.ts';
import { fileOf, isLedgerFile, readLines } from '../ledger/lines.ts';
import { settlement, unsettled } from '../ledger/settle.ts';
import { afterFailure } from '../service/after-failure.ts';
import type { History } from '../service/answers.ts';
import type { Failure } from '../service/failure.ts';
import type { Service } from '../service/service.ts';
import { after, type Duration, days, hours, type Instant, milliseconds, minutes } from '../units.ts';
import { type Cancel, type Clock, type Disk, DiskError, type Random } from '../world.ts';

export interface SettlerParts {
  readonly service: Pick<Service, 'history'>;
  readonly clock: Clock;
  readonly random: Random;
  /** Where the files of the ledger lie. */
  readonly disk: Pick<Disk, 'list' | 'read'>;
  readonly signalType: SignalType;
  /** This device's own moment of the day, in [0, 1). */
  readonly phase: number;
  /** Published rates that tell something new. */
  readonly settled: (entry: SettledEntry) => Promise<void>;
  /** Each answer as it came, for the archive of the signal. */
  readonly answered: (history: History) => void;
  /** Without an answer kilograms stay an estimate. */
  readonly failed: (failure: Failure) => void;
}

export interface Settler {
  /** From now on there is something to ask; before it nothing is. */
  setRegion(region: string): void;
  stop(): void;
}

const DAILY = days(1);
/** After a start: devices that boot together do not ask together, and the signal comes first. */
const FIRST = minutes(10);
const FIRST_SPREAD = hours(1);
const SELDOM = hours(1);
/** Entries older than this are not asked about any more (`unsettled`), with the margin of a month's file. */
const KEPT = days(40);

export function createSettler(parts: SettlerParts): Settler {
  const { service, clock, random, disk, signalType, phase } = parts;
  let region: string | undefined;
  let failures = 0;
  let next: Cancel | undefined;
  let stopped = false;

  const lookAfter = (wait: Duration) => {
    next?.();
    if (!stopped) next = clock.wakeAt(after(clock.now().uptime, wait), 'settle', () => void look());
  };

  /** The same moment of each day, though the last look came late. */
  const untilOwnMoment = (): Duration => {
    const { wall } = clock.now();
    const since = (((wall - phase * DAILY) % DAILY) + DAILY) % DAILY;
    return milliseconds(Math.ceil(DAILY - since));
  };

  async function look(): Promise<void> {
    const failure = clock.now().trusted ? await settleAll() : undefined;
    if (stopped) return;
    failures = failure === undefined ? 0 : failures + 1;
    if (failure === undefined) return lookAfter(clock.now().trusted ? untilOwnMoment() : SELDOM);
    parts.failed(failure);
    // Nothing hurries: whatever else fails is tried more often.
    lookAfter(milliseconds(Math.max(SELDOM, afterFailure(failure, failures, random.fraction()))));
  }

  /** The regions things ran in, one after the other; the first failure ends it. */
  async function settleAll(): Promise<Failure | undefined> {
    const entries = await written();
    const regions = new Set(entries.flatMap((entry) => (entry.kind === 'slot' ? (entry.region ?? []) : [])));
    for (const about of regions) {
      const failure = await settle(entries, about);
      if (failure !== undefined || stopped) return failure;
    }
    return undefined;
  }

  async function settle(entries: readonly Entry[], about: string): Promise<Failure | undefined> {
    const range = unsettled(entries, about, clock.now().wall);
    if (range === undefined) return undefined;
    // Never longer than one request may be (specification 8): `unsettled` sees to it.
    const outcome = await service.history({ ...range, signalType, includeImputedMarker: true });
    if (stopped) return undefined;
    if (!outcome.ok) return outcome.failure;
    const entry = settlement(entries, outcome.value, clock.now().wall);
    if (entry !== undefined) await parts.settled(entry);
    if (about === region) parts.answered(outcome.value);
    return undefined;
  }

  /** What a disk does not give is asked about the next day. */
  async function written(): Promise<readonly Entry[]> {
    const oldest = fileOf((clock.now().wall - KEPT) as Instant);
    const entries: Entry[] = [];
    try {
      const names = (await disk.list()).filter((name) => isLedgerFile(name) && name >= oldest).sort();
      for (const name of names) {
        const bytes = await disk.read(name);
        if (bytes !== undefined)
          for (const one of readLines(new TextDecoder().decode(bytes)).entries) entries.push(one);
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
      if (isFirst) lookAfter(milliseconds(Math.floor(FIRST + phase * FIRST_SPREAD)));
    },
    stop() {
      stopped = true;
      next?.();
    },
  };
}
