/** A writer that keeps a numbered document and a ledger, as the agent does, and a reader that finds what was lost of them. */

import { createDocumentStore } from '../../src/agent/document-store.ts';
import type { Disk, DiskError } from '../../src/domain/ports.ts';
import { type Instant, type LbsPerMwh, minutes } from '../../src/domain/units.ts';
import { getLedgerFile } from '../../src/ledger/ledger-files.ts';
import { formatEntries, parseLedger } from '../../src/ledger/ledger-lines.ts';

const AT = Date.parse('2026-03-01T00:00:00Z') as Instant;
const DOCUMENT = 'control';
const MAP = 'map.co2_moer.idx';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Four of eight documents fit one block, and are written over their older generation; the others differ in length, up to some 60 kB. */
const documentPadding = (n: number) =>
  'x'.repeat(n % 8 < 4 ? (n * 2_654_435) % 2_000 : 8_192 + ((n * 2_654_435) % 50_000));
/** Differs in length from one number to the next, from nothing to some 8 kB. */
const padding = (n: number) => 'x'.repeat((n * 2_654_435) % 8_192);
const formatEntry = (n: number) =>
  formatEntries([
    {
      kind: 'seen',
      region: 'R',
      at: AT,
      period: minutes(5),
      rate: n as LbsPerMwh,
      model: padding(n % 16),
    },
  ]);

export interface WriteResult {
  readonly n: number;
  readonly document: boolean;
  readonly ledger: boolean;
}

export interface NumberedWriter {
  /** The number that the next `write` goes on from. */
  readLastNumber(): Promise<number>;
  /** Writes number `n` into document and ledger, every 16th also a larger file in pieces. True: acknowledged as durable. */
  write(n: number): Promise<WriteResult>;
}

export function createNumberedWriter(
  disk: Disk,
  onFailure: (failure: DiskError | undefined) => void = () => {},
): NumberedWriter {
  const store = createDocumentStore(disk, onFailure);
  return {
    async readLastNumber() {
      const loaded = await store.load(DOCUMENT);
      return loaded === undefined ? 0 : JSON.parse(decoder.decode(loaded.bytes)).n;
    },
    async write(n) {
      const document = await store.save(DOCUMENT, encoder.encode(JSON.stringify({ n, padding: documentPadding(n) })));
      const ledger = await store.append(getLedgerFile(AT), encoder.encode(formatEntry(n)));
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

export interface WriteLosses {
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
export async function findWriteLosses(disk: Disk, acknowledged: readonly WriteResult[]): Promise<WriteLosses> {
  const unreadable: string[] = [];
  const documents = acknowledged.filter(({ document }) => document).map(({ n }) => n);
  const loaded = await createDocumentStore(disk, () => {}).load(DOCUMENT);
  if (loaded?.isPrevious) unreadable.push('the newest generation of the document');
  if (loaded === undefined && documents.length > 0) unreadable.push('the document');
  const n = loaded === undefined ? 0 : JSON.parse(decoder.decode(loaded.bytes)).n;

  const text = decoder.decode((await disk.read(getLedgerFile(AT))) ?? new Uint8Array(0));
  const ledger = parseLedger(text);
  const there = new Set(ledger.entries.map((one) => (one.kind === 'seen' ? one.rate : undefined)));
  const lostEntries = acknowledged.filter((one) => one.ledger && !there.has(one.n as LbsPerMwh)).map((one) => one.n);

  const map = await disk.read(MAP);
  if (map !== undefined && !isWholeMap(decoder.decode(map))) unreadable.push('the map');
  return {
    unreadable,
    lostDocument: n < Math.max(0, ...documents),
    lostEntries,
    damagedLines: ledger.damaged,
    unexplained: ledger.damaged === 0 ? [] : findUnexplained(text, acknowledged, n),
  };
}

function findUnexplained(text: string, acknowledged: readonly WriteResult[], document: number): string[] {
  const known = new Set(acknowledged.filter(({ ledger }) => ledger).map(({ n }) => n));
  // A life goes on from the document, and tries at most one number beyond the last that is durable.
  const last = Math.max(document, ...known);
  const tried = Array.from({ length: last + 2 }, (_, n) => n).filter((n) => !known.has(n));
  const begun = tried.map(formatEntry);
  // After a power cut the end of what was written may be there in length and not in content.
  const torn = text.split('\n').filter((line) => line !== '' && parseLedger(line).damaged > 0);
  return torn.filter((line) => !begun.some((whole) => whole.startsWith(line.replace(/\0+$/, ''))));
}

function isWholeMap(text: string): boolean {
  const n = Number(text.slice(0, 8));
  return n > 0 && text.slice(8) === `${n}`.padStart(20_000, '.').repeat(4);
}
