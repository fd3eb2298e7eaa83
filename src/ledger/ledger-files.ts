/** Names the files of the ledger, one per month of UTC, and reads them in order. */

import { addDuration, days, type Instant, subtractDuration } from '../domain/units.ts';
import { type LedgerLines, type ParsedLedger, parseLines } from './ledger-lines.ts';

/** The directory of the files: the state directory, for every reader. */
export interface LedgerSource {
  list(): Promise<readonly string[]>;
  read(name: string): Promise<Uint8Array | undefined>;
}

export interface LedgerMonth extends ParsedLedger<LedgerLines> {
  readonly name: string;
  readonly from: Instant;
}

/** `ledger-2026-03.jsonl`. */
export const getLedgerFile = (at: Instant): string => `ledger-${new Date(at).toISOString().slice(0, 7)}.jsonl`;
const isLedgerFile = (name: string): boolean => /^ledger-\d{4}-(0[1-9]|1[0-2])\.jsonl$/.test(name);
export const getMonthStart = (name: string): Instant => Date.parse(`${name.slice(7, 14)}-01T00:00:00Z`) as Instant;

/** Its jobs may have been armed, and the last local day begun, so long before a running time. */
export const READ_BACK = days(40);
/** Rates are published and restated so long after a running time. */
const READ_AHEAD = days(40);

/** Names of the ledger's files that bear on what ran from `from` to `to`, the oldest first. */
export function listLedgerFiles(names: readonly string[], from?: Instant, to?: Instant): readonly string[] {
  const first = from === undefined ? '' : getLedgerFile(subtractDuration(from, READ_BACK));
  const last = to === undefined ? '~' : getLedgerFile(addDuration(to, READ_AHEAD));
  return names.filter((name) => isLedgerFile(name) && name >= first && name <= last).sort();
}

/** Reads the named files one at a time; leaves out one that has been removed meanwhile. */
export async function* readLedgerMonths(
  source: Pick<LedgerSource, 'read'>,
  names: readonly string[],
): AsyncGenerator<LedgerMonth> {
  for (const name of names) {
    const bytes = await source.read(name);
    if (bytes !== undefined) yield { name, from: getMonthStart(name), ...parseLines(new TextDecoder().decode(bytes)) };
  }
}
