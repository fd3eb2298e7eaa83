/** Which answer may replace what is held. */

import { describe, expect, it } from 'vitest';
import { slotOf, valueAt } from '../../src/signal/archive.ts';
import { emptyHeld, forRegion, type Held, withForecast, withHistory, withLiveIndex } from '../../src/signal/held.ts';
import { at, forecast, history, live, moment, rising } from './samples.ts';

const empty = emptyHeld('CAISO_NORTH');
const held = withForecast(empty, forecast(1, rising(24)), moment(1)).held;
const seen = ({ rates }: Held, hour: number) =>
  rates === undefined ? undefined : valueAt(rates.archive, slotOf(rates.archive, at(hour)));

describe('a forecast', () => {
  //  case                          answer                                              accepted  note
  const rows = [
    ['newer', forecast(1.1, rising(24)), true, undefined],
    ['of the same time', forecast(1, [9]), false, 'older'],
    ['older, from a cache', forecast(0.5, rising(24)), false, 'older'],
    ['5 min ahead of our clock', forecast(1.25 + 5 / 60, rising(24)), true, undefined],
    ['6 min ahead of our clock', forecast(1.25 + 6 / 60, rising(24)), false, 'clock-behind'],
    ['of another region', forecast(1.1, rising(24), { region: 'PSCO' }), false, 'wrong-region'],
    ['of another signal', forecast(1.1, rising(24), { signalType: 'co2_aoer' }), false, 'wrong-signal'],
    ['without a value', forecast(1.1, []), false, 'empty'],
    ['of a new model', forecast(1.1, rising(24), { model: '2026-03-01' }), true, 'model-seam'],
    ['that names no model', { ...forecast(1.1, rising(24)), model: undefined }, true, undefined],
  ] as const;
  it.each(rows)('%s', (_, answer, accepted, note) => {
    const taken = withForecast(held, answer as typeof held.forecast & object, moment(1.25));
    expect([taken.accepted, taken.note?.kind]).toEqual([accepted, note]);
    expect(taken.held.forecast?.generatedAt).toBe(accepted ? answer.generatedAt : at(1));
    expect(taken.held === held).toBe(!accepted);
  });

  it('says received and expected', () => {
    const { note } = withForecast(held, forecast(2, rising(2), { region: 'PSCO' }), moment(2));
    expect(note?.message).toBe('the service answered for region PSCO; expected CAISO_NORTH');
  });

  it('leaves what it said of the past in the archive, and nothing of the future', () => {
    const later = withForecast(held, forecast(3, [999]), moment(3.5)).held;
    expect([1, 2.5, 3, 3.5, 3.6].map((hour) => seen(later, hour))).toEqual([100, 200, 999, 999, Number.NaN]);
  });
});

describe('measured rates', () => {
  it('replace what a forecast had said', () => {
    const taken = withHistory(held, history(0, [55, 66]), moment(2));
    expect([0, 0.5, 1].map((hour) => seen(taken.held, hour))).toEqual([55, 55, 66]);
  });
  it('of another unit are refused', () =>
    expect(withHistory(held, history(0, [55], { units: 'percentile' }), moment(2)).note?.kind).toBe('wrong-units'));
});

describe('a live index', () => {
  const before = withLiveIndex(empty, live(1, 40), moment(1)).held;
  //  case              answer                                   accepted  note
  const rows = [
    ['newer', live(1.1, 20), true, undefined],
    ['of the same slot', live(1, 20), false, 'older'],
    ['in pounds', live(1.1, 20, { units: 'lbs_co2_per_mwh' }), false, 'wrong-units'],
    ['of another region', live(1.1, 20, { region: 'PSCO' }), false, 'wrong-region'],
    ['from the future', live(2, 20), false, 'clock-behind'],
  ] as const;
  it.each(rows)('%s', (_, answer, accepted, note) => {
    const taken = withLiveIndex(before, answer, moment(1.2));
    expect([taken.accepted, taken.note?.kind]).toEqual([accepted, note]);
  });
});

describe('a change of region', () => {
  it('leaves nothing of the old one', () => expect(forRegion(held, 'PSCO')).toEqual(emptyHeld('PSCO')));
  it('of the same name changes nothing', () => expect(forRegion(held, 'CAISO_NORTH')).toBe(held));
});
