/** Many houses with one signal do not start together: their starts by the minute, after an index and after a forecast that all receive at once. */

import { describe, expect, it } from 'vitest';
import type { LoadConfig } from '../../src/domain/load-types.ts';
import { addDuration, hours, minutes } from '../../src/domain/units.ts';
import { buildHorizon, buildSite, ControlBench, carLoad, instantFrom, tankLoad } from '../control/control-setup.ts';

const EVENING = instantFrom('2026-06-04T01:00:00Z');
const SPREAD = minutes(5);

/** One house, until its load has started. */
function createBench(device: number, load: LoadConfig): ControlBench {
  return new ControlBench({ ...buildSite(load), device: `house-${device}` }, EVENING);
}

/** How many houses start in each minute from the first start on. */
function countStarts(benches: readonly ControlBench[]): number[] {
  const starts = benches.map(({ switches }) => switches.find(({ level }) => level === 'on')?.at ?? Number.NaN);
  const first = Math.min(...starts);
  const counts: number[] = [];
  for (const at of starts) {
    const minute = Math.floor((at - first) / minutes(1));
    counts[minute] = (counts[minute] ?? 0) + 1;
  }
  return counts;
}

describe('starts of many houses', () => {
  it('2,000 tanks after a clean index: spread over five minutes, evenly', () => {
    const load = tankLoad({ startSpread: SPREAD, failSafe: 'off' });
    const benches = Array.from({ length: 2_000 }, (_, device) => {
      const bench = createBench(device, load);
      for (const value of [80, 10, 10, 10]) {
        bench.index(value);
        bench.runFor(minutes(5));
      }
      return bench;
    });
    const counts = countStarts(benches);
    const mean = benches.length / (SPREAD / minutes(1));
    expect(counts.reduce((sum, n) => sum + n)).toBe(2_000);
    expect(Math.max(...counts)).toBeLessThanOrEqual(1.2 * mean);
  });

  it('200 cars that plan by one forecast', () => {
    const load = carLoad({ startSpread: SPREAD });
    const hourly = [80, 90, 90, 70, 60, 50, 40, 20, 20, 20, 20, 40, 60, 70, 70, 70, 60, 50, 40, 30, 30, 50, 70, 90];
    const benches = Array.from({ length: 200 }, (_, device) => {
      const bench = createBench(device, load);
      bench.sendSignal({ horizon: buildHorizon(EVENING, hourly) });
      bench.runUntil(addDuration(EVENING, hours(12)));
      return bench;
    });
    const counts = countStarts(benches);
    const mean = benches.length / (SPREAD / minutes(1));
    expect(counts.reduce((sum, n) => sum + n)).toBe(200);
    expect(Math.max(...counts)).toBeLessThanOrEqual(2 * mean);
  });
});
