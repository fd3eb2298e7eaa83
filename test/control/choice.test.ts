/** How uncertain values ahead count in a plan: waiting is worth something to whoever may still choose. */

import { describe, expect, it } from 'vitest';
import { planJob } from '../../src/control/planning/schedule-job.ts';
import { hours, type Instant, minutes } from '../../src/domain/units.ts';
import { buildHorizon, instantFrom } from './control-setup.ts';

const START = instantFrom('2026-06-04T00:00:00Z');
const DAY = 24;

/** The hour the first run of a plan for `need` hours begins in; 500 all day but for the first hour. */
function begins(need: number, first: number, spread: readonly number[] | undefined): number {
  const hourly = Array.from({ length: DAY }, (_, hour) => (hour === 0 ? first : 500));
  const plan = planJob({
    horizon: buildHorizon(START, hourly, spread === undefined ? {} : { uncertainty: spread }),
    now: START,
    from: START,
    by: (START + DAY * hours(1)) as Instant,
    remaining: hours(need),
    minOn: minutes(0),
    minOff: minutes(0),
    startCost: 1,
    maxStarts: 9,
    running: false,
    age: hours(9),
  });
  return ((plan?.runs[0]?.from ?? Number.NaN) - START) / hours(1);
}

/** Certain for 3 hours, then off by 200. */
const later = [...Array<number>(36).fill(0), 200];

/** As late as its answers come, it knows the present to 160 only. */
const late = [...Array<number>(36).fill(160), 200];

describe('a plan from values that may be off', () => {
  it.each([
    // need  first hour  spread     begins  why
    [1, 500, undefined, 0, 'all equal: it is done with it first'],
    [1, 500, later, 3, 'it may yet find better, and waits for it'],
    [1, 470, later, 3, 'the chance is worth more than 30'],
    [1, 350, later, 0, 'but not 150'],
    [1, 500, [200], 0, 'equally uncertain: nothing to wait for'],
    [1, 470, late, 3, 'off by 200 far ahead and by 160 when it comes: 120 will turn out until then'],
    [1, 450, late, 0, 'and that is not worth 50'],
    [12, 500, later, 0, 'half of the time is needed: as good as its mean'],
    [20, 500, later, 0, 'hardly any choice: what is certain is worth more'],
  ] as const)('%d h, %d now, spread %j: begins after %d h: %s', (...row) => {
    const [need, first, spread, hour] = row;
    expect(begins(need, first, spread)).toBe(hour);
  });

  it('a job with hardly any choice leaves out what may be dirtiest', () => {
    const early = [...Array<number>(36).fill(200), 0];
    expect(begins(20, 500, early)).toBe(3);
  });
});
