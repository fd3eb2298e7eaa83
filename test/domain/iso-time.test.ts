import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseInstant } from '../../src/domain/iso-time.ts';
import { formatInstant, type Instant } from '../../src/domain/units.ts';

it('what is written can be read: every second of the years 100 to 9999', () => {
  const first = new Date(0).setUTCFullYear(100, 0, 1);
  const seconds = fc.integer({ min: first / 1_000, max: Date.UTC(9999, 11, 31) / 1_000 });
  fc.assert(
    fc.property(seconds, (second) => {
      expect(parseInstant(formatInstant((second * 1_000) as Instant))).toBe(second * 1_000);
    }),
  );
});

it('a year of the first century is none of the last', () => {
  expect(parseInstant('0026-03-01T12:00:00+00:00')).toBeUndefined();
});
