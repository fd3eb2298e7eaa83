import { describe, expect, it } from 'vitest';
import { type JobShare, planSite } from '../../src/control/planning/site-planner.ts';
import { type Duration, hours, type Instant, type Kilowatt, minutes } from '../../src/domain/units.ts';
import { buildHorizon, instantFrom } from './control-setup.ts';
import { createSeededFractions } from './planner-instances.ts';

const START = instantFrom('2026-06-04T00:00:00Z');

const share = (hourly: readonly number[], need: Duration, power: number, by = hourly.length): JobShare => ({
  power: power as Kilowatt,
  job: {
    horizon: buildHorizon(START, hourly),
    now: START,
    from: START,
    by: (START + by * hours(1)) as Instant,
    remaining: need,
    minOn: minutes(0),
    minOff: minutes(0),
    startCost: 0,
    maxStarts: 9,
    running: false,
    age: hours(9),
  },
});

const hoursOf = (runs: readonly { from: number; to: number }[] = []) =>
  runs.map(({ from, to }) => `${(from - START) / 3_600_000}-${(to - START) / 3_600_000}`).join(' ');

describe('several jobs under one power budget', () => {
  const hourly = [50, 10, 20, 50, 50];

  it('share the best hour when the power suffices for both', () => {
    const { plans, cost, lowerBound } = planSite(
      [share(hourly, hours(1), 4), share(hourly, hours(1), 3)],
      7 as Kilowatt,
    );
    expect(plans.map((plan) => hoursOf(plan?.runs))).toEqual(['1-2', '1-2']);
    expect(cost).toBe(lowerBound);
  });

  it('the larger one has the best hour when it does not, and the gap to the lower bound is told', () => {
    const { plans, cost, lowerBound } = planSite(
      [share(hourly, hours(1), 3), share(hourly, hours(1), 4)],
      6 as Kilowatt,
    );
    expect(plans.map((plan) => hoursOf(plan?.runs))).toEqual(['2-3', '1-2']);
    expect([cost, lowerBound]).toEqual([20 * 3 + 10 * 4, 10 * 3 + 10 * 4]);
  });

  it('the one in a hurry goes first when only that serves both', () => {
    const { plans } = planSite([share(hourly, hours(2), 4), share(hourly, hours(2), 4, 2)], 6 as Kilowatt);
    expect(plans.map((plan) => hoursOf(plan?.runs))).toEqual(['2-4', '0-2']);
  });

  it('never draws more than the budget at any instant, over random sites', () => {
    const random = createSeededFractions(9);
    for (let i = 0; i < 150; i++) {
      const shares = Array.from({ length: 3 }, () =>
        share(
          Array.from({ length: 12 }, () => Math.round(random() * 500)),
          minutes(20 + random() * 200),
          2 + random() * 5,
        ),
      );
      const budget = 8 as Kilowatt;
      const { plans, cost, lowerBound } = planSite(shares, budget);
      expect(plans.every((plan) => plan !== undefined)).toBe(true);
      expect(cost).toBeGreaterThanOrEqual(lowerBound - 1e-6);
      const edges = plans.flatMap((plan) => plan?.runs.map(({ from }) => from) ?? []);
      for (const edge of edges) {
        const drawn = plans.reduce((sum, plan, j) => {
          const runs = plan?.runs.some(({ from, to }) => from <= edge && edge < to) ?? false;
          return runs ? sum + (shares[j]?.power ?? 0) : sum;
        }, 0);
        expect(drawn).toBeLessThanOrEqual(budget + 1e-9);
      }
    }
  });
});
