import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hours, type Instant, minutes } from '../../src/units.ts';
import { history, START, sites, values } from './history.ts';
import { Plant } from './plant.ts';
import { at, Bench, car, indexAt, outlookOf, siteOf } from './site.ts';

const RUNS = Number(process.env.GRIDTIDE_RUNS ?? 1_000);
const EVENTS = 200;
/** Shrinking serves people; a check that only asks whether it fails goes without. */
const endOnFailure = process.env.GRIDTIDE_SHRINK === 'no';

describe(`the invariants of control, over ${RUNS} histories of ${EVENTS} events`, () => {
  it('1 to 3, 5 to 15 hold whatever happens', { timeout: 600_000 }, () => {
    fc.assert(
      fc.property(history, fc.nat(), (actions, seed) => {
        const plant = new Plant(sites[seed % sites.length] ?? siteOf(), START, seed);
        for (const action of actions) {
          plant.act(action);
          if (plant.broken.length > 0 || plant.events >= EVENTS) break;
        }
        expect(plant.broken).toEqual([]);
      }),
      { numRuns: RUNS, endOnFailure },
    );
  });

  it('4: a feasible goal is met by its deadline, whatever the signal says or fails to say', {
    timeout: 600_000,
  }, () => {
    const news = fc.array(
      fc.record({
        pass: fc.integer({ min: 60_000, max: 5_400_000 }),
        outlook: fc.option(values, { nil: undefined }),
        index: fc.integer({ min: 0, max: 100 }),
        lasts: fc.integer({ min: 1, max: 20 }),
      }),
      { minLength: 40, maxLength: 40 },
    );
    const delay = fc.constantFrom(0, 200, 2_000);
    // Up to 12 of the 13 hours: the guard's margin and a pause must fit.
    fc.assert(
      fc.property(news, delay, fc.integer({ min: 5, max: 720 }), (events, lag, need) => {
        const goal = {
          need: { kind: 'time', time: minutes(need) },
          by: Array(7).fill(420),
          from: 1080,
          armedBy: 'schedule',
        };
        const bench = new Bench(siteOf(car({ goal: goal as never, jitter: minutes(5) })), at('2026-06-04T01:00:00Z'));
        bench.delay = lag as never;
        bench.send({ kind: 'found', levels: { car: 'off' } });
        for (const { pass, outlook, index, lasts } of events) {
          const { wall } = bench.now;
          const from = (Math.floor(wall / 3_600_000) * 3_600_000) as Instant;
          bench.signal({
            index: indexAt(wall, index),
            ...(outlook === undefined
              ? {}
              : {
                  outlook: outlookOf(from, outlook, {
                    generatedAt: wall,
                    validUntil: (wall + hours(lasts)) as Instant,
                  }),
                }),
          });
          bench.run(Math.min(wall + pass, at('2026-06-04T13:59:59Z')) as Instant);
        }
        bench.run(at('2026-06-04T13:59:59Z'));
        const job = bench.decision('car').job;
        expect(job?.done).toBeGreaterThanOrEqual(minutes(need));
      }),
      { numRuns: RUNS, endOnFailure },
    );
  });
});
