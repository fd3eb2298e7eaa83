/** Entries to lines and back, whatever the disk did. */

import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { KilowattHour } from '../../src/domain/units.ts';
import type { Entry } from '../../src/ledger/entries.ts';
import { getLedgerFile, listLedgerFiles } from '../../src/ledger/ledger-files.ts';
import { formatEntries, parseLedger } from '../../src/ledger/ledger-lines.ts';
import { jobEntry, ledgerInstant, seenEntries, settledEntry, slotEntries } from './ledger-samples.ts';

const entries = [jobEntry('night', 0), ...slotEntries(1), ...seenEntries(0, [100]), settledEntry(0, [90], 2)];
const text = formatEntries(entries);

describe('the lines of the ledger', () => {
  it('come back as they were', () => expect(parseLedger(text)).toEqual({ entries, damaged: 0, foreign: 0 }));
  it('a torn end costs its line', () =>
    expect(parseLedger(text.slice(0, -10))).toEqual({ entries: entries.slice(0, -1), damaged: 1, foreign: 0 }));
  it('a line after a torn one is lost with it, the others stay', () => {
    const torn = `${text.slice(0, -10)}${formatEntries([jobEntry('a', 1)])}${formatEntries([jobEntry('b', 2)])}`;
    expect(parseLedger(torn)).toEqual({ entries: [...entries.slice(0, -1), jobEntry('b', 2)], damaged: 1, foreign: 0 });
  });
  it.each(['', '\n\n', 'no ledger at all\n', '{"kind":"job"}\n', '00000000 {"kind":"job"}\n'])(
    '%j gives nothing',
    (bad) => expect(parseLedger(bad).entries).toEqual([]),
  );
  it('neighbours share a line: slots of one cause, rates of one region', () => {
    const mixed = slotEntries(0).flatMap((slot, i) => [slot, seenEntries(0, [100])[i] ?? slot]);
    expect(formatEntries(mixed).split('\n')).toHaveLength(3);
    const back = parseLedger(formatEntries(mixed)).entries;
    expect(back.filter(({ kind }) => kind === 'slot')).toEqual(slotEntries(0));
    expect(back.filter(({ kind }) => kind === 'seen')).toEqual(seenEntries(0, [100]));
  });
  //  what differs             lines
  it.each([
    ['the cause', [...slotEntries(0), ...slotEntries(1, { why: 'must-run' })], 2],
    ['a pause between', [...slotEntries(0), ...slotEntries(2)], 2],
    ['the energy alone', [...slotEntries(0), ...slotEntries(1, { energy: 0.25 as KilowattHour })], 1],
    ['the model', [...seenEntries(0, [1]), ...seenEntries(1, [1]).map((one) => ({ ...one, model: 'b' }) as Entry)], 2],
    ['the day: a line holds no more', seenEntries(0, new Array<number>(25).fill(1)), 2],
  ] as const)('%s: %#', (_, given, lines) => {
    expect(formatEntries(given).trimEnd().split('\n')).toHaveLength(lines);
    expect(parseLedger(formatEntries(given)).entries).toEqual(given);
  });

  it.each([
    [{ kind: 'slot', load: 'car', at: 0, for: 300_000, energy: 1 }],
    [{ kind: 'run', load: 'car' }],
    [{ kind: 'slots', load: 'car', at: 0, pieces: [[0, 1e9, 1]], metered: false, level: 'on', why: 'x', basis: 'y' }],
    [{ kind: 'slots', load: 'car', at: 0, pieces: [[1, 1e9, 1]], metered: false, level: 'on', why: 'x', basis: 'y' }],
    [{ kind: 'seen', region: 'PSCO', at: 0, period: 300_000, rates: [null] }],
    [{ kind: 'seen', region: 'PSCO', at: 0, period: 0, rates: [1] }],
    [{ kind: 'settled', region: 'PSCO', period: 300_000, readAt: 0, points: [] }],
    [{ kind: 'job', load: 'car', job: 'a', armedAt: '2026-03-01', power: 1 }],
    [{ kind: 'constructor' }],
    [null],
    [[]],
    ['job'],
  ])('a whole line of another shape is skipped and counted apart: %j', (content) => {
    const json = JSON.stringify(content);
    const sum = crc32(json).toString(16).padStart(8, '0');
    expect(parseLedger(`${text}${sum} ${json}\n`)).toEqual({ entries, damaged: 0, foreign: 1 });
  });

  it('any changed byte is found', () => {
    const line = formatEntries([jobEntry('night', 0)]);
    for (let i = 0; i < line.length - 1; i++) {
      const bad = `${line.slice(0, i)}${line[i] === 'x' ? 'y' : 'x'}${line.slice(i + 1)}`;
      expect(parseLedger(bad).entries).toEqual([]);
    }
  });
  it('are kept a month a file', () => {
    expect(getLedgerFile(ledgerInstant(24 * 31 - 1))).toBe('ledger-2026-03.jsonl');
    const names = [getLedgerFile(ledgerInstant(0)), 'ledger.jsonl', 'map.idx', 'ledger-2026-13.jsonl'];
    expect(listLedgerFiles(names)).toEqual(['ledger-2026-03.jsonl']);
  });
});
