/** Entries to lines and back, whatever the disk did. */

import { describe, expect, it } from 'vitest';
import { formatEntryLine, getLedgerFile, isLedgerFile, parseLedger } from '../../src/ledger/ledger-lines.ts';
import { jobEntry, ledgerInstant, seenEntries, settledEntry, slotEntries } from './ledger-samples.ts';

const entries = [jobEntry('night', 0), ...slotEntries(1), ...seenEntries(0, [100]), settledEntry(0, [90], 2)];
const text = entries.map(formatEntryLine).join('');

describe('the lines of the ledger', () => {
  it('come back as they were', () => expect(parseLedger(text)).toEqual({ entries, damaged: 0 }));
  it('a torn end costs its line', () =>
    expect(parseLedger(text.slice(0, -10))).toEqual({ entries: entries.slice(0, -1), damaged: 1 }));
  it('a line after a torn one is lost with it, the others stay', () => {
    const torn = `${text.slice(0, -10)}${formatEntryLine(jobEntry('a', 1))}${formatEntryLine(jobEntry('b', 2))}`;
    expect(parseLedger(torn)).toEqual({ entries: [...entries.slice(0, -1), jobEntry('b', 2)], damaged: 1 });
  });
  it.each(['', '\n\n', 'no ledger at all\n', '{"kind":"job"}\n', '00000000 {"kind":"job"}\n'])(
    '%j gives nothing',
    (bad) => expect(parseLedger(bad).entries).toEqual([]),
  );
  it('any changed byte is found', () => {
    const line = formatEntryLine(jobEntry('night', 0));
    for (let i = 0; i < line.length - 1; i++) {
      const bad = `${line.slice(0, i)}${line[i] === 'x' ? 'y' : 'x'}${line.slice(i + 1)}`;
      expect(parseLedger(bad).entries).toEqual([]);
    }
  });
  it('are kept a month a file', () => {
    expect(getLedgerFile(ledgerInstant(24 * 31 - 1))).toBe('ledger-2026-03.jsonl');
    expect([getLedgerFile(ledgerInstant(0)), 'ledger.jsonl', 'map.idx'].map(isLedgerFile)).toEqual([
      true,
      false,
      false,
    ]);
  });
});
