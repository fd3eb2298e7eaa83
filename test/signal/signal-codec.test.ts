/** Held data to the disk and back. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Instant, seconds } from '../../src/domain/units.ts';
import type { SeriesModel } from '../../src/signal/series-model.ts';
import { decodeSignalData, encodeSignalData } from '../../src/signal/signal-codec.ts';
import {
  createSignalData,
  type SignalData,
  withForecast,
  withHistory,
  withLiveIndex,
} from '../../src/signal/signal-store.ts';
import { atSampleHour, buildForecast, buildHistory, buildLiveIndex, momentAt, risingValues } from './signal-samples.ts';

/** Four days of forecasts, an index, and what was learned from them. */
function seenForDays() {
  let data = withHistory(createSignalData('CAISO_NORTH'), buildHistory(-96, risingValues(96)), momentAt(0)).signal;
  for (let h = 0; h < 50; h++) data = withForecast(data, buildForecast(h, risingValues(72)), momentAt(h)).signal;
  return withLiveIndex(data, buildLiveIndex(50, 12.5), momentAt(50)).signal;
}
const full = seenForDays();
/** What the course of one day alone needs is left out. */
const storedPart = ({ rates, indexes, ...rest }: SignalData) => {
  const course = ({ expected: _, correction, ...others }: SeriesModel) => ({
    ...others,
    correction: { ...correction, origins: [] },
  });
  return { ...rest, ...(rates && { rates: course(rates) }), ...(indexes && { indexes: course(indexes) }) };
};

describe('stored signal data', () => {
  it.each([
    ['all of it', full],
    ['nothing', createSignalData('PSCO', 'co2_aoer')],
  ])('comes back as it was: %s', (_, data) => {
    expect(decodeSignalData(encodeSignalData(data))).toEqual({ ok: true, signal: storedPart(data) });
  });

  it('stays under 1 MiB a day when stored every six hours', () =>
    expect(4 * encodeSignalData(full).length).toBeLessThan(2 ** 20));

  /** Whatever a service answers within the specification, in any order; `until` is the hour of the last answer. */
  const answers = fc.array(
    fc.record({
      kind: fc.constantFrom('forecast', 'index', 'history'),
      period: fc.oneof(fc.integer({ min: 1, max: 86_400 }), fc.constantFrom(1, 59, 60, 300, 3_600)),
      count: fc.integer({ min: 1, max: 40 }),
      units: fc.constantFrom('lbs_co2_per_mwh', 'percentile'),
      at: fc.integer({ min: 0, max: 900 }),
    }),
    { maxLength: 6 },
  );
  it('what is written can be read, and is small: whatever period the service names', () => {
    const check = (list: Parameters<Parameters<typeof answers.map>[0]>[0]) => {
      let data = createSignalData('CAISO_NORTH');
      for (const { kind, period, count, units, at } of list) {
        const start = atSampleHour(at);
        const points = Array.from({ length: count }, (_, i) => ({
          at: (start + i * period * 1_000) as Instant,
          value: i,
        }));
        const change = { period: seconds(period), points, units };
        if (kind === 'forecast') data = withForecast(data, buildForecast(at, [], change), momentAt(at)).signal;
        if (kind === 'history') data = withHistory(data, buildHistory(at, [], change), momentAt(at + 1)).signal;
        if (kind === 'index')
          data = withLiveIndex(data, buildLiveIndex(at, 50, { period: seconds(period) }), momentAt(at)).signal;
      }
      const bytes = encodeSignalData(data);
      expect(bytes.length).toBeLessThan(2 ** 19);
      const decoded = decodeSignalData(bytes);
      expect(decoded.ok && Buffer.compare(encodeSignalData(decoded.signal), bytes)).toBe(0);
    };
    fc.assert(fc.property(answers, check), { numRuns: 40 });
  });

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
