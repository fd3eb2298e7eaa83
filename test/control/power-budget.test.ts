/** How a power budget is divided: who is lowered, who waits, and that no moment draws more than there is. */

import { describe, expect, it } from 'vitest';
import type { LoadCommand } from '../../src/control/control-types.ts';
import { explainDecision } from '../../src/control/explain.ts';
import { getPowerPortion } from '../../src/domain/currents.ts';
import type { Goal, LoadConfig } from '../../src/domain/load-types.ts';
import { hours, type Kilowatt, minutes, seconds } from '../../src/domain/units.ts';
import { buildCharger, buildSite, ControlBench, carLoad, daily, instantFrom, tankLoad } from './control-setup.ts';

const NOON = instantFrom('2026-06-01T19:00:00Z');

/** 16 A draw 11 kW, 6 A 4.125 kW. */
function charger(name: string, more: Partial<LoadConfig> = {}): LoadConfig {
  const {
    goal: _,
    window: __,
    ...bare
  } = carLoad({ name, output: buildCharger(name), powerKw: 11 as Kilowatt, failSafe: 'off' });
  return { ...bare, ...more };
}
const car = charger('car');
const van = charger('van');
const tank = tankLoad({ powerKw: 2 as Kilowatt });
const goalBy = (hour: number, need: number): Goal => ({
  need: { kind: 'time', time: hours(need) },
  by: daily(hour * 60),
  armedBy: 'schedule',
});

/** What the wires draw at most, while commands are on their way. */
function measurePeak(bench: ControlBench): number {
  return bench.state.loads.reduce((sum, { level, current, pending }, i) => {
    const power = bench.site.loads[i]?.powerKw ?? 0;
    const confirmed = level === 'on' ? getPowerPortion(current) : 0;
    const sent = pending?.level === 'on' ? getPowerPortion(pending.current) : 0;
    return sum + power * Math.max(confirmed, sent);
  }, 0);
}

/** All loads off and the index clean; a minute later everybody has what there is. */
function settle(budget: number, loads: readonly LoadConfig[], events: (bench: ControlBench) => void = () => {}) {
  const bench = new ControlBench({ ...buildSite(...loads), budget: budget as Kilowatt }, NOON);
  bench.delay = seconds(1);
  bench.send({ kind: 'found', levels: Object.fromEntries(loads.map(({ name }) => [name, 'off'])) });
  bench.skip(hours(1));
  events(bench);
  bench.index(10);
  for (let step = 0; step < 60; step += 1) {
    bench.runFor(seconds(1));
    expect(measurePeak(bench)).toBeLessThanOrEqual(budget + 1e-9);
  }
  return bench;
}
function passClean(bench: ControlBench, length: number) {
  for (let minute = 0; minute < length; minute += 5) {
    bench.index(10);
    bench.runFor(minutes(5));
  }
  bench.index(10);
}
const describeLoad = (bench: ControlBench, name: string) => {
  const { level, current } = bench.state.loads.find((one) => one.name === name) ?? {};
  return level !== 'on' ? 'off' : current === undefined ? 'full' : `${current.amps} A`;
};

describe('a power budget and chargers that take amperes', () => {
  //  budget   loads               what each gets
  const rows: readonly (readonly [number, readonly LoadConfig[], string])[] = [
    [22, [car, van], 'car full, van full'],
    [21, [car, van], 'car full, van 14 A'],
    [11, [car, van], 'car 10 A, van 6 A'],
    [8.25, [car, van], 'car 6 A, van 6 A'],
    [8.2, [car, van], 'car 11 A, van off'],
    [11, [car, tank], 'car 13 A, tank on'],
    [11, [tank, car], 'tank on, car 13 A'],
    [12, [car, van, tank], 'car 8 A, van 6 A, tank on'],
    [4.2, [car, tank], 'car 6 A, tank off'],
    [11, [car, charger('bus'), van], 'car 10 A, bus 6 A, van off'],
  ];
  it.each(rows)('%d kW %#', (budget, loads, expected) => {
    const bench = settle(budget, loads);
    const got = loads.map(
      ({ name }) => `${name} ${describeLoad(bench, name).replace(name === 'tank' ? 'full' : '-', 'on')}`,
    );
    expect(got.join(', ')).toBe(expected);
  });

  it('a person and a deadline come first and are not lowered for others', () => {
    const bench = settle(15.2, [car, van], (one) =>
      one.send({ kind: 'override', load: 'van', level: 'on', for: hours(1), source: 'local' }),
    );
    expect([describeLoad(bench, 'car'), describeLoad(bench, 'van')]).toEqual(['6 A', 'full']);
    expect(bench.decision('car').current).toEqual({ amps: 6, of: 16 });
  });

  it('one that must run by its deadline gets all that the other is not bound to keep', () => {
    const late = charger('car', { goal: goalBy(18, 3) });
    const bench = settle(11, [late, van]);
    bench.runUntil(instantFrom('2026-06-01T23:00:00Z'));
    bench.index(10);
    bench.runFor(minutes(1));
    expect(bench.decision('car').why).toBe('must-run');
    expect([describeLoad(bench, 'car'), describeLoad(bench, 'van')]).toEqual(['full', 'off']);
  });

  it('a charger is raised again when the other stops, and lowered before the other starts', () => {
    const bench = settle(11, [car, van]);
    bench.send({ kind: 'override', load: 'van', level: 'off', for: hours(1), source: 'local' });
    passClean(bench, 40);
    expect([describeLoad(bench, 'car'), describeLoad(bench, 'van')]).toEqual(['full', 'off']);
    bench.send({ kind: 'clear', load: 'van' });
    for (let step = 0; step < 10; step += 1) {
      bench.runFor(seconds(1));
      expect(measurePeak(bench)).toBeLessThanOrEqual(11 + 1e-9);
    }
    expect([describeLoad(bench, 'car'), describeLoad(bench, 'van')]).toEqual(['10 A', '6 A']);
    const starts = bench.state.loads.map(({ starts: all }) => all.length);
    expect(starts).toEqual([1, 2]);
  });

  it('after a restart a charger counts with its own current until it has reported or confirmed a lower one', () => {
    const { site, state, now } = settle(15.2, [car, charger('van', { minOff: minutes(0) })], (one) =>
      one.send({ kind: 'override', load: 'van', level: 'on', for: hours(1), source: 'local' }),
    );
    const restart = () => new ControlBench(site, now.wall, { saved: state, restart: 'same-boot', uptime: now.uptime });
    const again = restart();
    const levels = { car: 'on', van: 'off' } as const;
    const list = (commands: readonly LoadCommand[]) =>
      commands.map(({ load, level, current }) => `${load} ${level} ${current?.amps}`);
    expect(list(again.sendUnanswered({ kind: 'found', levels }))).toEqual(['car on 6', 'van on 6']);
    expect(list(again.sendUnanswered({ kind: 'confirmed', load: 'car', level: 'on' }))).toEqual(['van on undefined']);
    expect(list(restart().sendUnanswered({ kind: 'found', levels, amps: { car: 6 } }))).toEqual(['van on undefined']);
  });

  it('progress counts in proportion to the current, and the owner reads why', () => {
    const bench = settle(11, [charger('car', { goal: goalBy(23, 1), alsoBelow: car.onBelow }), van]);
    const readDone = () => bench.state.loads[0]?.job?.done ?? 0;
    bench.index(10);
    const before = readDone();
    passClean(bench, 10);
    expect(describeLoad(bench, 'car')).toBe('10 A');
    expect(readDone() - before).toBeCloseTo((10 / 16) * minutes(10), 6);
    expect(explainDecision(bench.decision('car'), bench.site.timezone)).toMatch(
      /, with 10 A of 16 A because others need power/,
    );
  });
});
