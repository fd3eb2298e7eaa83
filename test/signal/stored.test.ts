/** Held data to the disk and back. */

import { describe, expect, it } from 'vitest';
import type { Course } from '../../src/signal/course.ts';
import { emptyHeld, type Held, withForecast, withHistory, withLiveIndex } from '../../src/signal/held.ts';
import { fromBytes, toBytes } from '../../src/signal/stored.ts';
import { forecast, history, live, moment, rising } from './samples.ts';

/** Four days of forecasts, an index, and what was learned from them. */
function seenForDays() {
  let held = withHistory(emptyHeld('CAISO_NORTH'), history(-96, rising(96)), moment(0)).held;
  for (let h = 0; h < 50; h++) held = withForecast(held, forecast(h, rising(72)), moment(h)).held;
  return withLiveIndex(held, live(50, 12.5), moment(50)).held;
}
const full = seenForDays();
/** What the course of one day alone needs is left out. */
const kept = ({ rates, indexes, ...rest }: Held) => {
  const course = ({ ahead: _, experience, ...others }: Course) => ({
    ...others,
    experience: { ...experience, origins: [] },
  });
  return { ...rest, ...(rates && { rates: course(rates) }), ...(indexes && { indexes: course(indexes) }) };
};

describe('stored signal data', () => {
  it.each([
    ['all of it', full],
    ['nothing', emptyHeld('PSCO', 'co2_aoer')],
  ])('comes back as it was: %s', (_, held) => {
    expect(fromBytes(toBytes(held))).toEqual({ ok: true, held: kept(held) });
  });

  it('stays under 1 MiB a day when stored every six hours', () =>
    expect(4 * toBytes(full).length).toBeLessThan(2 ** 20));

  it('any changed byte is found', () => {
    const bytes = toBytes(full);
    for (let i = 0; i < bytes.length; i += 997) {
      const bad = bytes.slice();
      bad[i] = (bad[i] ?? 0) ^ 0x10;
      expect(fromBytes(bad).ok).toBe(false);
    }
  });
  it('any torn end is found', () => {
    const bytes = toBytes(full);
    for (let length = 0; length < bytes.length; length += 5013)
      expect(fromBytes(bytes.slice(0, length)).ok).toBe(false);
  });
  it('says what is wrong', () =>
    expect(fromBytes(new Uint8Array(0))).toEqual({
      ok: false,
      note: 'the stored signal data has 0 bytes; it is set aside and fetched anew',
    }));
});
