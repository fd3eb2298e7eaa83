/** The expected runs of a load without a goal, beside what the control core does when the rates come as forecast. */

import { describe, expect, it } from 'vitest';
import { createExpectedRuns } from '../../src/agent/expected-runs.ts';
import { isRunning } from '../../src/domain/levels.ts';
import type { LoadConfig } from '../../src/domain/load-types.ts';
import { addDuration, type Duration, hours, type Instant, minutes } from '../../src/domain/units.ts';
import type { ExpectedRun } from '../../src/mqtt/watcher-payloads.ts';
import { computeLocalIndex } from '../../src/signal/percentile-index.ts';
import {
  asPercentile,
  buildHorizon,
  buildIndex,
  buildSite,
  ControlBench,
  carLoad,
  heatingLoad,
  instantFrom,
  tankLoad,
} from '../control/control-setup.ts';

const START = instantFrom('2026-06-03T19:00:00Z');
const PERIOD = minutes(5);

/** Three days that swing by the hour of the day, and otherwise as `seed` says. */
const drawRates = (seed: number) =>
  Array.from({ length: 72 * 12 }, (_, i) => {
    const noise = Math.sin((i + 1) * (seed + 1) * 12.9898) * 43_758.5453;
    return (
      500 + 300 * Math.sin((i / 288) * 2 * Math.PI) + 120 * Math.sin(i / (7 + seed)) + 20 * (noise - Math.floor(noise))
    );
  });

const horizonFrom = (values: readonly number[], slot: number) => ({
  ...buildHorizon(addDuration(START, (slot * PERIOD) as Duration), []),
  values: values.slice(slot),
  validUntil: addDuration(START, hours(72)),
});

/** The signal of one interval, as the service would send it. */
function sendSlot(bench: ControlBench, values: readonly number[], slot: number): void {
  const day = values.slice(slot, slot + 288);
  const points = day.map((value, i) => ({ at: addDuration(bench.now.wall, (i * PERIOD) as Duration), value }));
  const { mid = 50 } = computeLocalIndex(points, PERIOD, bench.now.wall);
  bench.sendSignal({ index: buildIndex(bench.now.wall, mid), horizon: horizonFrom(values, slot) });
}

/** What the core does until the forecast ranks no further. */
function live(bench: ControlBench, name: string, values: readonly number[], slots: number): ExpectedRun[] {
  const runs: ExpectedRun[] = [];
  let isOn = isRunning(bench.level(name));
  let from: Instant | undefined;
  const startedOn = isOn;
  bench.switches.length = 0;
  for (let slot = 1; slot <= slots; slot++) {
    bench.runUntil(addDuration(START, (slot * PERIOD) as Duration));
    sendSlot(bench, values, slot);
  }
  for (const { at, level } of bench.switches) {
    if (isRunning(level) === isOn) continue;
    isOn = isRunning(level);
    if (isOn) from = at;
    else runs.push({ ...(from === undefined ? {} : { from }), to: at });
  }
  if (isOn) runs.push(from === undefined || (startedOn && runs.length === 0) ? {} : { from });
  return runs.filter(({ from: begin, to = Infinity }) => begin === undefined || to - begin >= minutes(30));
}

describe('when a load without a goal is expected to run', () => {
  const LOADS: readonly (readonly [string, LoadConfig])[] = [
    ['a tank by its thresholds', tankLoad({ maxStartsPerHour: 60, maxStartsPerDay: 99 })],
    ['a tank with minimum times', tankLoad({ minOn: minutes(47), minOff: minutes(93), maxStartsPerDay: 99 })],
    ['a tank with a maximum time off', tankLoad({ onBelow: asPercentile(10), minOn: hours(1), maxOff: hours(5) })],
    ['a heat pump', heatingLoad({ maxStartsPerDay: 99 })],
  ];
  const rows = LOADS.flatMap(([title, load]) => [1, 2, 3].map((seed) => [title, seed, load] as const));

  it.each(rows)('is when it runs if the rates come as forecast: %s, forecast %d', (_, seed, load) => {
    const values = drawRates(seed);
    const bench = new ControlBench(buildSite(load), START);
    bench.send({ kind: 'found', levels: { [load.name]: load.initialLevel } });
    sendSlot(bench, values, 0);
    const expected = createExpectedRuns('mid')(load, bench.state, horizonFrom(values, 0));
    expect(expected.length).toBeGreaterThan(1);
    const ranked = (72 - 18) * 12;
    expect(live(bench, load.name, values, ranked).slice(0, 4)).toEqual(expected);
  });

  const values = drawRates(1);
  const expectedOf = (load: LoadConfig, change: (bench: ControlBench) => void, horizon = horizonFrom(values, 0)) => {
    const bench = new ControlBench(buildSite(load), START);
    bench.send({ kind: 'found', levels: { [load.name]: load.initialLevel } });
    sendSlot(bench, values, 0);
    change(bench);
    return createExpectedRuns('mid')(load, bench.state, horizon);
  };
  const tank = tankLoad();
  const override = { kind: 'override', load: 'tank', level: 'on', for: hours(1), source: 'remote' } as const;

  it('is not known of a load that its owner, a plan or a trip decides about, nor without a forecast', () => {
    expect(expectedOf(tank, () => {})).not.toEqual([]);
    expect(expectedOf(tank, (bench) => bench.send(override))).toEqual([]);
    expect(expectedOf(tank, (bench) => bench.send({ kind: 'pause', load: 'tank', paused: true }))).toEqual([]);
    expect(expectedOf(tank, (bench) => bench.send({ kind: 'safety', load: 'tank', tripped: true }))).toEqual([]);
    expect(expectedOf(carLoad(), () => {})).toEqual([]);
    expect(expectedOf(tank, () => {}, { ...horizonFrom(values, 0), basis: 'own-profile' })).toEqual([]);
  });

  it('stays as published while a forecast moves far times by minutes, and not while it moves near ones', () => {
    const bench = new ControlBench(buildSite(tank), START);
    bench.send({ kind: 'found', levels: { tank: 'off' } });
    // Clean from the sixth hour to the tenth, and once more after a day.
    const hourly = Array.from({ length: 72 }, (_, hour) => (hour % 24 >= 6 && hour % 24 < 10 ? 100 : 500 - hour));
    const day = buildHorizon(START, hourly).values;
    const moved = (slots: number) => ({ ...horizonFrom([...day.slice(slots), ...day.slice(0, slots)], 0) });
    sendSlot(bench, day, 0);
    const findExpectedRuns = createExpectedRuns('mid');
    const start = (slots: number) => findExpectedRuns(tank, bench.state, moved(slots))[0]?.from;
    const first = addDuration(START, hours(6));
    expect([start(0), start(2)]).toEqual([first, first]);
    expect(start(3)).toBe(addDuration(first, minutes(-15)));
    expect(start(62)).toBe(addDuration(START, minutes(50)));
    expect(start(63)).toBe(addDuration(START, minutes(45)));
  });

  it('goes by the thresholds that its owner has set', () => {
    const thresholds = { onBelow: asPercentile(0), offAbove: asPercentile(1) };
    expect(expectedOf(tank, (bench) => bench.send({ kind: 'thresholds', load: 'tank', thresholds }))).toEqual([]);
  });

  it('ends in the slot whose rank is the threshold itself', () => {
    const thresholds = { onBelow: asPercentile(50), offAbove: asPercentile(100) };
    const bench = new ControlBench(buildSite(tank), START);
    bench.send({ kind: 'found', levels: { tank: 'off' } });
    sendSlot(bench, values, 0);
    bench.send({ kind: 'thresholds', load: 'tank', thresholds });
    const [run] = createExpectedRuns('weak')(tank, bench.state, horizonFrom(values, 0));
    expect(run?.to).toBeDefined();
  });

  it('is not known of a flat day', () => {
    expect(expectedOf(tank, () => {}, { ...horizonFrom(values, 0), values: values.map(() => 500) })).toEqual([]);
  });
});
