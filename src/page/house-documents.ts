/** The documents of one house, from the broker or from the saved state; reports changes to its listeners. */

import type { Clock } from '../domain/ports.ts';
import { addDuration, seconds } from '../domain/units.ts';

export type Documents = Readonly<Record<string, unknown>>;

export interface HouseDocuments {
  set(path: string, document: unknown): void;
  get(path: string): unknown;
  all(): Documents;
  watch(onChange: (changed: Documents) => void): () => void;
}

/** A browser gets no more than one message in this time. */
const CHANGE_INTERVAL = seconds(1);

export function createHouseDocuments(clock: Pick<Clock, 'now' | 'wakeAt'>): HouseDocuments {
  const documents = new Map<string, unknown>();
  const texts = new Map<string, string>();
  const watchers = new Set<(changed: Documents) => void>();
  const changed = new Set<string>();
  let isWaiting = false;

  const report = (): void => {
    if (changed.size === 0) return;
    const news = Object.fromEntries([...changed].map((path) => [path, documents.get(path)]));
    changed.clear();
    for (const onChange of watchers) onChange(news);
    waitForMore();
  };
  const waitForMore = (): void => {
    isWaiting = true;
    clock.wakeAt(addDuration(clock.now().uptime, CHANGE_INTERVAL), 'page', () => {
      isWaiting = false;
      report();
    });
  };

  return {
    set(path, document) {
      const text = JSON.stringify(document) ?? '';
      if (texts.get(path) === text) return;
      texts.set(path, text);
      documents.set(path, document);
      changed.add(path);
      if (!isWaiting) report();
    },
    get: (path) => documents.get(path),
    all: () => Object.fromEntries(documents),
    watch(onChange) {
      watchers.add(onChange);
      return () => void watchers.delete(onChange);
    },
  };
}
