/** Chance by position: the same seed and place give the same number, in any order of asking. */

/** An unsigned 32-bit hash of a seed and a whole number. */
export function hashNumber(seed: number, n: number): number {
  let h = (seed ^ Math.imul(n, 0x9e3779b1)) | 0;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** A seed for one purpose, from a seed and a name. */
export function deriveSeed(seed: number, name: string): number {
  let h = hashNumber(seed, name.length);
  for (let i = 0; i < name.length; i++) h = hashNumber(h, name.charCodeAt(i));
  return h | 0;
}

/** Uniform in [0, 1). */
export const drawFraction = (seed: number, n: number) => hashNumber(seed, n) / 0x1_0000_0000;

/** Bell-shaped, mean 0, variance 1, never beyond 2.45. */
export function drawBell(seed: number, n: number): number {
  const h = hashNumber(seed, n);
  return ((h & 0xffff) + (h >>> 16) - 0xffff) * (2.449_49 / 0xffff);
}

/** A continuous wander along `x`: bell values at whole numbers, straight lines between them. */
export function drawWander(seed: number, x: number): number {
  const left = Math.floor(x);
  const share = x - left;
  return drawBell(seed, left) * (1 - share) + drawBell(seed, left + 1) * share;
}

/** A continuous wander over a plane. */
export function drawPlaneWander(seed: number, x: number, y: number): number {
  const row = Math.floor(y);
  const share = y - row;
  return drawWander(hashNumber(seed, row), x) * (1 - share) + drawWander(hashNumber(seed, row + 1), x) * share;
}
