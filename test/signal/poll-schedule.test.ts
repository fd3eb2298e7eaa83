/** When to ask next. */

import { describe, expect, it } from 'vitest';
import { days, inMinutes, minutes } from '../../src/domain/units.ts';
import { scheduleNextPoll } from '../../src/signal/poll-schedule.ts';
import { createSignalData, withForecast } from '../../src/signal/signal-store.ts';
import { buildForecast, momentAt, risingValues } from './signal-samples.ts';

const data = withForecast(createSignalData('CAISO_NORTH'), buildForecast(0, risingValues(24)), momentAt(0)).signal;
const hourlyIssues = withForecast(
  createSignalData('CAISO_NORTH'),
  buildForecast(0, risingValues(24), { generatedPeriod: minutes(60) }),
  momentAt(0),
).signal;
const minute = 1 / 60;

describe('the next request', () => {
  //  case                          ask          held          asked at      now          phase  minutes
  const rows = [
    ['never asked', 'forecast', data, undefined, 0, 0, 0],
    ['next issue', 'forecast', data, 0.1 * minute, 0.1 * minute, 0, 4.983],
    ['this agent comes later', 'forecast', data, 0.1 * minute, 0.1 * minute, 0.5, 1.233],
    ['half of the period at most', 'forecast', data, 3 * minute, 3 * minute, 0.999, 4.581],
    ['the issue is there already', 'forecast', data, 0.1 * minute, 6 * minute, 0, 0],
    ['hourly issues', 'forecast', hourlyIssues, 0.1 * minute, 0.1 * minute, 0, 59.983],
    ['index with the forecast', 'live-index', data, 0.1 * minute, 0.1 * minute, 0, 4.983],
  ] as const;
  it.each(rows)('%s', (_, ask, data, askedAt, now, phase, wanted) => {
    const asked = askedAt === undefined ? undefined : { at: momentAt(askedAt) };
    expect(inMinutes(scheduleNextPoll(ask, data, asked, momentAt(now), phase))).toBeCloseTo(wanted, 2);
  });

  it('after a failure it keeps the wait given', () => {
    const asked = { at: momentAt(0), wait: minutes(30) };
    expect(inMinutes(scheduleNextPoll('forecast', data, asked, momentAt(20 * minute), 0))).toBeCloseTo(10, 9);
    expect(scheduleNextPoll('forecast', data, asked, momentAt(31 * minute), 0)).toBe(0);
  });

  it('a clock set back by a year does not silence it', () => {
    const jumped = { ...momentAt(minute), wall: (momentAt(minute).wall - days(365)) as typeof asked.at.wall };
    const asked = { at: momentAt(0) };
    expect(inMinutes(scheduleNextPoll('forecast', data, asked, jumped, 0))).toBeLessThanOrEqual(5);
  });

  it('asks once a period, for a day, whatever the phase', () => {
    for (const phase of [0, 0.3, 0.77, 0.9999]) {
      let count = 0;
      let now = momentAt(0);
      for (; now.wall < momentAt(24).wall; count++) {
        const wait = Math.max(1, scheduleNextPoll('forecast', data, { at: now }, now, phase));
        now = { ...now, wall: (now.wall + wait) as typeof now.wall, uptime: (now.uptime + wait) as typeof now.uptime };
      }
      expect(Math.abs(count - 288)).toBeLessThanOrEqual(1);
    }
  });
});
