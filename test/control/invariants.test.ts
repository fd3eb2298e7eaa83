import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Duration, hours, type Instant, type Kilowatt, minutes } from '../../src/domain/units.ts';
import {
  buildCharger,
  buildHorizon,
  buildIndex,
  buildSite,
  ControlBench,
  carLoad,
  daily,
  instantFrom,
  tankLoad,
} from './control-setup.ts';
import {
  generateHistories,
  HISTORY_START,
  type HistoryProgress,
  historySites,
  horizonValues,
} from './random-histories.ts';
import { regressionHistories } from './regression-histories.ts';
import { SimulatedSite } from './simulated-site.ts';

/** `scripts/nightly histories` draws 3,000. */
const RUNS = Number(process.env.GRIDTIDE_RUNS ?? 80);
const EVENTS = 200;
/**
 * A red run prints a seed, a path and a replayPath beside the shortest history found: GRIDTIDE_SEED, GRIDTIDE_PATH and GRIDTIDE_REPLAY repeat it
 * alone. Shrinking serves people; a check that only asks whether it fails goes without.
 */
const { GRIDTIDE_PATH: path, GRIDTIDE_REPLAY: replayPath, GRIDTIDE_SHRINK } = process.env;
const options = { numRuns: RUNS, endOnFailure: GRIDTIDE_SHRINK === 'no', ...(path === undefined ? {} : { path }) };

describe(`the invariants of control, over ${RUNS} histories of ${EVENTS} events`, () => {
  it('1 to 3, 5 to 16 hold whatever happens', { timeout: 600_000 }, () => {
    const site = fc.nat(historySites.length - 1);
    fc.assert(
      fc.property(site, fc.nat(), generateHistories(EVENTS, replayPath), (which, probe, happenings) => {
        const progress: HistoryProgress = { events: 0 };
        const setup = () => ({
          model: progress,
          real: new SimulatedSite(historySites[which] ?? buildSite(), HISTORY_START, probe),
        });
        fc.modelRun(setup, happenings);
        // Counts whole histories alone; what fails earlier has failed above.
        fc.pre(progress.events >= EVENTS);
      }),
      options,
    );
  });

  it.each(regressionHistories)('$name', ({ site, actions }) => {
    const simulated = new SimulatedSite(historySites[site] ?? buildSite(), HISTORY_START, 0);
    for (const action of actions) simulated.act(action);
    expect(simulated.violations).toEqual([]);
  });

  const DUSK = instantFrom('2026-06-04T01:00:00Z');
  const DAWN = instantFrom('2026-06-04T13:59:59Z');
  const goalOf = (need: number) => ({
    need: { kind: 'time' as const, time: minutes(need) },
    by: daily(420),
    from: 1080,
    armedBy: 'schedule' as const,
  });
  const news = fc.array(
    fc.record({
      // Mostly under four minutes: a night of 13 hours then has more than 200 events.
      pass: fc.integer({ min: 30_000, max: 420_000 }),
      outlook: fc.option(horizonValues, { nil: undefined }),
      index: fc.integer({ min: 0, max: 100 }),
      lasts: fc.integer({ min: 1, max: 20 }),
    }),
    { minLength: EVENTS, maxLength: EVENTS, size: 'max' },
  );
  const delays = fc.constantFrom(0, 200, 2_000) as fc.Arbitrary<Duration>;

  /** A night of signals, or of none, until the deadline. */
  function night(bench: ControlBench, events: News, delay: Duration) {
    bench.delay = delay;
    bench.send({ kind: 'found', levels: Object.fromEntries(bench.site.loads.map(({ name }) => [name, 'off'])) });
    for (const { pass, outlook, index, lasts } of events) {
      const { wall } = bench.now;
      const from = (Math.floor(wall / 3_600_000) * 3_600_000) as Instant;
      const validUntil = (wall + hours(lasts)) as Instant;
      bench.sendSignal({
        index: buildIndex(wall, index),
        ...(outlook === undefined ? {} : { horizon: buildHorizon(from, outlook, { generatedAt: wall, validUntil }) }),
      });
      bench.runUntil(Math.min(wall + pass, DAWN) as Instant);
      if (bench.now.wall >= DAWN) break;
    }
    bench.runUntil(DAWN);
  }

  it('4: a feasible goal is met by its deadline, whatever the signal says or fails to say', {
    timeout: 600_000,
  }, () => {
    // Up to 12 of the 13 hours: the guard's margin and a pause must fit.
    fc.assert(
      fc.property(news, delays, fc.integer({ min: 5, max: 720 }), (events, delay, need) => {
        const bench = new ControlBench(buildSite(carLoad({ goal: goalOf(need), startSpread: minutes(5) })), DUSK);
        night(bench, events, delay);
        expect(bench.decision('car').job?.done).toBeGreaterThanOrEqual(minutes(need));
        expect(bench.state.loads[0]?.job?.starts).toBeLessThanOrEqual(4);
      }),
      options,
    );
  });

  it('4: so are those of several loads that share less power than they need at once', { timeout: 600_000 }, () => {
    const needs = fc
      .array(fc.integer({ min: 5, max: 600 }), { minLength: 2, maxLength: 3 })
      .filter((all) => all.reduce((sum, need) => sum + need, 0) <= 600);
    fc.assert(
      fc.property(news, delays, needs, fc.boolean(), fc.boolean(), (events, delay, all, withTank, takesAmps) => {
        const loads = all.map((need, i) => {
          const name = `car${i}`;
          const output = takesAmps ? { output: buildCharger(name) } : {};
          return carLoad({ name, goal: goalOf(need), startSpread: minutes(5), ...output });
        });
        const site = { ...buildSite(...loads, ...(withTank ? [tankLoad()] : [])), budget: 8 as Kilowatt };
        const bench = new ControlBench(site, DUSK);
        night(bench, events, delay);
        for (const [i, need] of all.entries()) {
          expect(bench.decision(`car${i}`).job?.done, `car${i}`).toBeGreaterThanOrEqual(minutes(need));
          expect(bench.state.loads[i]?.job?.starts, `car${i}`).toBeLessThanOrEqual(4);
        }
      }),
      { ...options, numRuns: Math.ceil(RUNS / 4) },
    );
  });
});

type News = readonly {
  readonly pass: number;
  readonly outlook: readonly number[] | undefined;
  readonly index: number;
  readonly lasts: number;
}[];
