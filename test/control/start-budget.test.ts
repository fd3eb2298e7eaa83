/** How many starts a plan may use, as those of the last day grow old. */

import { describe, expect, it } from 'vitest';
import { planJob } from '../../src/control/planning/schedule-job.ts';
import { computeStartAllowance } from '../../src/control/rules/start-budget.ts';
import { createInitialState } from '../../src/control/state/control-state.ts';
import { hours, type Instant, minutes, type Uptime } from '../../src/domain/units.ts';
import { buildHorizon, buildSite, heatingLoad, instantFrom } from './control-setup.ts';

const NOW = hours(100) as number as Uptime;
const pump = heatingLoad({ maxStartsPerDay: 4 });
/** Hours from now to uptimes. */
const times = (list: readonly number[]) => list.map((hour) => (NOW + hour * hours(1)) as Uptime);

function toPlan(past: readonly number[], pending = false) {
  const [state] = createInitialState(buildSite(pump), undefined, 'other-boot').loads;
  if (state === undefined) throw new Error('no load');
  return computeStartAllowance(pump, { ...state, starts: times(past) }, NOW, pending);
}

describe('the starts of a plan, at most 4 a day and one of them for the deadline guard', () => {
  it.each([
    // past           pending  sure  planned      fit
    [[], false, 3, [1, 5, 9], true],
    [[], false, 3, [1, 5, 9, 13], false],
    [[], false, 3, [1, 5, 9, 25], true], // the first is a day old by the fourth
    [[-20, -10], false, 1, [1], true],
    [[-20, -10], false, 1, [1, 3], false],
    [[-20, -10], false, 1, [1, 4], true], // the one 20 hours ago is a day old at 4
    [[-20, -10, -5], false, 1, [1], false], // the last of the day is sure, and no plan may count on leaving one
    [[-20, -10, -5], false, 1, [4, 14], true],
    [[-20, -10, -5, -1], false, 0, [1], false],
    [[-20], true, 1, [4, 8], true],
    [[-20], true, 1, [2, 3], false],
  ] as const)('%j, pending %j: %d sure, %j fit: %j', (...row) => {
    const [past, pending, sure, planned, fits] = row;
    const starts = toPlan(past, pending);
    expect([starts.guaranteed, starts.maximum, starts.fits(times(planned))]).toEqual([sure, 3, fits]);
  });

  const START = instantFrom('2026-06-04T00:00:00Z');
  const runs = (fitFrom: number) => {
    const plan = planJob({
      horizon: buildHorizon(START, [50, 10, 50, 50, 10, 50, 12, 50]),
      now: START,
      from: START,
      by: (START + hours(8)) as Instant,
      remaining: hours(2),
      minOn: minutes(30),
      minOff: minutes(15),
      startCost: 1,
      maxStarts: 1,
      extraStarts: {
        maximum: 3,
        fits: (starts) => starts.slice(1).every((start) => start >= START + fitFrom * hours(1)),
      },
      running: false,
      age: hours(9),
    });
    return plan?.runs.map(({ from, to }) => `${(from - START) / hours(1)}-${(to - START) / hours(1)}`).join(' ');
  };
  it('a second start is planned where it fits', () => expect(runs(4)).toBe('1-2 4-5'));
  it('and not where it would not', () => expect(runs(5)).toBe('0-2'));
});
