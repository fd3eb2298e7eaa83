/** Held data to the disk and back. */

import { describe, expect, it } from 'vitest';
import type { SeriesModel } from '../../src/signal/series-model.ts';
import { decodeSignalData, encodeSignalData } from '../../src/signal/signal-codec.ts';
import {
  emptySignalData,
  type SignalData,
  withForecast,
  withHistory,
  withLiveIndex,
} from '../../src/signal/signal-store.ts';
import { buildForecast, buildHistory, buildLiveIndex, momentAt, risingValues } from './samples.ts';

/** Four days of forecasts, an index, and what was learned from them. */
function seenForDays() {
  let held = withHistory(emptySignalData('CAISO_NORTH'), buildHistory(-96, risingValues(96)), momentAt(0)).signal;
  for (let h = 0; h < 50; h++) held = withForecast(held, buildForecast(h, risingValues(72)), momentAt(h)).signal;
  return withLiveIndex(held, buildLiveIndex(50, 12.5), momentAt(50)).signal;
}
const full = seenForDays();
/** What the course of one day alone needs is left out. */
const kept = ({ rates, indexes, ...rest }: SignalData) => {
  const course = ({ expected: _, correction, ...others }: SeriesModel) => ({
    ...others,
    correction: { ...correction, origins: [] },
  });
  return { ...rest, ...(rates && { rates: course(rates) }), ...(indexes && { indexes: course(indexes) }) };
};

describe('stored signal data', () => {
  it.each([
    ['all of it', full],
    ['nothing', emptySignalData('PSCO', 'co2_aoer')],
  ])('comes back as it was: %s', (_, held) => {
    expect(decodeSignalData(encodeSignalData(held))).toEqual({ ok: true, signal: kept(held) });
  });

  it('stays under 1 MiB a day when stored every six hours', () =>
    expect(4 * encodeSignalData(full).length).toBeLessThan(2 ** 20));

  it('any changed byte is found', () => {
    const bytes = encodeSignalData(full);
    for (let i = 0; i < bytes.length; i += 997) {
      const bad = bytes.slice();
      bad[i] = (bad[i] ?? 0) ^ 0x10;
      expect(decodeSignalData(bad).ok).toBe(false);
    }
  });
  it('any torn end is found', () => {
    const bytes = encodeSignalData(full);
    for (let length = 0; length < bytes.length; length += 5013)
      expect(decodeSignalData(bytes.slice(0, length)).ok).toBe(false);
  });
  it('says what is wrong', () =>
    expect(decodeSignalData(new Uint8Array(0))).toEqual({
      ok: false,
      note: 'the stored signal data has 0 bytes; it is set aside and fetched anew',
    }));
});
