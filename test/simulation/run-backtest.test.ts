/** The replay of a history, on a small one made here: what it counts, what it measures, what it never does. */

import { describe, expect, it } from 'vitest';
import { addDuration, days, formatInstant, type Instant, type Kilowatt } from '../../src/domain/units.ts';
import type { Series } from '../../src/reference/world/recorded-signal.ts';
import {
  type BacktestFaultName,
  backtestFaultNames,
  combineBacktestFaults,
} from '../../src/simulation/backtest/backtest-faults.ts';
import { builtInLoads, listJobs } from '../../src/simulation/backtest/backtest-loads.ts';
import {
  buildRecordedSeries,
  FORECAST_POINTS,
  getRowTime,
  SLOT,
  SLOTS_PER_DAY,
  sumWeight,
} from '../../src/simulation/backtest/recorded-series.ts';
import {
  type BacktestOptions,
  type BacktestResult,
  type JobRecord,
  type Policy,
  policies,
  runBacktest,
  runTrials,
} from '../../src/simulation/backtest/run-backtest.ts';
import { createBacktestFeed } from '../../src/simulation/backtest/signal-feeds.ts';
import { simulateSites, startShortlyBefore } from '../../src/simulation/backtest/simulate.ts';

/** 2020-06-01T00:00Z. */
const START = Date.UTC(2020, 5, 1);
const ZONE = 'America/Los_Angeles';

/** Days of a smooth daily wave with a weekly one under it; forecasts are exact, or off by `error`. */
function wave(days: number, error = 0): Series {
  const rate = (slot: number) =>
    600 +
    250 * Math.sin((2 * Math.PI * slot) / SLOTS_PER_DAY) +
    80 * Math.sin((2 * Math.PI * slot) / (7 * SLOTS_PER_DAY));
  const rows = days * SLOTS_PER_DAY;
  const forecasts = new Float64Array(rows * FORECAST_POINTS);
  for (let row = 0; row < rows; row++)
    for (let k = 0; k < FORECAST_POINTS; k++)
      forecasts[row * FORECAST_POINTS + k] = rate(row + k) + error * Math.sin(row + 3 * k);
  return {
    slots: Int32Array.from({ length: rows }, (_, row) => START / SLOT + row),
    values: Float64Array.from({ length: rows }, (_, row) => rate(row)),
    forecasts,
  };
}

/** The history without the rows of [from, to). */
const without = (series: Series, from: number, to: number): Series => {
  const keep = (_: number, row: number) => row < from || row >= to;
  return {
    slots: series.slots.filter(keep),
    values: series.values.filter(keep),
    forecasts: series.forecasts.filter(
      (_, i) => Math.floor(i / FORECAST_POINTS) < from || Math.floor(i / FORECAST_POINTS) >= to,
    ),
  };
};

const testOf = (series: Series, change: Partial<BacktestOptions> = {}): BacktestOptions => ({
  record: buildRecordedSeries(series),
  loads: builtInLoads,
  timezone: ZONE,
  range: {},
  faults: combineBacktestFaults([], START as Instant),
  ...change,
});

const resultsOf = (test: BacktestOptions, policy: Policy) =>
  new Map(runBacktest(test, policy).map((result): [string, BacktestResult] => [result.load, result]));

describe('the record', () => {
  const record = buildRecordedSeries(without(wave(20), 12 * SLOTS_PER_DAY, 13 * SLOTS_PER_DAY));
  it('prices part slots pro rata', () => {
    const at = getRowTime(record, 5);
    const [a = 0, b = 0] = [record.series.values[5], record.series.values[6]];
    expect(sumWeight(record, at + SLOT / 2, at + 2 * SLOT)).toBeCloseTo((a / 2 + b) / 12, 9);
  });
  it('counts nothing where nothing was recorded', () =>
    expect(sumWeight(record, START + 12.2 * SLOTS_PER_DAY * SLOT, START + 12.8 * SLOTS_PER_DAY * SLOT)).toBe(0));
});

describe('the jobs that count', () => {
  const jobs = (series: Series, name: string, range = {}) => {
    const load = builtInLoads.find((one) => one.name === name);
    if (load === undefined) throw new Error(name);
    return listJobs(load, ZONE, buildRecordedSeries(series), range).map(({ from }) => formatInstant(from).slice(0, 16));
  };
  it('lie after the nine days that teach, and wholly inside', () => {
    expect(jobs(wave(12), 'ev-overnight')).toEqual(['2020-06-10T01:00', '2020-06-11T01:00', '2020-06-12T01:00']);
    expect(jobs(wave(12), 'ev-day')).toEqual(['2020-06-10T01:00', '2020-06-11T01:00']);
    expect(jobs(wave(12), 'heat-pump')).toEqual(['2020-06-10T07:00', '2020-06-11T07:00']);
  });
  it('never span a gap', () =>
    expect(jobs(without(wave(14), 11 * SLOTS_PER_DAY - 5, 11 * SLOTS_PER_DAY), 'heat-pump')).toEqual([
      '2020-06-10T07:00',
      '2020-06-12T07:00',
      '2020-06-13T07:00',
    ]));
  it('lie within the range asked for', () =>
    expect(jobs(wave(14), 'heat-pump', { from: Date.UTC(2020, 5, 12), to: Date.UTC(2020, 5, 14) })).toEqual([
      '2020-06-12T07:00',
    ]));
});

describe('the policies on a history that repeats', () => {
  const test = testOf(wave(14, 40));
  const all = new Map(policies.map((policy) => [policy, resultsOf(test, policy)]));
  const share = (policy: Policy, load: string) => all.get(policy)?.get(load)?.shareOfHindsight ?? Number.NaN;
  const loads = builtInLoads.map(({ name }) => name);

  it.each(policies)('%s meets every deadline and breaks no rule', (policy) => {
    for (const result of all.get(policy)?.values() ?? []) {
      expect([result.load, result.deadlines.missed, result.violationsByRule]).toEqual([result.load, 0, {}]);
      expect(result.deadlines.met).toBeGreaterThan(3);
    }
  });
  it.each(loads)('%s: at once saves nothing, hindsight everything, nothing beats it', (load) => {
    expect(share('immediate', load)).toBeCloseTo(0, 9);
    expect(share('hindsight', load)).toBeCloseTo(1, 9);
    for (const policy of policies) expect(share(policy, load)).toBeLessThanOrEqual(1 + 1e-9);
  });
  it.each(loads)('%s: planning reaches nearly all of it, with a forecast, a profile, or the index alone', (load) => {
    expect(share('plan-rolling', load)).toBeGreaterThan(0.9);
    expect(share('profile-only', load)).toBeGreaterThan(0.9);
    expect(share('index-only', load)).toBeGreaterThan(0.9);
  });
  it.each(loads)('%s: a plain timer emits what the core does on its daily window alone', (load) =>
    expect(all.get('timer')?.get(load)?.kg).toBeCloseTo(all.get('window')?.get(load)?.kg ?? 0, 6),
  );
  const againstTimer = (['timer', 'hindsight'] as const).map((policy) =>
    resultsOf({ ...test, baseline: 'timer' }, policy),
  );
  it.each(loads)('%s: against the timer, the timer saves nothing and hindsight everything', (load) => {
    const [timer, hindsight] = againstTimer.map((results) => results.get(load)?.shareOfHindsight);
    expect(timer).toBeCloseTo(0, 9);
    expect(hindsight).toBeCloseTo(1, 9);
    const { savedKg = 0, kg = 0, savedAgainstTimerPercent } = all.get('hindsight')?.get(load) ?? {};
    const timerKg = all.get('timer')?.get(load)?.kg ?? 0;
    expect(savedAgainstTimerPercent).toBeCloseTo((100 * (timerKg - kg)) / timerKg, 9);
    expect(savedKg).toBeGreaterThan(0);
  });
  it('the months and the jobs add up to the whole', () => {
    const jobs: JobRecord[] = [];
    const history = testOf(wave(33), { loads: builtInLoads.slice(0, 1), onJob: (job) => jobs.push(job) });
    for (const policy of ['hindsight', 'window'] as const) {
      jobs.length = 0;
      const [result] = runBacktest(history, policy);
      expect(result?.months.map(({ month }) => month)).toEqual(['2020-06', '2020-07']);
      expect(result?.months.reduce((sum, { savedKg }) => sum + savedKg, 0)).toBeCloseTo(result?.savedKg ?? 0, 9);
      expect(jobs.length).toBe(result?.deadlines.met);
      expect(jobs.reduce((sum, { kg }) => sum + kg, 0)).toBeCloseTo(result?.kg ?? 0, 9);
      expect(jobs.reduce((sum, { immediateKg, kg }) => sum + immediateKg - kg, 0)).toBeCloseTo(result?.savedKg ?? 0, 6);
    }
    const hoursRun = jobs.map(({ runs }) => runs.reduce((sum, { from, to }) => sum + to - from, 0) / 3_600_000);
    expect(new Set(hoursRun)).toEqual(new Set([4]));
  });
  it('every policy delivers the same energy', () => {
    for (const results of all.values())
      for (const [load, { energyKwh, deadlines }] of results)
        expect(energyKwh / deadlines.met).toBeCloseTo(load === 'heat-pump' ? 6 : 28.8, 1);
  });
  it('saved and emitted are what the same energy emits at once', () => {
    for (const load of loads) {
      const [rolling, atOnce] = [all.get('plan-rolling')?.get(load), all.get('immediate')?.get(load)];
      expect((rolling?.kg ?? 0) + (rolling?.savedKg ?? 0)).toBeCloseTo(atOnce?.kg ?? 0, 1);
    }
  });
});

it('a load that starts two days before what is measured runs there as one that ran through all days before', () => {
  const record = buildRecordedSeries(wave(6, 40));
  const measureFrom = addDuration(START as Instant, days(4));
  const loads = [...builtInLoads, ...builtInLoads.slice(2).map(({ goal: _, ...load }) => ({ ...load, name: 'plain' }))];
  const sites = loads.map((load) =>
    startShortlyBefore({ device: 'cellar', timezone: ZONE, loads: [load] }, measureFrom),
  );
  const feed = () => createBacktestFeed('forecast', record);
  const simulate = (all: typeof sites) =>
    simulateSites({ sites: all, record, feed: feed(), faults: combineBacktestFaults([], START as Instant) }).map(
      ([track]) => (track?.runSpans ?? []).filter(({ to }) => to > measureFrom),
    );
  const short = simulate(sites);
  expect(short).toEqual(simulate(sites.map(({ site }) => ({ site, measureFrom }))));
  expect(short.map(({ length }) => length > 0)).toEqual(loads.map(() => true));
});

it('trials that plan each half hour rank windows as plans after each forecast do', () => {
  const [load] = builtInLoads;
  if (load?.goal === undefined) throw new Error('the first built-in load has no goal');
  const { goal } = load;
  const loads = [18, 16, 14].map((hour) => ({ ...load, goal: { ...goal, from: hour * 60 } }));
  const test = testOf(wave(13, 40));
  const { record, timezone, faults } = test;
  const trials = runTrials({ record, timezone, faults, trials: loads.map((one) => ({ load: one, range: {} })) });
  const rolling = loads.map((one) => runBacktest({ ...test, loads: [one] }, 'plan-rolling')[0]?.kg ?? Number.NaN);
  for (const [i, { kg, deadlines }] of trials.entries()) {
    expect(Math.abs(kg / (rolling[i] ?? 0) - 1)).toBeLessThan(0.02);
    expect(deadlines).toMatchObject({ missed: 0 });
  }
  const rank = (kilograms: readonly number[]) =>
    kilograms.map((_, i) => i).sort((a, b) => (kilograms[a] ?? 0) - (kilograms[b] ?? 0));
  expect(rank(trials.map(({ kg }) => kg))).toEqual(rank(rolling));
  expect(new Set(rolling).size).toBe(3);
});

describe('under a fault', () => {
  const cars = builtInLoads.slice(0, 1);
  const underFaults = (names: readonly BacktestFaultName[]) =>
    testOf(wave(12, 40), { loads: cars, faults: combineBacktestFaults(names, START as Instant) });
  // The long outage begins after these twelve days and has a row of its own.
  it.each(backtestFaultNames.filter((name) => name !== 'long-outage'))('%s: no rule is broken', (name) => {
    expect(runBacktest(underFaults([name]), 'plan-rolling')[0]?.violationsByRule).toEqual({});
    expect(runBacktest(underFaults([name]), 'threshold')[0]?.violationsByRule).toEqual({});
  });
  it('all at once: no rule is broken, and the same history gives the same result', () => {
    const first = runBacktest(underFaults(backtestFaultNames), 'plan-rolling');
    expect(first[0]?.violationsByRule).toEqual({});
    expect(runBacktest(underFaults(backtestFaultNames), 'plan-rolling')).toEqual(first);
  });
  it.each([
    ['threshold', []],
    ['threshold', ['outage']],
    ['window', ['restart']],
    ['plan-rolling', []],
  ] as const)('%s, %j: two chargers that may not run at once are both done each night', (policy, names) => {
    const loads = cars.flatMap((load) => [load, { ...load, name: 'second' }]);
    const faults = combineBacktestFaults(names, START as Instant);
    const test = testOf(wave(12, 200), { loads, budget: 8 as Kilowatt, faults });
    for (const { load, violationsByRule } of runBacktest(test, policy))
      expect([load, violationsByRule]).toEqual([load, {}]);
  });
  it('without an answer the own profile takes over', () => {
    const test = testOf(wave(18, 40), {
      loads: cars,
      faults: combineBacktestFaults(['long-outage'], START as Instant),
    });
    const [result] = runBacktest(test, 'plan-rolling');
    expect(result?.minutesByBasis['own-profile']).toBeGreaterThan(1_000);
    expect(result?.violationsByRule).toEqual({});
  });
});
