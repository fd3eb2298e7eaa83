/** The process's own zone: Date says what Intl says, and a zone Date does not know is left to Intl. */

import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { getZoneOffset, isTimeZone } from '../../src/domain/time-zone.ts';
import { adoptFirstTimezone } from '../../src/platform/process-timezone.ts';

const before = process.env.TZ;
afterAll(() => {
  if (before === undefined) delete process.env.TZ;
  else process.env.TZ = before;
});

function createIntlOffset(timezone: string): (at: number) => number {
  const format = new Intl.DateTimeFormat('en', { timeZone: timezone, timeZoneName: 'longOffset' });
  return (at) => {
    const [, sign = '+', hours = '0', minutes = '0'] = /GMT(?:([+-])(\d\d):(\d\d))?$/.exec(format.format(at)) ?? [];
    return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
  };
}

const DAY = 86_400_000;

describe('the offset in the zone the process lives in', () => {
  const zones = [
    'America/Los_Angeles',
    'Europe/London',
    'Asia/Kathmandu',
    'Australia/Lord_Howe',
    'Africa/Casablanca',
    'UTC',
    'Africa/Abidjan',
    'Etc/GMT-2',
    // Names that ICU lists under another one, and one that Date takes for Irish summer time all year.
    'America/Indiana/Indianapolis',
    'Asia/Kolkata',
    'Eire',
  ];
  it.each(zones)('%s', (zone) => {
    adoptFirstTimezone();
    expect(isTimeZone(zone)).toBe(true);
    const intlOffset = createIntlOffset(zone);
    for (let at = Date.UTC(2019, 0, 1); at < Date.UTC(2036, 0, 1); at += 9 * DAY + 900_000)
      expect(getZoneOffset(zone, at), new Date(at).toISOString()).toBe(intlOffset(at));
    // Each quarter hour about the changes of one year.
    for (let at = Date.UTC(2026, 2, 1); at < Date.UTC(2026, 3, 10); at += 900_000)
      expect(getZoneOffset(zone, at)).toBe(intlOffset(at));
  });
});

describe('a name', () => {
  afterEach(() => vi.restoreAllMocks());

  const noZones = [
    'America/Los_Angles',
    'GMT+5',
    'posixrules',
    '-08:00',
    'posix/Europe/Berlin',
    'Eur0pe/Berlin',
    'Europe//Berlin',
  ];
  it.each(noZones)('%s is refused, not taken for UTC', (name) => {
    adoptFirstTimezone();
    expect(isTimeZone(name)).toBe(false);
    expect(() => getZoneOffset(name, 0)).toThrow(RangeError);
  });

  it('of another zone is still known', () => {
    adoptFirstTimezone();
    getZoneOffset('America/Los_Angeles', 0);
    expect(getZoneOffset('Europe/Berlin', Date.UTC(2026, 6, 1))).toBe(7_200_000);
    expect(process.env.TZ).toBe('America/Los_Angeles');
  });

  it.each(['America/Chicago', 'US/Pacific', 'Europe/Kyiv', 'UTC', 'Etc/GMT+0', 'Etc/Zulu', 'Atlantic/Reykjavik'])(
    '%s is checked and read without a format of Intl',
    (name) => {
      const format = vi.spyOn(Intl, 'DateTimeFormat');
      adoptFirstTimezone();
      expect(isTimeZone(name)).toBe(true);
      getZoneOffset(name, Date.UTC(2026, 6, 1));
      expect(format).not.toHaveBeenCalled();
    },
  );
});
