/** Which answer may replace what is held. */

import { describe, expect, it } from 'vitest';
import {
  createSignalData,
  type SignalData,
  withForecast,
  withHistory,
  withLiveIndex,
  withRegion,
} from '../../src/signal/signal-store.ts';
import { getSeenValue, toSlot } from '../../src/signal/value-history.ts';
import { atSampleHour, buildForecast, buildHistory, buildLiveIndex, momentAt, risingValues } from './signal-samples.ts';

const empty = createSignalData('CAISO_NORTH');
const data = withForecast(empty, buildForecast(1, risingValues(24)), momentAt(1)).signal;
const seen = ({ rates }: SignalData, hour: number) =>
  rates === undefined ? undefined : getSeenValue(rates.history, toSlot(rates.history, atSampleHour(hour)));

describe('a forecast', () => {
  //  case                          answer                                              accepted  note
  const rows = [
    ['newer', buildForecast(1.1, risingValues(24)), true, undefined],
    ['of the same time', buildForecast(1, [9]), false, 'older'],
    ['older, from a cache', buildForecast(0.5, risingValues(24)), false, 'older'],
    ['5 min ahead of our clock', buildForecast(1.25 + 5 / 60, risingValues(24)), true, undefined],
    ['6 min ahead of our clock', buildForecast(1.25 + 6 / 60, risingValues(24)), false, 'clock-behind'],
    ['of another region', buildForecast(1.1, risingValues(24), { region: 'PSCO' }), false, 'wrong-region'],
    ['of another signal', buildForecast(1.1, risingValues(24), { signalType: 'co2_aoer' }), false, 'wrong-signal'],
    ['without a value', buildForecast(1.1, []), false, 'empty'],
    ['of a new model', buildForecast(1.1, risingValues(24), { model: '2026-03-01' }), true, 'model-seam'],
    ['that names no model', { ...buildForecast(1.1, risingValues(24)), model: undefined }, true, undefined],
  ] as const;
  it.each(rows)('%s', (_, answer, accepted, note) => {
    const update = withForecast(data, answer as typeof data.forecast & object, momentAt(1.25));
    expect([update.accepted, update.note?.kind]).toEqual([accepted, note]);
    expect(update.signal.forecast?.generatedAt).toBe(accepted ? answer.generatedAt : atSampleHour(1));
    expect(update.signal === data).toBe(!accepted);
  });

  it('replaces one of the future, which a wrong clock let in', () => {
    const early = withForecast(empty, buildForecast(9, risingValues(24)), momentAt(9)).signal;
    expect(withForecast(early, buildForecast(1, risingValues(24)), momentAt(1)).signal.forecast?.generatedAt).toBe(
      atSampleHour(1),
    );
    const index = withLiveIndex(empty, buildLiveIndex(9, 80), momentAt(9)).signal;
    expect(withLiveIndex(index, buildLiveIndex(1, 20), momentAt(1)).signal.liveIndex?.point.value).toBe(20);
  });

  it('says received and expected', () => {
    const { note } = withForecast(data, buildForecast(2, risingValues(2), { region: 'PSCO' }), momentAt(2));
    expect(note?.message).toBe('the service answered for region PSCO; expected CAISO_NORTH');
  });

  it('leaves what it said up to its issue in the archive, and nothing of what it foretold, however late it comes', () => {
    for (const now of [3, 3.5]) {
      const later = withForecast(data, buildForecast(3, [999]), momentAt(now)).signal;
      expect([1, 2.5, 3, 3.5].map((hour) => seen(later, hour))).toEqual([100, 200, 999, Number.NaN]);
    }
  });

  it('up to an hour after the last one leaves the line between both in place of what was foretold', () => {
    const later = withForecast(data, buildForecast(1.5, [700]), momentAt(1.5)).signal;
    expect([1, 1.25, 1.5].map((hour) => seen(later, hour))).toEqual([100, 400, 700]);
  });
});

describe('measured rates', () => {
  it('replace what a forecast had said', () => {
    const update = withHistory(data, buildHistory(0, [55, 66]), momentAt(2));
    expect([0, 0.5, 1].map((hour) => seen(update.signal, hour))).toEqual([55, 55, 66]);
  });
  it('of another unit are refused', () =>
    expect(withHistory(data, buildHistory(0, [55], { units: 'percentile' }), momentAt(2)).note?.kind).toBe(
      'wrong-units',
    ));
});

describe('a live index', () => {
  const before = withLiveIndex(empty, buildLiveIndex(1, 40), momentAt(1)).signal;
  //  case              answer                                   accepted  note
  const rows = [
    ['newer', buildLiveIndex(1.1, 20), true, undefined],
    ['of the same slot', buildLiveIndex(1, 20), false, 'older'],
    ['in pounds', buildLiveIndex(1.1, 20, { units: 'lbs_co2_per_mwh' }), false, 'wrong-units'],
    ['of another region', buildLiveIndex(1.1, 20, { region: 'PSCO' }), false, 'wrong-region'],
    ['from the future', buildLiveIndex(2, 20), false, 'clock-behind'],
  ] as const;
  it.each(rows)('%s', (_, answer, accepted, note) => {
    const update = withLiveIndex(before, answer, momentAt(1.2));
    expect([update.accepted, update.note?.kind]).toEqual([accepted, note]);
  });
});

describe('a change of region', () => {
  it('leaves nothing of the old one', () => expect(withRegion(data, 'PSCO')).toEqual(createSignalData('PSCO')));
  it('of the same name changes nothing', () => expect(withRegion(data, 'CAISO_NORTH')).toBe(data));
});
