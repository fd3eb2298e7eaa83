/** The process's own zone: Date says what Intl says, and a zone Date does not know is left to Intl. */

import { afterAll, describe, expect, it } from 'vitest';
import { getZoneOffset } from '../../src/domain/time-zone.ts';
import { setProcessTimezone } from '../../src/platform/process-timezone.ts';

const before = process.env.TZ;
afterAll(() => {
  if (before === undefined) delete process.env.TZ;
  else process.env.TZ = before;
});

function intlOffset(timezone: string, at: number): number {
  const text = new Intl.DateTimeFormat('en', { timeZone: timezone, timeZoneName: 'longOffset' }).format(at);
  const [, sign = '+', hours = '0', minutes = '0'] = /GMT(?:([+-])(\d\d):(\d\d))?$/.exec(text) ?? [];
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
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
  ];
  it.each(zones)('%s', (zone) => {
    setProcessTimezone(zone);
    for (let at = Date.UTC(2019, 0, 1); at < Date.UTC(2036, 0, 1); at += 9 * DAY + 900_000)
      expect(getZoneOffset(zone, at), new Date(at).toISOString()).toBe(intlOffset(zone, at));
    // Each quarter hour about the changes of one year.
    for (let at = Date.UTC(2026, 2, 1); at < Date.UTC(2026, 3, 10); at += 900_000)
      expect(getZoneOffset(zone, at)).toBe(0 - new Date(at).getTimezoneOffset() * 60_000);
  });
});

describe('a name', () => {
  it('nobody knows is refused, not taken for UTC', () => {
    setProcessTimezone('America/Los_Angles');
    expect(() => getZoneOffset('America/Los_Angles', 0)).toThrow(RangeError);
  });

  it('of another zone is still known', () => {
    setProcessTimezone('America/Los_Angeles');
    expect(getZoneOffset('Europe/Berlin', Date.UTC(2026, 6, 1))).toBe(7_200_000);
  });
});
