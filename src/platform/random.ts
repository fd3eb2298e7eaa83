/** Random numbers: the machine's own, and a repeatable sequence for simulations and tests. Not for keys. */

import type { Random } from '../domain/ports.ts';

const TWO_32 = 2 ** 32;

export const createSystemRandom = (): Random => ({ fraction: () => Math.random() });

/** One round of 32-bit mixing: each bit of the input reaches each bit of the result. */
function mixBits(n: number): number {
  let x = n | 0;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return (x ^ (x >>> 16)) >>> 0;
}

/** The same fractions for the same whole `seed`, in steps of 2^-32: a mixed counter, whose period is 2^32. */
export function createSeededRandom(seed: number): Random {
  if (!Number.isSafeInteger(seed)) throw new Error(`seed ${seed} is not a whole number`);
  let counter = mixBits(seed) ^ mixBits(Math.floor(seed / TWO_32) + 1);
  return {
    fraction: () => {
      counter = (counter + 0x9e3779b9) | 0;
      return mixBits(mixBits(counter) ^ 0x2545f491) / TWO_32;
    },
  };
}
