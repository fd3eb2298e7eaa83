/** Collects ledger entries for few appends, because each append is a write to the memory card, and protects them from a kill. */

import { type Disk, DiskError } from '../domain/ports.ts';
import { type Entry, getEntryTime, type RecordedEntry } from '../ledger/entries.ts';
import { getLedgerFile } from '../ledger/ledger-files.ts';
import { formatEntries, parseLedger } from '../ledger/ledger-lines.ts';
import type { DocumentStore } from './document-store.ts';

export interface LedgerQueueParts {
  readonly store: Pick<DocumentStore, 'append'>;
  /** Where the files of the ledger are. */
  readonly disk: Pick<Disk, 'read'>;
  /** Emptied by the next boot, and free to write. */
  readonly scratch: DocumentStore | undefined;
}

export interface LedgerQueue {
  add(...entries: readonly RecordedEntry[]): void;
  /** Whether running time has gathered. */
  hasRuns(): boolean;
  /** Appends what has gathered. */
  flush(): Promise<void>;
  /** Keeps what has gathered and `running` for `recover`, should the process be killed. */
  protect(running: readonly RecordedEntry[]): void;
  /** Adds what the life before had protected and not appended. */
  recover(): Promise<void>;
}

/** What a full disk may make wait in memory: about two days of rates and rows. The oldest give way. */
const MAX_WAITING_ENTRIES = 1_000;
/** Entries that wait for one append: an hour of rates. */
const APPEND_BATCH = 12;
const SCRATCH_DOCUMENT = 'ledger';

export function createLedgerQueue({ store, disk, scratch }: LedgerQueueParts): LedgerQueue {
  let waiting: readonly RecordedEntry[] = [];
  let gathered = 0;

  const flush = async (): Promise<void> => {
    const entriesNow = waiting;
    waiting = [];
    gathered = 0;
    for (const [file, entries] of groupByFile(entriesNow)) {
      // What a full disk refuses waits for the next try.
      if (!(await store.append(file, encodeEntries(entries))))
        waiting = [...entries, ...waiting].slice(-MAX_WAITING_ENTRIES);
    }
  };

  return {
    add(...entries) {
      waiting = [...waiting, ...entries];
      gathered += entries.length;
      if (gathered >= APPEND_BATCH) void flush();
    },
    hasRuns: () => waiting.some(({ kind }) => kind === 'slot'),
    flush,
    protect: (running) => void scratch?.save(SCRATCH_DOCUMENT, encodeEntries([...waiting, ...running])),
    async recover() {
      const loaded = await scratch?.load(SCRATCH_DOCUMENT);
      for (const [file, entries] of groupByFile(decodeEntries(loaded?.bytes))) {
        // The kill may have come between the append and the next `protect`.
        const appended = new Set(decodeEntries(await readFile(disk, file)).map(getEntryKey));
        waiting = [...waiting, ...entries.filter((entry) => !appended.has(getEntryKey(entry)))];
      }
      await flush();
    },
  };
}

/** A file that cannot be read has no entry that would be counted twice. */
async function readFile(disk: Pick<Disk, 'read'>, file: string): Promise<Uint8Array | undefined> {
  try {
    return await disk.read(file);
  } catch (error) {
    if (!(error instanceof DiskError)) throw error;
    return undefined;
  }
}

const encodeEntries = (entries: readonly RecordedEntry[]) => new TextEncoder().encode(formatEntries(entries));
const decodeEntries = (bytes: Uint8Array | undefined): readonly RecordedEntry[] =>
  bytes === undefined ? [] : parseLedger(new TextDecoder().decode(bytes)).entries.filter(isRecorded);

/** A tidied month has others beside them. */
const isRecorded = (entry: Entry): entry is RecordedEntry =>
  entry.kind !== 'header' && entry.kind !== 'day' && entry.kind !== 'carried';

function groupByFile(entries: readonly RecordedEntry[]): ReadonlyMap<string, readonly RecordedEntry[]> {
  const files = new Map<string, readonly RecordedEntry[]>();
  for (const entry of entries) {
    const file = getLedgerFile(getEntryTime(entry));
    files.set(file, [...(files.get(file) ?? []), entry]);
  }
  return files;
}

/** The same for a piece of running time that was protected and the longer one that was appended. */
const getEntryKey = (entry: RecordedEntry) =>
  `${entry.kind} ${'load' in entry ? entry.load : 'region' in entry ? entry.region : ''} ${getEntryTime(entry)}`;
