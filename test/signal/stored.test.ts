/** Held data to the disk and back. */

import { describe, expect, it } from 'vitest';
import { emptyHeld, withForecast, withHistory, withLiveIndex } from '../../src/signal/held.ts';
import { fromBytes, toBytes } from '../../src/signal/stored.ts';
import { forecast, history, live, moment, rising } from './samples.ts';

const full = withLiveIndex(
  withHistory(
    withForecast(emptyHeld('CAISO_NORTH'), forecast(0, rising(72)), moment(0)).held,
    history(-48, rising(48)),
    moment(0),
  ).held,
  live(0, 12.5),
  moment(0),
).held;

describe('stored signal data', () => {
  it.each([
    ['all of it', full],
    ['nothing', emptyHeld('PSCO', 'co2_aoer')],
  ])('comes back as it was: %s', (_, held) => {
    const back = fromBytes(toBytes(held));
    const { live: __, ...kept } = held;
    expect(back).toEqual({ ok: true, held: kept });
  });

  it('stays under 1 MiB a day when stored every six hours', () =>
    expect(4 * toBytes(full).length).toBeLessThan(2 ** 20));

  it('any changed byte is found', () => {
    const bytes = toBytes(full);
    for (let i = 0; i < bytes.length; i += 97) {
      const bad = bytes.slice();
      bad[i] = (bad[i] ?? 0) ^ 0x10;
      expect(fromBytes(bad).ok).toBe(false);
    }
  });
  it('any torn end is found', () => {
    const bytes = toBytes(full);
    for (let length = 0; length < bytes.length; length += 1013)
      expect(fromBytes(bytes.slice(0, length)).ok).toBe(false);
  });
  it('says what is wrong', () =>
    expect(fromBytes(new Uint8Array(0))).toEqual({
      ok: false,
      note: 'the stored signal data has 0 bytes; it is set aside and fetched anew',
    }));
});
