/** What the owner sets while the agent runs, a pause and thresholds: what they do, and that they outlive a restart. */

import { describe, expect, it } from 'vitest';
import { decodeControlState, encodeControlState } from '../../src/agent/control-state-codec.ts';
import { createInitialState, step } from '../../src/control/step.ts';
import type { Level } from '../../src/domain/load-types.ts';
import { changeThresholds, getThresholds } from '../../src/domain/thresholds.ts';
import { hours, minutes, type Percentile } from '../../src/domain/units.ts';
import { buildSite, ControlBench, carLoad, instantFrom, tankLoad } from './control-setup.ts';

const NOON = instantFrom('2026-06-03T19:00:00Z');
const percent = (value: number) => value as Percentile;

function tankBench(failSafe: Level = 'on') {
  const bench = new ControlBench(buildSite(tankLoad({ failSafe })), NOON);
  bench.send({ kind: 'confirmed', load: 'tank', level: 'off' });
  bench.index(90);
  bench.runFor(minutes(20));
  return bench;
}
const pause = (paused = true) => ({ kind: 'pause', load: 'tank', paused }) as const;

describe('a pause', () => {
  //  fail-safe  index  level
  const rows = [
    ['on', 90, 'on'],
    ['off', 10, 'off'],
  ] as const;
  it.each(rows)('keeps a load with the fail-safe level %s at it, index %d', (failSafe, index, level) => {
    const bench = tankBench(failSafe);
    bench.send(pause());
    bench.index(index);
    bench.runFor(minutes(30));
    expect([bench.level('tank'), bench.decision('tank').why]).toEqual([level, 'paused']);
    expect(bench.decision('tank').priority).toBe(5);
  });

  it('yields to an override and goes on after it, until resumed', () => {
    const bench = tankBench('off');
    bench.send(pause());
    bench.send({ kind: 'override', load: 'tank', level: 'on', for: minutes(10), source: 'remote' });
    expect(bench.level('tank')).toBe('on');
    bench.runFor(minutes(16));
    bench.index(10);
    expect(bench.level('tank')).toBe('off');
    bench.runFor(minutes(6));
    bench.send(pause(false));
    bench.index(10);
    bench.runFor(minutes(5));
    expect([bench.level('tank'), bench.decision('tank').why]).toEqual(['on', 'clean']);
  });

  it('lets a deadline pass', () => {
    const load = carLoad({ failSafe: 'off' });
    const bench = new ControlBench(buildSite(load), NOON);
    bench.send({ kind: 'arm', load: load.name, need: hours(2), by: instantFrom('2026-06-03T22:00:00Z') });
    bench.send({ kind: 'pause', load: load.name, paused: true });
    bench.runFor(hours(3));
    expect([bench.level(load.name), bench.decision(load.name).why]).toEqual(['off', 'paused']);
  });
});

describe('thresholds', () => {
  const set = (onBelow?: number, offAbove?: number) =>
    ({
      kind: 'thresholds',
      load: 'tank',
      thresholds: {
        ...(onBelow === undefined ? {} : { onBelow: percent(onBelow) }),
        ...(offAbove === undefined ? {} : { offAbove: percent(offAbove) }),
      },
    }) as const;

  it('count at once, and are the configured ones again when none are given', () => {
    const bench = tankBench('off');
    bench.index(50);
    expect(bench.level('tank')).toBe('off');
    bench.send(set(60));
    bench.runFor(minutes(5));
    expect([bench.level('tank'), bench.decision('tank').threshold]).toEqual(['on', 60]);
    bench.runFor(minutes(5));
    bench.index(50);
    bench.send(set());
    expect(bench.decision('tank')).toMatchObject({ level: 'off', why: 'dirty', threshold: 43 });
  });

  //  given       on  off
  const rows = [
    [{ onBelow: percent(60) }, 60, 60],
    [{ offAbove: percent(20) }, 20, 20],
    [{ onBelow: percent(10) }, 10, 43],
    [{ onBelow: percent(10), offAbove: percent(90) }, 10, 90],
  ] as const;
  it.each(rows)('%j: the other moves along where it must', (given, onBelow, offAbove) => {
    const load = tankLoad();
    expect(getThresholds(load, changeThresholds(load, undefined, given))).toEqual({ onBelow, offAbove });
  });

  it('end when the configuration names others', () => {
    const owner = changeThresholds(tankLoad(), undefined, { onBelow: percent(60) });
    const edited = tankLoad({ onBelow: percent(20) });
    expect(getThresholds(edited, owner)).toEqual({ onBelow: 20, offAbove: 43 });
  });
});

it('both outlive a restart, and a state that was saved before there were any is read', () => {
  const site = buildSite(tankLoad());
  const now = { wall: NOON, uptime: 0, trusted: true } as Parameters<typeof step>[3];
  const first = step(site, createInitialState(site, undefined, 'other-boot'), pause(), now).state;
  const moved = { kind: 'thresholds', load: 'tank', thresholds: { onBelow: percent(60) } } as const;
  const text = encodeControlState(step(site, first, moved, now).state);
  const read = decodeControlState(text);
  if ('kind' in read) throw new Error(read.detail);
  const [restarted] = createInitialState(site, read, 'other-boot').loads;
  expect([restarted?.paused, restarted?.thresholds?.onBelow]).toEqual([true, 60]);
  const { paused, thresholds, ...older } = JSON.parse(text).loads[0];
  const before = decodeControlState(JSON.stringify({ ...JSON.parse(text), loads: [older] }));
  expect('kind' in before ? before : before.loads[0]).toMatchObject({ paused: false, thresholds: undefined });
});
