/** Rolling windows are exact: held against a list of every event. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRollingWindows } from '../../src/reference/accounts/rolling-window.ts';

describe('a rolling window', () => {
  it('lets through exactly what a list of all events would', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 40 }),
        fc.array(fc.integer({ min: 0, max: 30 }), { maxLength: 300 }),
        (limit, steps) => {
          const windows = createRollingWindows(limit, 100);
          const passed: number[] = [];
          let now = 0;
          for (const step of steps) {
            now += step;
            const inside = passed.filter((at) => now - at < 100);
            const wait = windows.countOrWait('a', now);
            expect(wait === undefined).toBe(inside.length < limit);
            if (wait === undefined) passed.push(now);
            else expect(wait).toBe((inside[0] ?? 0) + 100 - now);
          }
        },
      ),
    );
  });
  it('counts names apart', () => {
    const windows = createRollingWindows(1, 100);
    expect(windows.countOrWait('a', 0)).toBeUndefined();
    expect(windows.countOrWait('b', 0)).toBeUndefined();
    expect(windows.countOrWait('a', 40)).toBe(60);
  });
});
