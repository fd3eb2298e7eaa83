/** What a job's plan makes of a slot that has begun, and what it costs. */

import { describe, expect, it } from 'vitest';
import { type JobRequest, planJob } from '../../src/control/planning/schedule-job.ts';
import { addDuration, hours, minutes } from '../../src/domain/units.ts';
import { buildHorizon, instantFrom } from './control-setup.ts';

const START = instantFrom('2026-06-04T00:00:00Z');
const at = (hour: number) => addDuration(START, hours(hour));

/** By the end of the hourly values. */
function plan(hourly: readonly number[], over: Partial<JobRequest>) {
  const made = planJob({
    ...{ horizon: { ...buildHorizon(START, hourly), period: hours(1), values: hourly }, now: START, from: START },
    ...{ by: at(hourly.length), remaining: hours(1), minOn: minutes(0), minOff: minutes(0), startCost: 0 },
    ...{ maxStarts: 9, running: false, age: hours(9), ...over },
  });
  const hourOf = (time: number) => (time - START) / hours(1);
  return { runs: made?.runs.map(({ from, to }) => `${hourOf(from)}-${hourOf(to)}`).join(' '), cost: made?.cost };
}

describe('a plan made at half past', () => {
  //  hourly values    asked                                        runs     why
  const rows: readonly (readonly [readonly number[], Partial<JobRequest>, string | undefined, string])[] = [
    [[1, 9, 9], { remaining: minutes(30) }, '0.5-1', 'it begins within the hour'],
    [[1, 2, 9], {}, '0.5-1.5', 'it goes on beyond it'],
    [[1, 9, 1], { remaining: minutes(90) }, '0.5-1 2-3', 'it pauses where that is cheaper'],
    [[1, 5, 9], { from: at(1) }, '1-2', 'not before the time from which it may run'],
    [[9, 1, 5, 9], { age: minutes(0), minOff: hours(1) }, '2-3', 'a pause just begun lasts until half past one'],
    [[9, 1, 5, 9], { age: minutes(30), minOff: hours(1) }, '1-2', 'one begun with the hour ends with the hour'],
    [[9, 5, 1], { running: true, age: minutes(0), minOn: hours(1) }, '0.5-1.5', 'a run just begun is served'],
    [
      [1, 1, 5],
      { minOn: hours(1), remaining: minutes(15), isSlotOccupied: (slot: number) => slot === at(1) },
      '2-3',
      'its minimum time would run into an hour that is occupied',
    ],
    [[1, 9, 9], { maxStarts: 0 }, undefined, 'without a start left there is none'],
  ];
  it.each(rows)('%j, %j: %s, %s', (hourly, over, runs) => {
    expect(plan(hourly, { now: at(0.5), ...over }).runs).toBe(runs);
  });
});

describe('a part of the job kept for its end', () => {
  it('costs what it costs where the cheapest plan ends with it by itself', () => {
    const prices = [0.1, 0.5, 0.5, 0.2];
    const spans = prices.map((price, i) => ({ from: at(i), to: at(i + 1), price }));
    const job = { horizon: buildHorizon(START, [1, 9, 9, 1]), startCost: 2, pricing: { spans, worth: 20 } };
    const cheapest = plan([1, 9, 9, 1], { ...job, remaining: hours(2) });
    expect(cheapest.runs).toBe('0-1 3-4');
    const kept = plan([1, 9, 9, 1], { ...job, remaining: hours(2), keepLast: hours(1) });
    expect(kept.runs).toBe(cheapest.runs);
    expect(kept.cost).toBeCloseTo(cheapest.cost ?? Number.NaN, 9);
  });
});
