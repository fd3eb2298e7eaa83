import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { history, START, sites } from './history.ts';
import { Plant } from './plant.ts';

const RUNS = Number(process.env.GRIDTIDE_RUNS ?? 1_000);

describe('the invariants of control, over histories of 200 events', () => {
  it('hold whatever happens', { timeout: 600_000 }, () => {
    fc.assert(
      fc.property(history, fc.nat(), (actions, seed) => {
        const site = sites[seed % sites.length];
        if (site === undefined) throw new Error('no site');
        const plant = new Plant(site, START, seed);
        for (const action of actions) {
          plant.act(action);
          if (plant.broken.length > 0 || plant.events > 400) break;
        }
        expect(plant.broken).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  });
});
