import { expect, it } from 'vitest';
import { type Instant, minutes, type Uptime } from '../../src/domain/units.ts';
import { createClockSkew } from '../../src/service/transport/clock-skew.ts';

const WALL = Date.UTC(2026, 2, 1) as Instant;
const NOW = { wall: WALL, uptime: 0 as Uptime, trusted: true };

//  Date header           skew
const rows: readonly (readonly [string, number | undefined])[] = [
  ['2026-03-01T00:05:00Z', minutes(5) + 500],
  ['9999-12-31T23:59:59Z', undefined],
  ['1970-01-01T00:00:00Z', undefined],
];
it.each(rows)('a Date of %s gives a skew of %s ms', (date, skew) => {
  const clockSkew = createClockSkew();
  clockSkew.record(Date.parse(date) as Instant, NOW, NOW);
  expect(clockSkew.estimate(NOW)).toBe(skew);
});
