/** No order of calls, however slow the network, ever shows the service more requests in a window than it allows. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Duration, minutes, type Uptime } from '../../src/domain/units.ts';
import { computeDeviceLimit, createRequestWindow } from '../../src/service/limits/request-window.ts';

const WINDOW = minutes(5);

interface Run {
  readonly limit: number;
  /** For each attempt: how long after the last it comes (or as long as the budget tells), how long it lasts, and at which part of that the service sees it. */
  readonly attempts: readonly (readonly [gap: number | 'as told', lasts: number, arrives: number])[];
}

/** Times at which the service sees a request, when every one that fits is sent. */
function arrivals({ limit, attempts }: Run): number[] {
  const budget = createRequestWindow(limit, WINDOW);
  const seen: number[] = [];
  let open: { readonly at: number; readonly end: () => void }[] = [];
  let now = 0;
  const endUntil = (time: number) => {
    for (const one of open.filter(({ at }) => at <= time).sort((a, b) => a.at - b.at)) one.end();
    open = open.filter(({ at }) => at > time);
  };
  for (const [gap, lasts, arrives] of attempts) {
    now += gap === 'as told' ? budget.computeWait(now as Uptime) : gap;
    endUntil(now);
    if (budget.computeWait(now as Uptime) > 0) continue;
    const place = budget.reserve(now as Uptime);
    const at = now + lasts;
    seen.push(now + lasts * arrives);
    open.push({ at, end: () => place.ended(at as Uptime) });
  }
  return seen.sort((a, b) => a - b);
}

const most = (times: readonly number[]) =>
  Math.max(0, ...times.map((from) => times.filter((t) => t >= from && t < from + WINDOW).length));

describe('the budget', () => {
  it('is never passed, in any window, by any interleaving', () => {
    const attempt = fc.tuple(
      fc.oneof(fc.nat(2_000), fc.nat(120_000), fc.constant('as told' as const)),
      fc.oneof(fc.nat(50), fc.nat(30_000)),
      fc.double({ min: 0, max: 1, noNaN: true }),
    );
    fc.assert(
      fc.property(
        fc.record({ limit: fc.integer({ min: 1, max: 12 }), attempts: fc.array(attempt, { maxLength: 120 }) }),
        (run) => most(arrivals(run)) <= run.limit,
      ),
      { numRuns: 1_000 },
    );
  });

  it('gives all of it: 3,000 requests at once, and the next when the first is 5 minutes old', () => {
    const budget = createRequestWindow(3_000, WINDOW);
    for (let i = 0; i < 3_000; i++) {
      expect(budget.computeWait(i as Uptime)).toBe(0);
      budget.reserve(i as Uptime).ended(i as Uptime);
    }
    expect(budget.computeWait(3_000 as Uptime)).toBe(WINDOW - 3_000 + 1);
    expect(budget.computeWait(WINDOW as number as Uptime)).toBe(1);
    expect(budget.computeWait((WINDOW + 1) as Uptime)).toBe(0);
  });

  it('a request under way keeps its place, however long it lasts', () => {
    const budget = createRequestWindow(1, WINDOW);
    const place = budget.reserve(0 as Uptime);
    expect(budget.computeWait((10 * WINDOW) as Uptime)).toBeGreaterThan(0);
    place.ended((10 * WINDOW) as Uptime);
    place.ended((10 * WINDOW) as Uptime);
    expect(budget.computeWait((11 * WINDOW + 1) as Uptime)).toBe(0 as Duration);
  });

  it('is divided by the fleet', () => {
    expect([1, 7, 1_000, 5_000].map((fleet) => computeDeviceLimit(3_000, fleet))).toEqual([3_000, 428, 3, 1]);
  });
});
