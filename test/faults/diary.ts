/** A writer that keeps a numbered document and a ledger, as the agent does, and a reader that finds what was lost of them. */

import { createStore } from '../../src/agent/store.ts';
import { fileOf, lineOf, readLines } from '../../src/ledger/lines.ts';
import { type Instant, type LbsPerMwh, minutes } from '../../src/units.ts';
import type { Disk, DiskError } from '../../src/world.ts';

const AT = Date.parse('2026-03-01T00:00:00Z') as Instant;
const DOCUMENT = 'control';
const MAP = 'map.co2_moer.idx';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Differs in length from one number to the next, from nothing to some 8 kB. */
const padding = (n: number) => 'x'.repeat((n * 2_654_435) % 8_192);
const entry = (n: number) =>
  lineOf({ kind: 'seen', region: 'R', at: AT, period: minutes(5), rate: n as LbsPerMwh, model: padding(n % 16) });

export interface Written {
  readonly n: number;
  readonly document: boolean;
  readonly ledger: boolean;
}

export interface Diary {
  /** The number that the next `write` goes on from. */
  resume(): Promise<number>;
  /** Writes number `n` into document and ledger, every 16th also a larger file in pieces. True: acknowledged as durable. */
  write(n: number): Promise<Written>;
}

export function openDiary(disk: Disk, trouble: (failure: DiskError | undefined) => void = () => {}): Diary {
  const store = createStore(disk, trouble);
  return {
    async resume() {
      const loaded = await store.load(DOCUMENT);
      return loaded === undefined ? 0 : JSON.parse(decoder.decode(loaded.bytes)).n;
    },
    async write(n) {
      const document = await store.save(DOCUMENT, encoder.encode(JSON.stringify({ n, padding: padding(n) })));
      const ledger = await store.append(fileOf(AT), encoder.encode(entry(n)));
      if (n % 16 === 0) await writeMap(disk, n).catch(() => {});
      return { n, document, ledger };
    },
  };
}

async function writeMap(disk: Disk, n: number): Promise<void> {
  const file = await disk.create(MAP);
  try {
    await file.write(encoder.encode('00000000'));
    for (let piece = 0; piece < 4; piece += 1) await file.write(encoder.encode(`${n}`.padStart(20_000, '.')));
    await file.writeAt(0, encoder.encode(`${n}`.padStart(8, '0')));
    await file.commit();
  } finally {
    await file.abandon();
  }
}

export interface Found {
  /** What a reader cannot make sense of: the document, a whole map of two numbers. */
  readonly unreadable: readonly string[];
  /** Acknowledged numbers that are not there. */
  readonly lostDocument: boolean;
  readonly lostEntries: readonly number[];
  readonly damagedLines: number;
  /** Damaged lines that are not the beginning of one whose number was never acknowledged. */
  readonly unexplained: readonly string[];
}

/** What a new life finds, against what the old ones were told is durable. */
export async function inspect(disk: Disk, acknowledged: readonly Written[]): Promise<Found> {
  const unreadable: string[] = [];
  const documents = acknowledged.filter(({ document }) => document).map(({ n }) => n);
  const loaded = await createStore(disk, () => {}).load(DOCUMENT);
  if (loaded?.older) unreadable.push('the newest generation of the document');
  if (loaded === undefined && documents.length > 0) unreadable.push('the document');
  const n = loaded === undefined ? 0 : JSON.parse(decoder.decode(loaded.bytes)).n;

  const text = decoder.decode((await disk.read(fileOf(AT))) ?? new Uint8Array(0));
  const ledger = readLines(text);
  const there = new Set(ledger.entries.map((one) => (one.kind === 'seen' ? one.rate : undefined)));
  const lostEntries = acknowledged.filter((one) => one.ledger && !there.has(one.n as LbsPerMwh)).map((one) => one.n);

  const map = await disk.read(MAP);
  if (map !== undefined && !isWholeMap(decoder.decode(map))) unreadable.push('the map');
  return {
    unreadable,
    lostDocument: n < Math.max(0, ...documents),
    lostEntries,
    damagedLines: ledger.damaged,
    unexplained: ledger.damaged === 0 ? [] : unexplainedIn(text, acknowledged, n),
  };
}

function unexplainedIn(text: string, acknowledged: readonly Written[], document: number): string[] {
  const known = new Set(acknowledged.filter(({ ledger }) => ledger).map(({ n }) => n));
  // A life goes on from the document, and tries at most one number beyond the last that is durable.
  const last = Math.max(document, ...known);
  const tried = Array.from({ length: last + 2 }, (_, n) => n).filter((n) => !known.has(n));
  const begun = tried.map(entry);
  // After a power cut the end of what was written may be there in length and not in content.
  const torn = text.split('\n').filter((line) => line !== '' && readLines(line).damaged > 0);
  return torn.filter((line) => !begun.some((whole) => whole.startsWith(line.replace(/\0+$/, ''))));
}

function isWholeMap(text: string): boolean {
  const n = Number(text.slice(0, 8));
  return n > 0 && text.slice(8) === `${n}`.padStart(20_000, '.').repeat(4);
}
