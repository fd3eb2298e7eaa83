/** Entries to lines and back, whatever the disk did. */

import { describe, expect, it } from 'vitest';
import { fileOf, isLedgerFile, lineOf, readLines } from '../../src/ledger/lines.ts';
import { at, hour, job, seen, settled } from './samples.ts';

const entries = [job('night', 0), ...hour(1), ...seen(0, [100]), settled(0, [90], 2)];
const text = entries.map(lineOf).join('');

describe('the lines of the ledger', () => {
  it('come back as they were', () => expect(readLines(text)).toEqual({ entries, damaged: 0 }));
  it('a torn end costs its line', () =>
    expect(readLines(text.slice(0, -10))).toEqual({ entries: entries.slice(0, -1), damaged: 1 }));
  it('a line after a torn one is lost with it, the others stay', () => {
    const torn = `${text.slice(0, -10)}${lineOf(job('a', 1))}${lineOf(job('b', 2))}`;
    expect(readLines(torn)).toEqual({ entries: [...entries.slice(0, -1), job('b', 2)], damaged: 1 });
  });
  it.each(['', '\n\n', 'no ledger at all\n', '{"kind":"job"}\n', '00000000 {"kind":"job"}\n'])(
    '%j gives nothing',
    (bad) => expect(readLines(bad).entries).toEqual([]),
  );
  it('any changed byte is found', () => {
    const line = lineOf(job('night', 0));
    for (let i = 0; i < line.length - 1; i++) {
      const bad = `${line.slice(0, i)}${line[i] === 'x' ? 'y' : 'x'}${line.slice(i + 1)}`;
      expect(readLines(bad).entries).toEqual([]);
    }
  });
  it('are kept a month a file', () => {
    expect(fileOf(at(24 * 31 - 1))).toBe('ledger-2026-03.jsonl');
    expect([fileOf(at(0)), 'ledger.jsonl', 'map.idx'].map(isLedgerFile)).toEqual([true, false, false]);
  });
});
