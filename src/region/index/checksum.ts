/** The checksum of a part of an index file. It covers the salt of the file and the offset of the part: a part copied from elsewhere is found too. */

import { buildDamagedError } from '../map-failure.ts';

// CRC-32 by bytes, or loading node:zlib for it, costs a cold lookup 2 to 4 ms.
const CHECKSUM_MULTIPLIER = 0x9e37_79b1;
const CHECKSUM_SEED = 0x5247_4447;

/** Each step is a bijection of the sum, so any single changed word changes it. */
function addWord(sum: number, word: number): number {
  const product = Math.imul(sum ^ word, CHECKSUM_MULTIPLIER);
  return product ^ (product >>> 15);
}

/** Of all words but the last. */
function computeChecksum(words: Int32Array, salt: number, offset: number): number {
  let sum = addWord(addWord(CHECKSUM_SEED ^ words.length, salt), offset);
  const last = words.length - 1;
  // The step by hand: a cold lookup runs this before anything is compiled.
  for (let i = 0; i < last; i++) {
    sum = Math.imul(sum ^ (words[i] as number), CHECKSUM_MULTIPLIER);
    sum ^= sum >>> 15;
  }
  return sum;
}

/** Makes the last word of a part its checksum. */
export function writeChecksum(words: Int32Array, salt: number, offset: number): void {
  words[words.length - 1] = computeChecksum(words, salt, offset);
}

export function verifyChecksum(words: Int32Array, salt: number, offset: number, what: string): void {
  if (words.length < 1 || words.at(-1) !== computeChecksum(words, salt, offset))
    throw buildDamagedError(`${what} is damaged`);
}

/** Differs from that of an index made at another time. */
export const createSalt = (now: number): number => addWord(now | 0, Math.floor(now / 2 ** 32));
