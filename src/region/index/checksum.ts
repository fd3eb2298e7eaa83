/** A checksum over whole words: finds torn writes and flipped bits, not forgery. CRC-32 by bytes, or loading node:zlib for it, costs a cold lookup 2 to 4 ms. */

const CHECKSUM_MULTIPLIER = 0x9e37_79b1;
const CHECKSUM_SEED = 0x5247_4447;

/** Of `length` words from `from` on. Each step is a bijection of the sum, so that any single changed word changes it. */
export function computeChecksum(words: Uint32Array, from: number, length: number): number {
  let sum = CHECKSUM_SEED ^ length;
  for (let i = from; i < from + length; i++) {
    sum = Math.imul(sum ^ (words[i] as number), CHECKSUM_MULTIPLIER);
    sum ^= sum >>> 15;
  }
  return sum >>> 0;
}
