import { describe, expect, it } from 'vitest';
import { findBound } from '../../src/control/planning/cost-bound.ts';
import { planSlots } from '../../src/control/planning/planner.ts';
import { buildPrefixSums } from '../../src/control/planning/prefix-sums.ts';
import { buildSlotCosts } from '../../src/control/planning/slot-costs.ts';
import type { SlotPlan, SlotPlanRequest } from '../../src/control/planning/slot-plan.ts';
import { findBestSchedule, listCheapestByProgress } from './brute-force.ts';
import { buildInstance, createSeededFractions, isBeyondPatterns } from './planner-instances.ts';

const TRIES = 20_000;

const request = (over: Partial<SlotPlanRequest>): SlotPlanRequest => ({
  weights: new Float64Array(0),
  need: 1,
  minOn: 0,
  minOff: 0,
  startCost: 0,
  maxStarts: 99,
  running: false,
  age: 99,
  lastSlot: 1,
  ...over,
});

const words = (plan: SlotPlan | undefined) => plan?.runs.map(({ from, to }) => `${from}-${to}`).join(' ');

describe('the planner', () => {
  //  slots                        asked                                     runs      cost
  const rows = [
    [[5, 1, 5, 1, 5], { need: 2 }, '1-2 3-4', 2],
    [[5, 1, 5, 1, 5], { need: 2, maxStarts: 1 }, '0-2', 6],
    [[5, 1, 5, 1, 5], { need: 2, startCost: 3 }, '1-2 3-4', 8],
    [[5, 1, 5, 1, 5], { need: 2, startCost: 5 }, '0-2', 11],
    [[5, 1, 5, 1, 5], { need: 2, minOn: 2 }, '0-2', 6],
    [[5, 1, 1, 5, 1, 1], { need: 4, minOff: 2 }, '1-5', 8],
    [[9, 1, 9], { need: 1.5 }, '1-2.5', 5.5],
    [[1, 9, 1], { need: 1.5 }, '0-1 2-2.5', 1.5],
    [[9, 9, 1], { need: 1, lastSlot: 0.5 }, '0-1', 9],
    [[9, 9, 1], { need: 0.5, lastSlot: 0.5 }, '2-2.5', 0.5],
    [[1, 1, 9, 0], { need: 1, running: true, age: 1, minOn: 2 }, '0-1', 1],
    [[9, 9, 1, 1], { need: 2, running: true, age: 1, minOn: 2 }, '0-1 2-4', 11],
    [[1, 9, 9, 2], { need: 1, running: false, age: 1, minOff: 2 }, '3-4', 2],
    [[Number.NaN, 5, 6], { need: 1 }, '1-2', 5],
    [[-5, -1, -9], { need: 1 }, '2-3', -9],
    [[4, 4, 4, 4], { need: 2 }, '0-2', 8],
    [[5, 1], { need: 0 }, '', 0],
    [[1, 1], { need: 3 }, undefined, undefined],
    [[1, 1, 1], { need: 1, maxStarts: 0 }, undefined, undefined],
  ] as const;
  it.each(rows)('%j, %j: %s for %s', (weights, asked, runs, cost) => {
    const plan = planSlots(request({ weights: Float64Array.from(weights), ...asked }));
    expect(words(plan)).toBe(runs);
    expect(plan?.cost).toBe(cost);
  });

  it(`agrees with every schedule of ${TRIES} small instances, in cost, starts and finish`, () => {
    const random = createSeededFractions(2026);
    let compared = 0;
    let possible = 0;
    while (compared < TRIES) {
      const one = buildInstance(random, 9);
      if (isBeyondPatterns(one)) continue;
      compared += 1;
      const [plan, best] = [planSlots(one), findBestSchedule(one)];
      const instanceText = JSON.stringify({ ...one, weights: [...one.weights].map(String) });
      if (best === undefined || plan === undefined) {
        expect([plan, best], instanceText).toEqual([undefined, undefined]);
        continue;
      }
      possible += 1;
      if (Math.abs(plan.cost - best.cost) > 1e-9 * Math.max(1, Math.abs(best.cost)))
        expect(plan.cost, instanceText).toBe(best.cost);
      const end = Math.ceil((plan.runs.at(-1)?.to ?? 0) - 1e-9);
      if (plan.starts !== best.starts || end !== best.end)
        expect([plan.starts, end], instanceText).toEqual([best.starts, best.end]);
    }
    expect(possible).toBeGreaterThan(TRIES / 3);
  });

  it('knows in advance what no schedule is cheaper than: no less than the cheapest mean of one below the need and one above it', () => {
    const random = createSeededFractions(7);
    const int = (from: number, to: number) => from + Math.floor(random() * (to - from + 1));
    for (let i = 0; i < 100; i++) {
      const [minOn, minOff, slots] = [int(1, 3), int(1, 3), int(4, 8)];
      const need = int(minOn, slots);
      const one = request({ weights: Float64Array.from({ length: slots }, () => int(0, 99)), need, minOn, minOff });
      const shape = { slots, need, part: 1, minOn, hold: 1, minOff, maxStarts: 9, isCounted: false, wait: 0 };
      const costs = buildSlotCosts(one, shape, buildPrefixSums(one.weights));
      const bound = findBound({ shape, costs, present: { isRunning: false, cost: 0, progress: 0 } });
      const tried = listCheapestByProgress(one);
      const best = tried.get(need) ?? Number.POSITIVE_INFINITY;
      const means = [...tried].flatMap(([less, low]) =>
        [...tried].flatMap(([more, high]) =>
          less < need && more > need ? [low + ((high - low) * (need - less)) / (more - less)] : [],
        ),
      );
      const text = JSON.stringify({ ...one, weights: [...one.weights] });
      expect(bound?.least, text).toBeGreaterThanOrEqual(Math.min(best, ...means) - 1e-6);
      expect(bound?.least, text).toBeLessThanOrEqual(best + 1e-6);
      if (bound?.isReached === true) expect(bound.least, text).toBeCloseTo(best);
    }
  });

  it('16: obeys its rules, and costs no more than at once, as late as possible, or the best single block', () => {
    const random = createSeededFractions(16);
    for (let i = 0; i < 3_000; i++) {
      const slots = 40 + Math.floor(random() * 60);
      const need = 1 + Math.floor(random() * 30);
      const one = request({
        weights: Float64Array.from({ length: slots }, () => Math.round(random() * 800)),
        need,
        minOn: Math.floor(random() * 6),
        minOff: Math.floor(random() * 6),
        maxStarts: 1 + Math.floor(random() * 5),
      });
      const plan = planSlots(one);
      if (plan === undefined) throw new Error('one block always fits');
      expect(plan.runs.length).toBeLessThanOrEqual(one.maxStarts);
      for (const [j, run] of plan.runs.entries()) {
        expect(run.to - run.from).toBeGreaterThanOrEqual(one.minOn);
        const next = plan.runs[j + 1];
        if (next !== undefined) expect(next.from - run.to).toBeGreaterThanOrEqual(Math.max(1, one.minOff));
      }
      expect(plan.runs.at(-1)?.to).toBeLessThanOrEqual(slots);
      const length = Math.max(need, one.minOn);
      const block = (from: number) => one.weights.slice(from, from + length).reduce((sum, w) => sum + w, 0);
      const blocks = Array.from({ length: slots - length + 1 }, (_, from) => block(from));
      expect(plan.cost).toBeLessThanOrEqual(Math.min(...blocks) + 1e-9);
    }
  });
});
