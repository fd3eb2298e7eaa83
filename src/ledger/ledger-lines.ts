/** Writes entries as lines with a checksum and reads them. Neighbours that differ only in time share a line; a damaged line costs only itself. */

import { crc32 } from 'node:zlib';
import type { Duration, Instant, LbsPerMwh } from '../domain/units.ts';
import type { Entry, HeaderEntry, SeenEntry, SettledEntry, SlotEntry } from './entries.ts';
import {
  type Line,
  MAX_PER_LINE,
  parseShape,
  type RateRun,
  type SeenLine,
  type SettledLine,
  type SlotsLine,
} from './line-shapes.ts';

/** Of the text in UTF-8. */
const checksum = (json: string) => crc32(json).toString(16).padStart(8, '0');

/** Without the fields that each entry of a shared line has for itself. */
function splitSlot({ kind: _, at, for: length, energy, ...cause }: SlotEntry) {
  const start = Math.round(at) as Instant;
  // By its end, so that the next piece begins where this one ends whether they share a line or not.
  return { at: start, length: (Math.round(at + length) - start) as Duration, energy, cause };
}

function extendSlots(line: SlotsLine, entry: SlotEntry): SlotsLine | undefined {
  const { at, length, energy, cause } = splitSlot(entry);
  const { kind: _, at: start, pieces, ...lineCause } = line;
  const end = pieces.reduce((sum, [pieceLength, count]) => sum + pieceLength * count, start as number);
  if (end !== at || JSON.stringify(lineCause) !== JSON.stringify(cause)) return undefined;
  const last = pieces.at(-1);
  if (last === undefined || pieces.reduce((sum, [, count]) => sum + count, 0) >= MAX_PER_LINE) return undefined;
  const isAlike = last[0] === length && last[2] === energy;
  return isAlike
    ? { ...line, pieces: [...pieces.slice(0, -1), [length, last[1] + 1, energy]] }
    : { ...line, pieces: [...pieces, [length, 1, energy]] };
}

function extendSeen(line: SeenLine, { at, period, rate, model }: SeenEntry): SeenLine | undefined {
  const isNext = line.at + line.rates.length * line.period === at && line.period === period && line.model === model;
  return isNext && line.rates.length < MAX_PER_LINE ? { ...line, rates: [...line.rates, rate] } : undefined;
}

function toSettledLine({ points, ...entry }: SettledEntry): SettledLine {
  const runs: (RateRun & { readonly rates: LbsPerMwh[] })[] = [];
  for (const { at, rate, imputed } of points) {
    const run = runs.at(-1);
    const isNext = run !== undefined && run.at + run.rates.length * entry.period === at;
    if (isNext && (run.imputed ?? false) === imputed) run.rates.push(rate);
    else runs.push({ at, rates: [rate], ...(imputed ? { imputed } : {}) });
  }
  return { ...entry, runs };
}

function toLine(entry: Entry): Line {
  switch (entry.kind) {
    case 'slot': {
      const { at, length, energy, cause } = splitSlot(entry);
      return { kind: 'slots', at, pieces: [[length, 1, energy]], ...cause };
    }
    case 'seen': {
      const { rate, ...rest } = entry;
      return { ...rest, rates: [rate] };
    }
    case 'settled':
      return toSettledLine(entry);
    default:
      return entry;
  }
}

/** Slots and rates go on a line of their own load or region: others may lie between. */
function joinEntries(entries: Iterable<Entry>): readonly Line[] {
  const lines: Line[] = [];
  const open = new Map<string, number>();
  for (const entry of entries) {
    const key = entry.kind === 'slot' ? `load ${entry.load}` : entry.kind === 'seen' ? `region ${entry.region}` : '';
    const index = open.get(key) ?? -1;
    const line = lines[index];
    const extended =
      entry.kind === 'slot' && line?.kind === 'slots'
        ? extendSlots(line, entry)
        : entry.kind === 'seen' && line?.kind === 'seen'
          ? extendSeen(line, entry)
          : undefined;
    if (extended !== undefined) lines[index] = extended;
    else if (key !== '') open.set(key, lines.push(toLine(entry)) - 1);
    else lines.push(toLine(entry));
  }
  return lines;
}

/** Lines with their ends: checksum, blank, JSON. */
export const formatEntries = (entries: Iterable<Entry>): string =>
  joinEntries(entries)
    .map((line) => {
      const json = JSON.stringify(line);
      return `${checksum(json)} ${json}\n`;
    })
    .join('');

export interface ParsedLedger<Entries> {
  readonly entries: Entries;
  /** Lines that could not be read: torn at a power cut, or changed since. */
  readonly damaged: number;
  /** Whole lines whose content another version of the program wrote. */
  readonly foreign: number;
}

function* listSlots({ pieces, at, kind: _, ...cause }: SlotsLine): Generator<SlotEntry> {
  let start: number = at;
  for (const [length, count, energy] of pieces)
    for (let i = 0; i < count; i++, start += length)
      yield { kind: 'slot', at: start as Instant, for: length, energy, ...cause };
}

function* listSeen({ region, at, period, rates, model }: SeenLine): Generator<SeenEntry> {
  const known = model === undefined ? {} : { model };
  for (const [i, rate] of rates.entries())
    yield { kind: 'seen', region, at: (at + i * period) as Instant, period, rate, ...known };
}

function toEntries(line: Line): Iterable<Entry> {
  switch (line.kind) {
    case 'slots':
      return listSlots(line);
    case 'seen':
      return listSeen(line);
    case 'settled': {
      const { runs, ...rest } = line;
      const points = runs.flatMap(({ at, rates, imputed = false }) =>
        rates.map((rate, i) => ({ at: (at + i * line.period) as Instant, rate, imputed })),
      );
      return [{ ...rest, points }];
    }
    default:
      return [line];
  }
}

function parseLine(text: string): Line | 'damaged' | 'foreign' {
  const json = text.slice(9);
  if (text[8] !== ' ' || text.slice(0, 8) !== checksum(json)) return 'damaged';
  try {
    return parseShape(JSON.parse(json)) ?? 'foreign';
  } catch {
    return 'damaged';
  }
}

/** Lines whose entries are made while they are read: all those of a month at once take ten times the memory of its file. */
export class LedgerLines implements Iterable<Entry> {
  readonly #lines: readonly Line[];

  constructor(lines: readonly Line[]) {
    this.#lines = lines;
  }

  *[Symbol.iterator](): Generator<Entry> {
    for (const line of this.#lines) yield* toEntries(line);
  }

  get header(): HeaderEntry | undefined {
    return this.#lines.find((line) => line.kind === 'header');
  }

  withoutRates(): LedgerLines {
    return new LedgerLines(this.#lines.filter(({ kind }) => kind !== 'seen' && kind !== 'settled' && kind !== 'price'));
  }
}

/** All readable lines in order. A torn line may hide the one appended after it, never more. */
export function parseLines(text: string): ParsedLedger<LedgerLines> {
  const lines: Line[] = [];
  const lost = { damaged: 0, foreign: 0 };
  for (const one of text.split('\n')) {
    if (one === '') continue;
    const line = parseLine(one);
    if (typeof line === 'string') lost[line] += 1;
    else lines.push(line);
  }
  const entries = new LedgerLines(lines);
  const { header } = entries;
  return {
    entries,
    damaged: lost.damaged + (header?.damaged ?? 0),
    foreign: lost.foreign + (header?.foreign ?? 0),
  };
}

/** All readable entries in order. */
export function parseLedger(text: string): ParsedLedger<readonly Entry[]> {
  const { entries, ...rest } = parseLines(text);
  return { entries: [...entries], ...rest };
}

/** The whole lines that another version of the program wrote, with their ends. */
export const listForeignLines = (text: string): readonly string[] =>
  text.split('\n').flatMap((line) => (line !== '' && parseLine(line) === 'foreign' ? [`${line}\n`] : []));
