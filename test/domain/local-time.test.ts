import { describe, expect, it } from 'vitest';
import {
  checkWindow,
  findNextDeadline,
  findPreviousOccurrence,
  formatClockTime,
  toInstant,
  toLocalTime,
} from '../../src/domain/local-time.ts';
import { toLocalDay } from '../../src/domain/time-zone.ts';
import { days, type Instant } from '../../src/domain/units.ts';
import { daily, instantFrom } from '../control/control-setup.ts';

const dayOf = (date: string) => Date.parse(`${date}T00:00:00Z`) / days(1);
const clock = (text: string) => Number(text.slice(0, 2)) * 60 + Number(text.slice(3));

describe('a local time of day as an instant', () => {
  //  zone                    date          local    instant
  const rows = [
    ['America/Los_Angeles', '2026-06-03', '07:00', '2026-06-03T14:00:00Z'],
    ['America/Los_Angeles', '2026-03-08', '02:30', '2026-03-08T10:00:00Z'], // missing: the first instant after the gap
    ['America/Los_Angeles', '2026-03-08', '02:00', '2026-03-08T10:00:00Z'],
    ['America/Los_Angeles', '2026-03-08', '03:00', '2026-03-08T10:00:00Z'],
    ['America/Los_Angeles', '2026-11-01', '01:30', '2026-11-01T08:30:00Z'], // doubled: the first
    ['America/Los_Angeles', '2026-11-01', '02:00', '2026-11-01T10:00:00Z'],
    ['Europe/Berlin', '2026-03-29', '02:15', '2026-03-29T01:00:00Z'],
    ['Europe/Berlin', '2026-10-25', '02:15', '2026-10-25T00:15:00Z'],
    ['Australia/Lord_Howe', '2026-10-04', '02:10', '2026-10-03T15:30:00Z'], // a gap of half an hour
    ['Australia/Lord_Howe', '2026-04-05', '01:45', '2026-04-04T14:45:00Z'],
    ['America/Santiago', '2026-09-06', '00:00', '2026-09-06T04:00:00Z'], // midnight itself is missing
    ['Asia/Kathmandu', '2026-06-03', '00:00', '2026-06-02T18:15:00Z'],
    ['UTC', '2026-06-03', '23:59', '2026-06-03T23:59:00Z'],
    ['Pacific/Apia', '2011-12-30', '12:00', '2011-12-30T10:00:00Z'], // a whole day is missing
  ] as const;
  it.each(rows)('%s %s %s is %s', (zone, date, local, instant) => {
    expect(toInstant(zone, dayOf(date), clock(local))).toBe(instantFrom(instant));
  });

  it('is the inverse of the local clock, all year, in all these zones', () => {
    for (const zone of new Set(rows.map(([name]) => name)))
      for (
        let t = instantFrom('2026-01-01T00:00:00Z') as number;
        t < instantFrom('2027-01-01T00:00:00Z');
        t += 5 * 3_600_000 + 900_000
      ) {
        const there = t as Instant;
        const back = toInstant(zone, toLocalDay(zone, there), toLocalTime(zone, there));
        // In a doubled hour the first of the two is meant.
        expect([0, 1_800_000, 3_600_000]).toContain(t - back);
      }
  });
});

describe('deadlines and windows', () => {
  const weekdays = [undefined, 420, 420, 420, 420, 420, 540] as const;
  //  now                        next deadline
  const rows = [
    ['2026-06-03T13:59:59Z', '2026-06-03T14:00:00Z'],
    ['2026-06-03T14:00:00Z', '2026-06-04T14:00:00Z'],
    ['2026-06-05T20:00:00Z', '2026-06-06T16:00:00Z'], // Saturday until nine
    ['2026-06-06T17:00:00Z', '2026-06-08T14:00:00Z'], // none on Sunday
  ] as const;
  it.each(rows)('from %s: %s', (now, next) => {
    expect(findNextDeadline('America/Los_Angeles', weekdays, instantFrom(now))).toBe(instantFrom(next));
  });
  it('no weekday, no deadline', () => {
    expect(findNextDeadline('UTC', [], instantFrom('2026-06-03T13:59:59Z'))).toBeUndefined();
  });
  it('the clock going forward takes an hour from the night, not from the morning', () => {
    const by = findNextDeadline('America/Los_Angeles', daily(420), instantFrom('2026-03-08T04:00:00Z'));
    expect(by).toBe(instantFrom('2026-03-08T14:00:00Z'));
    expect(findPreviousOccurrence('America/Los_Angeles', 1080, by ?? (0 as Instant))).toBe(
      instantFrom('2026-03-08T02:00:00Z'),
    );
  });

  const night = { from: clock('22:00'), to: clock('06:00') };
  //  now                        inside   until
  const windows = [
    ['2026-06-04T04:59:00Z', false, '2026-06-04T05:00:00Z'],
    ['2026-06-04T05:00:00Z', true, '2026-06-04T13:00:00Z'],
    ['2026-06-04T12:59:00Z', true, '2026-06-04T13:00:00Z'],
    ['2026-06-04T13:00:00Z', false, '2026-06-05T05:00:00Z'],
  ] as const;
  it.each(windows)('22:00 to 06:00 at %s: %s until %s', (now, inside, until) => {
    expect(checkWindow('America/Los_Angeles', night, instantFrom(now))).toEqual({
      inside,
      changesAt: instantFrom(until),
    });
  });

  it('a time on another day carries its weekday', () => {
    const now = instantFrom('2026-06-04T05:00:00Z');
    expect(formatClockTime('America/Los_Angeles', instantFrom('2026-06-04T06:05:00Z'), now)).toBe('23:05');
    expect(formatClockTime('America/Los_Angeles', instantFrom('2026-06-04T08:05:00Z'), now)).toBe('Thu 01:05');
  });
});
