/** Remembers when each load ran since yesterday: from the ledger where it can be read, and from the documents that arrive. */

import { days, type Instant } from '../domain/units.ts';
import type { Entry } from '../ledger/entries.ts';

export interface Run {
  readonly from: Instant;
  /** Absent: it runs. */
  readonly to?: Instant;
}

export interface RunTracker {
  /** A document of the tree; only those of loads count. */
  record(path: string, document: unknown): void;
  /** What the ledger has. */
  addEntries(entries: Iterable<Entry>, since: Instant): void;
}

const KEPT_FOR = days(3);
const MAX_RUNS = 500;
/** A pause shorter than this is one run, cut at a slot. */
const SEAM_MILLISECONDS = 90_000;

/** Runs that touch become one. */
function mergeRuns(runs: readonly Run[]): readonly Run[] {
  const merged: Run[] = [];
  for (const run of [...runs].sort((a, b) => a.from - b.from)) {
    const last = merged.at(-1);
    if (last === undefined || (last.to !== undefined && run.from > last.to + SEAM_MILLISECONDS)) merged.push(run);
    else if (last.to !== undefined && (run.to === undefined || run.to > last.to)) {
      const { from } = last;
      merged[merged.length - 1] = run.to === undefined ? { from } : { from, to: run.to };
    }
  }
  return merged;
}

export function createRunTracker(onChange: (runs: Readonly<Record<string, readonly Run[]>>) => void): RunTracker {
  const runs = new Map<string, readonly Run[]>();
  const setRuns = (load: string, all: readonly Run[], now: number): void => {
    const recent = all.filter(({ to }) => to === undefined || to > now - KEPT_FOR).slice(-MAX_RUNS);
    runs.set(load, recent);
  };
  const report = () => onChange(Object.fromEntries(runs));

  return {
    record(path, document) {
      const load = /^loads\/([^/]+)$/.exec(path)?.[1];
      if (load === undefined || typeof document !== 'object' || document === null) return;
      const { time, running } = document as { readonly time?: unknown; readonly running?: unknown };
      const at = Date.parse(String(time)) as Instant;
      if (Number.isNaN(at)) return;
      const known = runs.get(load) ?? [];
      const open = known.at(-1);
      const isOpen = open !== undefined && open.to === undefined;
      if (running === isOpen) return;
      if (isOpen) setRuns(load, [...known.slice(0, -1), { from: open.from, to: at }], at);
      else if (running === true) setRuns(load, mergeRuns([...known, { from: at }]), at);
      report();
    },
    addEntries(entries, since) {
      const found = new Map<string, Run[]>();
      for (const entry of entries) {
        if (entry.kind !== 'slot' || entry.at < since) continue;
        const list = found.get(entry.load) ?? [];
        list.push({ from: entry.at, to: (entry.at + entry.for) as Instant });
        found.set(entry.load, list);
      }
      for (const [load, list] of found) setRuns(load, mergeRuns([...list, ...(runs.get(load) ?? [])]), since);
      report();
    },
  };
}
