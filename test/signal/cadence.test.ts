/** When to ask next. */

import { describe, expect, it } from 'vitest';
import { nextAsk } from '../../src/signal/cadence.ts';
import { emptyHeld, withForecast } from '../../src/signal/held.ts';
import { days, inMinutes, minutes } from '../../src/units.ts';
import { forecast, moment, rising } from './samples.ts';

const held = withForecast(emptyHeld('CAISO_NORTH'), forecast(0, rising(24)), moment(0)).held;
const hourlyIssues = withForecast(
  emptyHeld('CAISO_NORTH'),
  forecast(0, rising(24), { generatedPeriod: minutes(60) }),
  moment(0),
).held;
const minute = 1 / 60;

describe('the next request', () => {
  //  case                          ask          held          asked at      now          phase  minutes
  const rows = [
    ['never asked', 'forecast', held, undefined, 0, 0, 0],
    ['next issue', 'forecast', held, 0.1 * minute, 0.1 * minute, 0, 4.983],
    ['this device comes later', 'forecast', held, 0.1 * minute, 0.1 * minute, 0.5, 1.233],
    ['half of the period at most', 'forecast', held, 3 * minute, 3 * minute, 0.999, 4.581],
    ['the issue is there already', 'forecast', held, 0.1 * minute, 6 * minute, 0, 0],
    ['hourly issues', 'forecast', hourlyIssues, 0.1 * minute, 0.1 * minute, 0, 59.983],
    ['index with the forecast', 'live-index', held, 0.1 * minute, 0.1 * minute, 0, 4.983],
    ['map', 'map', held, 0, 24, 0, 26 * 24 * 60],
    ['plan', 'access', held, 0, 1, 0, 23 * 60],
  ] as const;
  it.each(rows)('%s', (_, ask, data, askedAt, now, phase, wanted) => {
    const asked = askedAt === undefined ? undefined : { at: moment(askedAt) };
    expect(inMinutes(nextAsk(ask, data, asked, moment(now), phase))).toBeCloseTo(wanted, 2);
  });

  it('after a failure it keeps the wait given', () => {
    const asked = { at: moment(0), wait: minutes(30) };
    expect(inMinutes(nextAsk('forecast', held, asked, moment(20 * minute), 0))).toBeCloseTo(10, 9);
    expect(nextAsk('forecast', held, asked, moment(31 * minute), 0)).toBe(0);
  });

  it('a clock set back by a year does not silence it', () => {
    const jumped = { ...moment(minute), wall: (moment(minute).wall - days(365)) as typeof asked.at.wall };
    const asked = { at: moment(0) };
    expect(inMinutes(nextAsk('forecast', held, asked, jumped, 0))).toBeLessThanOrEqual(5);
  });

  it('asks once a period, for a day, whatever the phase', () => {
    for (const phase of [0, 0.3, 0.77, 0.9999]) {
      let count = 0;
      let now = moment(0);
      for (; now.wall < moment(24).wall; count++) {
        const wait = Math.max(1, nextAsk('forecast', held, { at: now }, now, phase));
        now = { ...now, wall: (now.wall + wait) as typeof now.wall, uptime: (now.uptime + wait) as typeof now.uptime };
      }
      expect(Math.abs(count - 288)).toBeLessThanOrEqual(1);
    }
  });
});
