import { describe, expect, it } from 'vitest';
import { createSeededRandom, createSystemRandom } from '../../src/platform/random.ts';

const take = (seed: number, n: number) => {
  const random = createSeededRandom(seed);
  return Array.from({ length: n }, () => random.fraction());
};

describe('chance', () => {
  it('is repeated by the same seed and differs by another', () => {
    expect(take(7, 20)).toEqual(take(7, 20));
    const seeds = [7, 8, -7, 7 + 2 ** 32, 7 + 2 ** 33, 0];
    expect(new Set(seeds.map((seed) => take(seed, 20).join())).size).toBe(seeds.length);
  });

  it.each([0, 1, 42, -5, 2 ** 40])('seed %d fills 0 to 1 evenly, neighbours unrelated', (seed) => {
    const drawn = take(seed, 20_000);
    const tenths = Array.from({ length: 10 }, () => 0);
    expect(drawn.every((fraction) => fraction >= 0 && fraction < 1)).toBe(true);
    for (const fraction of drawn) tenths[Math.floor(fraction * 10)] = (tenths[Math.floor(fraction * 10)] ?? 0) + 1;
    // 20,000 draws: 2,000 a tenth, standard deviation 42.
    for (const count of tenths) expect(Math.abs(count - 2_000)).toBeLessThan(250);
    const product = drawn.slice(1).reduce((sum, fraction, n) => sum + (fraction - 0.5) * ((drawn[n] ?? 0) - 0.5), 0);
    expect(Math.abs(product / 20_000)).toBeLessThan(0.005);
  });

  it('refuses a seed that is not a whole number', () => {
    expect(() => createSeededRandom(1.5)).toThrow('seed 1.5');
  });

  it("the machine's own stays within 0 to 1", () => {
    const random = createSystemRandom();
    for (let n = 0; n < 1_000; n += 1) expect(random.fraction() >= 0 && random.fraction() < 1).toBe(true);
  });
});
