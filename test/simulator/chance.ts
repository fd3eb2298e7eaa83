/** Chance of the simulator: one seed, and a stream of its own for each part, so that leaving out one fault moves no other. */

import { createHash } from 'node:crypto';
import type { Random } from '../../src/domain/ports.ts';
import { createSeededRandom } from '../../src/platform/random.ts';

export interface Chance extends Random {
  /** True with this probability. */
  hits(probability: number): boolean;
  /** Within `from` to `to`. */
  within(from: number, to: number): number;
  /** Within `from` to `to`, short as often as long. */
  spread(from: number, to: number): number;
  whole(from: number, to: number): number;
  pick<Item>(items: readonly Item[]): Item;
}

export function createChance(seed: number, stream: string): Chance {
  const hash = createHash('sha256').update(`${seed} ${stream}`).digest();
  const { fraction } = createSeededRandom(hash.readUInt32LE(0));
  const within = (from: number, to: number) => from + fraction() * (to - from);
  return {
    fraction,
    within,
    hits: (probability) => fraction() < probability,
    spread: (from, to) => Math.exp(within(Math.log(from), Math.log(to))),
    whole: (from, to) => Math.floor(within(from, to + 1)),
    pick<Item>(items: readonly Item[]): Item {
      const item = items[Math.floor(fraction() * items.length)];
      if (item === undefined) throw new Error('nothing to pick from');
      return item;
    },
  };
}
