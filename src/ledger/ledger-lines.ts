/** Writes entries as lines with a checksum and reads them back. A damaged line costs itself alone and is counted. */

import { crc32 } from 'node:zlib';
import type { Instant } from '../domain/units.ts';
import type { Entry } from './entries.ts';

const encoder = new TextEncoder();
const checksum = (json: string) => crc32(encoder.encode(json)).toString(16).padStart(8, '0');

/** One line, with its end: checksum, blank, JSON. */
export const formatEntryLine = (entry: Entry): string => {
  const json = JSON.stringify(entry);
  return `${checksum(json)} ${json}\n`;
};

export interface ParsedLedger {
  readonly entries: readonly Entry[];
  /** Lines that could not be read: torn at a power cut, or changed since. */
  readonly damaged: number;
}

const ENTRY_KINDS: ReadonlySet<unknown> = new Set(['job', 'slot', 'seen', 'settled']);

function parseEntryLine(line: string): Entry | undefined {
  const json = line.slice(9);
  if (line[8] !== ' ' || line.slice(0, 8) !== checksum(json)) return undefined;
  try {
    const entry = JSON.parse(json) as Entry;
    return ENTRY_KINDS.has(entry.kind) ? entry : undefined;
  } catch {
    return undefined;
  }
}

/** All readable lines in order. A torn line may hide the one appended after it, never more. */
export function parseLedger(text: string): ParsedLedger {
  const lines = text.split('\n').filter((line) => line !== '');
  const entries = lines.map(parseEntryLine).filter((entry) => entry !== undefined);
  return { entries, damaged: lines.length - entries.length };
}

/** One file a month of UTC: `ledger-2026-03.jsonl`. */
export const getLedgerFile = (at: Instant): string => `ledger-${new Date(at).toISOString().slice(0, 7)}.jsonl`;
export const isLedgerFile = (name: string): boolean => /^ledger-\d{4}-\d{2}\.jsonl$/.test(name);
