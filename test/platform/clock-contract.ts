/** What every clock promises: the machine's, the scaled and the virtual one. */

import { describe, expect, it } from 'vitest';
import type { Clock } from '../../src/domain/ports.ts';
import { addDuration, milliseconds } from '../../src/domain/units.ts';

export interface ClockUnderTest {
  readonly clock: Clock & { waiting(): readonly string[] };
  /** Lets time pass until `condition` holds. */
  readonly until: (condition: () => boolean) => Promise<void>;
}

export function describeClock(name: string, open: () => ClockUnderTest) {
  describe(`${name} keeps the contract of a clock`, () => {
    /** Steps from one moment: read anew for each wake-up, it would order them by how busy the machine is. */
    const createSteps = (clock: Clock) => {
      const from = clock.now().uptime;
      return (steps: number) => addDuration(from, milliseconds(steps * 20));
    };

    it('wakes in order of time, never early', async () => {
      const { clock, until } = open();
      const woken: string[] = [];
      const stepAt = createSteps(clock);
      const wake = (steps: number) => {
        const at = stepAt(steps);
        clock.wakeAt(at, `step ${steps}`, () => woken.push(`${steps} ${clock.now().uptime >= at ? 'due' : 'early'}`));
      };
      [3, 1, 2].forEach(wake);
      expect(clock.waiting()).toEqual(['step 1', 'step 2', 'step 3']);
      await until(() => woken.length === 3);
      expect(woken).toEqual(['1 due', '2 due', '3 due']);
      expect(clock.waiting()).toEqual([]);
    });

    it('wakes once for a time that is past, but not before the asker has gone on', async () => {
      const { clock, until } = open();
      const seen: string[] = [];
      clock.wakeAt(addDuration(clock.now().uptime, milliseconds(-5_000)), 'past', () => seen.push('woken'));
      seen.push('asked');
      await until(() => seen.length === 2);
      expect(seen).toEqual(['asked', 'woken']);
    });

    it('a cancelled wake-up never runs; cancelling twice or after it ran is nothing', async () => {
      const { clock, until } = open();
      const stepAt = createSteps(clock);
      const seen: string[] = [];
      const cancel = clock.wakeAt(stepAt(1), 'cancelled', () => seen.push('cancelled'));
      const ran = clock.wakeAt(stepAt(2), 'kept', () => seen.push('kept'));
      cancel();
      cancel();
      expect(clock.waiting()).toEqual(['kept']);
      await until(() => seen.length > 0);
      ran();
      expect(seen).toEqual(['kept']);
    });

    it('what is woken may ask for the next and take back another', async () => {
      const { clock, until } = open();
      const stepAt = createSteps(clock);
      const seen: string[] = [];
      const other = clock.wakeAt(stepAt(3), 'other', () => seen.push('other'));
      clock.wakeAt(stepAt(1), 'first', () => {
        other();
        clock.wakeAt(stepAt(4), 'second', () => seen.push('second'));
      });
      await until(() => seen.length > 0);
      expect(seen).toEqual(['second']);
    });

    it('uptime never runs backwards, and the wall goes with it', async () => {
      const { clock, until } = open();
      const stepAt = createSteps(clock);
      const first = clock.now();
      let last = first;
      let woken = 0;
      for (const steps of [1, 2, 3])
        clock.wakeAt(stepAt(steps), `step ${steps}`, () => {
          const now = clock.now();
          expect(now.uptime).toBeGreaterThanOrEqual(last.uptime);
          last = now;
          woken += 1;
        });
      await until(() => woken === 3);
      expect(last.wall).toBeGreaterThan(first.wall);
    });

    it('waits months without a word', async () => {
      const { clock, until } = open();
      const stepAt = createSteps(clock);
      const warnings: string[] = [];
      const listen = (warning: Error) => warnings.push(warning.name);
      process.on('warning', listen);
      const seen: string[] = [];
      const cancel = clock.wakeAt(addDuration(clock.now().uptime, milliseconds(5e12)), 'far', () => seen.push('far'));
      clock.wakeAt(stepAt(1), 'near', () => seen.push('near'));
      await until(() => seen.length > 0);
      cancel();
      process.off('warning', listen);
      expect(seen).toEqual(['near']);
      expect(warnings).toEqual([]);
    });
  });
}
