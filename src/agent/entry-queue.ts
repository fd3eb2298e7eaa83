/** Gathers ledger entries for one append: each append is a write to the memory card. */

import type { Instant } from '../domain/units.ts';
import type { Entry } from '../ledger/entries.ts';
import { formatEntryLine, getLedgerFile } from '../ledger/ledger-lines.ts';
import type { DocumentStore } from './document-store.ts';

export interface EntryQueue {
  add(...entries: readonly Entry[]): void;
  /** Appends what has gathered. */
  flush(): Promise<void>;
}

/** What a full disk may make wait in memory: about two days of rates and rows. The oldest give way. */
const MAX_WAITING_ENTRIES = 1_000;
/** Entries that wait for one append: an hour of rates. */
const APPEND_BATCH = 12;

export function createEntryQueue(store: Pick<DocumentStore, 'append'>): EntryQueue {
  let waiting: readonly Entry[] = [];
  let gathered = 0;

  const flush = async (): Promise<void> => {
    const entriesNow = waiting;
    waiting = [];
    gathered = 0;
    for (const file of new Set(entriesNow.map(getEntryFile))) {
      const entries = entriesNow.filter((entry) => getEntryFile(entry) === file);
      const lines = entries.map(formatEntryLine).join('');
      // What a full disk refuses waits for the next try.
      if (!(await store.append(file, new TextEncoder().encode(lines))))
        waiting = [...entries, ...waiting].slice(-MAX_WAITING_ENTRIES);
    }
  };

  return {
    add(...entries) {
      waiting = [...waiting, ...entries];
      gathered += entries.length;
      if (gathered >= APPEND_BATCH) void flush();
    },
    flush,
  };
}

const getEntryFile = (entry: Entry) => getLedgerFile(getEntryTime(entry));

function getEntryTime(entry: Entry): Instant {
  switch (entry.kind) {
    case 'job':
      return entry.armedAt;
    case 'settled':
      return entry.readAt;
    case 'slot':
    case 'seen':
      return entry.at;
  }
}
