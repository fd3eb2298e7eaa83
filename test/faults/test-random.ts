/** Chance for fault tests: another seed each run, printed so that the run can be repeated with GRIDTIDE_SEED. */

import type { Random } from '../../src/domain/ports.ts';
import { createSeededRandom } from '../../src/platform/random.ts';

export function createTestRandom(name: string): Random {
  const given = Number(process.env.GRIDTIDE_SEED);
  const seed = Number.isSafeInteger(given) && given > 0 ? given : Math.floor(Math.random() * 1e9) + 1;
  console.log(`${name}: GRIDTIDE_SEED=${seed}`);
  return createSeededRandom(seed);
}

/** How often a fault is tried: the ordinary number, or more for a long run. */
export const readRepetitions = (variable: string, ordinary: number): number =>
  Number(process.env[variable] ?? ordinary);
