/** A fraction that a device's name always gives: spreads devices over a period without any of them drawing lots. */

/** In [0, 1); FNV-1a with its high bits mixed in, for similar names differ in the low bits alone. */
export function fractionOf(name: string): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(name)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x45d9f3b) >>> 0;
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}
