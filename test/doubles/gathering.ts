/** A list that grows while others wait for it. */

export interface Gathering<Item> {
  readonly all: readonly Item[];
  add(item: Item): void;
  /** Resolves when there are `count` items. */
  reaches(count: number): Promise<void>;
}

export function createGathering<Item>(): Gathering<Item> {
  const all: Item[] = [];
  const waiting = new Set<() => void>();
  return {
    all,
    add(item) {
      all.push(item);
      for (const look of [...waiting]) look();
    },
    reaches: (count) =>
      new Promise((resolve) => {
        const look = () => {
          if (all.length < count) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
  };
}
