/** Gives each name a fixed fraction between 0 and 1, so that devices and jobs spread out without random numbers. */

/** In [0, 1): the same after every restart, another one next door. FNV-1a of 32 bits. */
export function hashFraction(...names: readonly (string | number)[]): number {
  let hash = 0x811c9dc5;
  const text = names.join('\n');
  for (let i = 0; i < text.length; i++) {
    hash ^= text.charCodeAt(i);
    hash = Math.imul(hash, 0x01000193);
  }
  // The last multiplications leave the high bits of short texts close together: one more round parts them.
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x2c1b3c6d);
  hash ^= hash >>> 12;
  return (hash >>> 0) / 2 ** 32;
}
