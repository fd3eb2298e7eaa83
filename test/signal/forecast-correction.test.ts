/** What is learned from how forecasts turned out: a level carried on, a bias taken off, an exact forecast left alone. */

import { describe, expect, it } from 'vitest';
import { getProfileValue } from '../../src/signal/daily-profile.ts';
import { buildSignalView } from '../../src/signal/freshness.ts';
import { decodeSignalData, encodeSignalData } from '../../src/signal/signal-codec.ts';
import {
  createSignalData,
  rebuildExpected,
  type SignalData,
  withForecast,
  withHistory,
} from '../../src/signal/signal-store.ts';
import { atSampleHour, buildForecast, buildHistory, momentAt } from './signal-samples.ts';

const OWN = { ties: 'mid', ownRegion: 'CAISO_NORTH' } as const;

/** Each day's level is another one; within a day the rate is a wave. */
const truth = (hour: number) => {
  const day = Math.floor(hour / 24);
  return 500 + 200 * Math.sin((2 * Math.PI * hour) / 24) + 150 * Math.sin(day * 2.4);
};

/** Three hours of forecast, issued each slot for so many days; `said` makes of the truth what the service says of the slots to come. */
function learnDays(days: number, forecastAt: (hour: number, lead: number) => number, seen = truth): SignalData {
  let data = createSignalData('CAISO_NORTH');
  for (let slot = 0; slot <= days * 288; slot++) {
    const now = slot / 12;
    const points = Array.from({ length: 36 }, (_, k) => ({
      at: atSampleHour(now + k / 12),
      value: k === 0 ? seen(now) : forecastAt(now + k / 12, k),
    }));
    data = withForecast(data, buildForecast(now, [], { points }), momentAt(now)).signal;
  }
  return data;
}

/** The same days by measured values alone, one each slot. */
function measureDays(days: number): SignalData {
  let data = createSignalData('CAISO_NORTH');
  for (let slot = 0; slot <= days * 288; slot++)
    data = withHistory(data, buildHistory(slot / 12, [truth(slot / 12)]), momentAt(slot / 12)).signal;
  return data;
}

/** Mean absolute error of the outlook at the end of `days`, over leads [from, to). */
function errorOf(data: SignalData, days: number, [from, to]: readonly [number, number]): number {
  const values = buildSignalView(data, momentAt(days * 24), OWN).horizon?.values ?? [];
  const errors = values.slice(from, to).map((value, i) => Math.abs(value - truth(days * 24 + (from + i) / 12)));
  return errors.reduce((sum, error) => sum + error, 0) / errors.length;
}

const DAYS = 20.5;

let exact: SignalData | undefined;
/** Learned once for all rows that ask: no row changes it. */
const learnExact = () => (exact ??= learnDays(DAYS, truth));

describe('the values ahead', () => {
  it('an exact forecast is left as it is', () => {
    expect(errorOf(learnExact(), DAYS, [0, 36])).toBeLessThan(5);
  });
  it('a forecast that is 120 too high from the second half hour on is brought down', () => {
    const biased = learnDays(DAYS, (hour, lead) => truth(hour) + (lead < 6 ? 0 : 120));
    expect(errorOf(biased, DAYS, [12, 36])).toBeLessThan(60);
  });
  it('a forecast of pure chance counts less than the time of day', () => {
    const chance = learnDays(DAYS, (hour, lead) => 500 + 300 * Math.sin(hour * 977 + lead));
    const raw = Array.from({ length: 24 }, (_, i) => {
      const hour = DAYS * 24 + (12 + i) / 12;
      return Math.abs(500 + 300 * Math.sin(hour * 977 + 12 + i) - truth(hour));
    }).reduce((sum, error) => sum + error / 24, 0);
    expect(errorOf(chance, DAYS, [12, 36])).toBeLessThan(raw / 2);
  });
  it('beyond the end of the forecast the present level is carried on', () => {
    // The level of the day stands out by up to 150; the bare profile misses it.
    expect(errorOf(learnExact(), DAYS, [36, 108])).toBeLessThan(75);
  });
  it('how far they may be off is learned, and nothing is claimed before', () => {
    const spreadOf = (data: SignalData, days: number) =>
      buildSignalView(data, momentAt(days * 24), OWN).horizon?.uncertainty ?? [];
    const exact = spreadOf(learnExact(), DAYS);
    const off = (hour: number, lead: number) => truth(hour) + (lead < 12 ? 0 : 300 * Math.sin(hour * 977 + lead));
    const chance = spreadOf(learnDays(DAYS, off), DAYS);
    expect([exact[30], exact[5], chance[5]].every((spread = Number.NaN) => spread < 20)).toBe(true);
    expect(chance[30]).toBeGreaterThan(40);
    expect(new Set(spreadOf(learnDays(3.5, off), 3.5))).toEqual(new Set([0]));
  });
  it.each([
    // unforeseen, for two hours of each day at another time    spread
    ['peaks', 400, 'small'],
    ['dips', -400, 'wide'],
  ] as const)('%s of %d: the spread is %s, for only what comes out lower can be waited for', (_, height, width) => {
    const surprise = (hour: number) => ((hour + 5 * Math.floor(hour / 24)) % 24 < 2 ? height : 0);
    const surprised = learnDays(12.5, truth, (hour) => truth(hour) + surprise(hour));
    const beyondAnHour = buildSignalView(surprised, momentAt(12.5 * 24), OWN).horizon?.uncertainty?.[20] ?? Number.NaN;
    expect(beyondAnHour > 60).toBe(width === 'wide');
  });
  it('a day that stands out is expected to last, also by a device that is a week old', () => {
    const heat = (hour: number) => truth(hour) + (hour >= 6.5 * 24 ? 600 : 0);
    const data = learnDays(7, heat, heat);
    const archive = data.rates?.history;
    const values = buildSignalView(data, momentAt(7 * 24), OWN).horizon?.values ?? [];
    const above = values
      .slice(144, 216)
      .map(
        (value, i) =>
          value - (archive === undefined ? Number.NaN : getProfileValue(archive, archive.newestSlot + 144 + i)),
      );
    expect(above.reduce((sum, a) => sum + a / above.length, 0)).toBeGreaterThan(100);
  });
  it.each([
    // above the usual by 200 for hours, seen after hours   part of it expected at 3 to 6 h, 6 to 12 h, 12 to 24 h
    ['a level that rises at once', 48, 1, [0.35, 0.15, -0.3], [1.1, 1.1, 0.5]],
    ['the same a day later', 48, 24, [0.7, 0.7, 0.5], [1.3, 1.3, 1.3]],
    ['a peak of half an hour', 0.5, 1, [-0.2, -0.2, -0.3], [0.2, 0.2, 0.3]],
  ] as const)('%s (%d h), after %d h: followed where it lasts, passed over where it does not', (...row) => {
    const [, length, after, least, most] = row;
    const start = 8 * 24;
    const usual = (hour: number) => truth(hour % 24) + 30 * Math.sin(Math.floor(hour / 24) * 2.4);
    const seen = (hour: number) => usual(hour) + (hour >= start && hour < start + length ? 200 : 0);
    const now = start + after;
    const values = buildSignalView(learnDays(now / 24, seen, seen), momentAt(now), OWN).horizon?.values ?? [];
    for (const [i, [from, to]] of (
      [
        [36, 72],
        [72, 144],
        [144, 288],
      ] as const
    ).entries()) {
      const above = values.slice(from, to).map((value, k) => (value - usual(now + (from + k) / 12)) / 200);
      const part = above.reduce((sum, one) => sum + one / above.length, 0);
      expect(part).toBeGreaterThan(least[i] ?? Number.NaN);
      expect(part).toBeLessThan(most[i] ?? Number.NaN);
    }
  });
  it('before three days are known the forecast stands as it was said', () => {
    const data = learnDays(2, (hour) => truth(hour) + 120);
    expect(buildSignalView(data, momentAt(48), OWN).horizon?.values[20]).toBeCloseTo(truth(48 + 20 / 12) + 120, 6);
  });
  it('a change of what is held never changes what was held before', () => {
    const data = learnDays(4, truth);
    const before = JSON.stringify([...(data.rates?.correction.weights ?? [])]);
    withForecast(data, buildForecast(200, [1, 2, 3]), momentAt(200));
    expect(JSON.stringify([...(data.rates?.correction.weights ?? [])])).toBe(before);
  });
});

describe('a forecast older than its slot', () => {
  const DAYS_SCORED = 4.5;
  const data = learnDays(DAYS_SCORED, (hour, lead) => truth(hour) + 60 * Math.sin(hour * 977 + lead));
  const bare = measureDays(DAYS_SCORED);
  /** With squares of errors of the forecast and of the own profile, also beyond the forecast's end, in place of those learned. */
  const withScores = (
    ...[score, ownScore, beyond = score, ownBeyond = ownScore, from = data]: readonly [
      number,
      number,
      number?,
      number?,
      SignalData?,
    ]
  ): SignalData => {
    const { rates } = from;
    if (rates === undefined) return from;
    const quarters = [score, beyond, ownScore, ownBeyond];
    const scores = rates.correction.scores.map((_, i, { length }) => quarters[Math.floor((4 * i) / length)] ?? 0);
    return { ...from, rates: { ...rates, correction: { ...rates.correction, scores } } };
  };
  const valuesOf = (from: SignalData, ageMinutes: number) =>
    buildSignalView(from, momentAt(DAYS_SCORED * 24 + ageMinutes / 60), OWN).horizon?.values.slice(0, 200) ?? [];

  it.each([
    // squares of its errors and of the own profile's    share of the own profile
    [0, 0, 0],
    [1, 2, 0],
    [1, 1.9, 0.5],
    [1.9, 1, 0.5],
    [2, 1, 1],
  ])('with errors of %d against %d leaves the own profile a share of %d', (score, ownScore, share) => {
    const [alone, own] = [valuesOf(withScores(0, 0), 10), valuesOf(bare, 10)];
    expect(Math.max(...own.map((value, i) => Math.abs(value - (alone[i] ?? 0))))).toBeGreaterThan(10);
    for (const [i, value] of valuesOf(withScores(score, ownScore), 10).entries())
      expect(value).toBeCloseTo((1 - share) * (alone[i] ?? 0) + share * (own[i] ?? 0), 2);
  });
  it('is compared with the own profile apart from what lies beyond its end', () => {
    const split = valuesOf(withScores(1, 1, 1, 2), 10);
    expect(split.slice(0, 34)).toEqual(valuesOf(withScores(1, 1), 10).slice(0, 34));
    expect(split.slice(34)).toEqual(valuesOf(withScores(0, 0), 10).slice(34));
  });
  it('counts half beside the own profile after a restart too', () => {
    const decoded = decodeSignalData(encodeSignalData(data));
    const restarted = decoded.ok ? rebuildExpected(decoded.signal) : data;
    const [before, raw, after] = [withScores(1, 1), withScores(0, 0), withScores(1, 1, 1, 1, restarted)].map((one) =>
      valuesOf(one, 10).slice(0, 34),
    );
    const gap = (values: readonly number[] = []) =>
      values.reduce((sum, value, i) => sum + Math.abs(value - (before?.[i] ?? 0)), 0);
    expect(gap(after)).toBeLessThan(gap(raw) / 3);
  });
  it('counts alone in its own slot', () =>
    expect(valuesOf(withScores(2, 1), 4)).toEqual(valuesOf(withScores(0, 0), 4)));
  it('is scored by the days that came, beside the own profile', () => {
    const scores = data.rates?.correction.scores ?? new Float64Array();
    const [soon, ownSoon] = [scores[4], scores[scores.length / 2 + 4]];
    expect(soon).toBeGreaterThan(0);
    expect(ownSoon).toBeGreaterThan(2 * (soon ?? 0));
  });
});
