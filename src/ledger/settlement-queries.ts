/** Decides which published rates to request and which points of an answer to record. */

import { days, floorTo, hours, type Instant, type LbsPerMwh, RATE_UNITS } from '../domain/units.ts';
import type { History } from '../service/api/response-types.ts';
import type { Entry, SettledEntry } from './entries.ts';
import { collectRates } from './rates.ts';

/** A question to `/v3/historical`; both ends inclusive (specification 4.4). */
export interface HistoryRange {
  readonly region: string;
  readonly start: Instant;
  readonly end: Instant;
  /** Only values updated after this are wanted: everything in the range has been read before. */
  readonly updatedSince?: Instant;
}

/** At most 32 days a question (specification 8). */
const LONGEST_HISTORY_RANGE = days(31);
/** The day before the first running time counts too: a job may have been armed then. */
const ARMED_MARGIN = days(1);
const SETTLED_AFTER = days(7);
/** Asks again for the last hours: a point may have been published during the last answer, or under a clock that differs from ours. */
const OVERLAP = hours(1);

/** What to ask next for this region, once or twice a day; undefined when nothing that ran is unsettled. */
export function findUnsettledRange(ledger: readonly Entry[], region: string, now: Instant): HistoryRange | undefined {
  const rates = collectRates(ledger, region);
  const isFinal = (at: Instant) => {
    const changedAt = rates?.bySlot.get(floorTo(at, rates.period))?.changedAt;
    return changedAt !== undefined && now - changedAt >= SETTLED_AFTER;
  };
  let first: number | undefined;
  let lastRead: number | undefined;
  for (const entry of ledger) {
    if (entry.kind === 'settled' && entry.region === region) lastRead = Math.max(lastRead ?? 0, entry.readAt);
    if (entry.kind === 'slot' && entry.region === region && !isFinal(entry.at))
      first = Math.min(first ?? entry.at, entry.at);
  }
  if (first === undefined) return undefined;
  const start = Math.max(first - ARMED_MARGIN, now - LONGEST_HISTORY_RANGE) as Instant;
  const known = [...(rates?.bySlot ?? [])].some(([at, { published }]) => at <= start && published !== undefined);
  return {
    region,
    start,
    end: now,
    ...(known && lastRead !== undefined ? { updatedSince: (lastRead - OVERLAP) as Instant } : {}),
  };
}

/** The new points of an answer; undefined when there is none or the unit is not a rate. */
export function buildSettledEntry(
  ledger: Iterable<Entry>,
  history: History,
  readAt: Instant,
): SettledEntry | undefined {
  if (history.units !== RATE_UNITS) return undefined;
  const known = collectRates(ledger, history.region)?.bySlot;
  const points = history.points
    .filter(({ at, value, imputed }) => {
      const record = known?.get(at);
      return record?.published !== value || (imputed !== undefined && imputed !== record.imputed);
    })
    .map(({ at, value, imputed = false }) => ({ at, rate: value as LbsPerMwh, imputed }));
  if (points.length === 0) return undefined;
  const { region, period, model } = history;
  return { kind: 'settled', region, period, ...(model === undefined ? {} : { model }), readAt, points };
}
