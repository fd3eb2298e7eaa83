/** A list that grows while others wait for it. */

export interface AwaitableList<Item> {
  readonly all: readonly Item[];
  add(item: Item): void;
  /** Resolves when there are `count` items. */
  whenCount(count: number): Promise<void>;
}

export function createAwaitableList<Item>(): AwaitableList<Item> {
  const all: Item[] = [];
  const waiting = new Set<() => void>();
  return {
    all,
    add(item) {
      all.push(item);
      for (const checkCount of [...waiting]) checkCount();
    },
    whenCount: (count) =>
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
