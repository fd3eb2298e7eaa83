import { describe, expect, it } from 'vitest';
import { hours, type Instant, minutes } from '../../src/domain/units.ts';
import { buildSite, ControlBench, heatingLoad, instantFrom, tankLoad } from './control-setup.ts';

/** 12:00 and 06:00 local. */
const NOON = instantFrom('2026-06-03T19:00:00Z');
const MORNING = instantFrom('2026-06-03T13:00:00Z');

/** A tank that has been at `held` for an hour, told `value`. */
function tankAt(level: 'on' | 'off') {
  const bench = new ControlBench(buildSite(tankLoad()), NOON);
  bench.send({ kind: 'confirmed', load: 'tank', level: 'off' });
  bench.runFor(minutes(6));
  bench.index(level === 'on' ? 5 : 90);
  bench.runFor(minutes(9));
  return bench;
}

describe('a tank on a threshold', () => {
  //  held   index  load   why
  const rows = [
    ['off', 32, 'on', 'clean'],
    ['off', 33, 'on', 'clean'],
    ['off', 33.1, 'off', 'between'],
    ['off', 42.9, 'off', 'between'],
    ['off', 43, 'off', 'dirty'],
    ['on', 33, 'on', 'clean'],
    ['on', 34, 'on', 'between'],
    ['on', 42.9, 'on', 'between'],
    ['on', 43, 'off', 'dirty'],
    ['on', 100, 'off', 'dirty'],
    ['off', 0, 'on', 'clean'],
  ] as const;
  it.each(rows)('%s, index %d: %s, %s', (level, value, load, why) => {
    const bench = tankAt(level);
    expect(bench.level('tank')).toBe(level);
    bench.index(value);
    expect([bench.level('tank'), bench.decision('tank').why]).toEqual([load, why]);
    expect(bench.decision('tank')).toMatchObject({ priority: 8, basis: 'live-index' });
  });

  it('a flat day starts nothing and stops nothing', () => {
    for (const level of ['on', 'off'] as const) {
      const bench = tankAt(level);
      bench.index(50, { flat: true });
      expect([bench.level('tank'), bench.decision('tank').why]).toEqual([level, 'flat']);
    }
  });

  it('an index past its period keeps the level and starts nothing', () => {
    const clean = tankAt('off');
    clean.index(10, { startsUntil: clean.now.wall });
    expect(clean.level('tank')).toBe('off');
    expect(clean.decision('tank')).toMatchObject({ why: 'ageing', wantedWhy: 'clean', priority: 8 });
    const running = tankAt('on');
    running.index(10, { startsUntil: running.now.wall });
    expect([running.level('tank'), running.decision('tank').why]).toEqual(['on', 'clean']);
  });

  it('falls to its fail-safe level the moment the index expires', () => {
    const bench = tankAt('off');
    bench.index(90);
    const expires = (bench.now.wall + minutes(10)) as Instant;
    bench.runUntil((expires - 1) as Instant);
    expect(bench.level('tank')).toBe('off');
    bench.runUntil(expires);
    expect([bench.level('tank'), bench.decision('tank').why, bench.decision('tank').basis]).toEqual([
      'on',
      'no-data',
      'fail-safe',
    ]);
  });
});

describe('a heat pump on SG-Ready', () => {
  function heatingAt(value: number, over = {}) {
    const bench = new ControlBench(buildSite(heatingLoad(over)), MORNING);
    bench.send({ kind: 'confirmed', load: 'heating', level: 'normal' });
    bench.runFor(minutes(20));
    bench.index(value);
    return bench;
  }
  //  index  level        why
  const rows = [
    [20, 'recommend', 'clean'],
    [40, 'normal', 'between'],
    [70, 'normal', 'dirty'],
    [95, 'block', 'dirty'],
    [4, 'force', 'clean'],
  ] as const;
  it.each(rows)('index %d: %s, %s', (value, level, why) => {
    const bench = heatingAt(value, { blockAbove: 90, forceBelow: 5 });
    expect([bench.level('heating'), bench.decision('heating').why]).toEqual([level, why]);
  });

  it('never blocks or forces unless told to', () => {
    expect(heatingAt(100).level('heating')).toBe('normal');
    expect(heatingAt(0).level('heating')).toBe('recommend');
  });

  it('keeps a recommendation for the minimum time, then lets go', () => {
    const bench = heatingAt(20);
    const started = bench.now.wall;
    bench.runFor(minutes(5));
    bench.index(80, { validUntil: (started + hours(2)) as Instant });
    expect(bench.decision('heating')).toMatchObject({
      level: 'recommend',
      wanted: 'normal',
      why: 'min-on',
      wantedWhy: 'dirty',
      priority: 2,
      until: started + minutes(30),
    });
    bench.runUntil((started + minutes(30)) as Instant);
    expect(bench.level('heating')).toBe('normal');
  });

  it('a block ends after two hours, whatever the grid does', () => {
    const bench = heatingAt(95, { blockAbove: 90 });
    const started = bench.now.wall;
    bench.index(95, { validUntil: (started + hours(9)) as Instant, startsUntil: (started + hours(9)) as Instant });
    bench.runUntil((started + hours(2) - 1) as Instant);
    expect(bench.level('heating')).toBe('block');
    bench.runUntil((started + hours(2)) as Instant);
    expect(bench.level('heating')).toBe('normal');
    expect(bench.switches.at(-1)?.why).toBe('block-limit');
    bench.runUntil((started + hours(9)) as Instant);
    const blocks = bench.switches.filter(({ level }) => level === 'block').map(({ at }) => (at - started) / hours(1));
    expect(blocks).toHaveLength(3);
  });

  it('a block ends in time even while a longer pause keeps the load from running', () => {
    const bench = heatingAt(95, { blockAbove: 90, minOff: hours(3) });
    const started = bench.now.wall;
    const lasting = { validUntil: (started + hours(9)) as Instant, startsUntil: (started + hours(9)) as Instant };
    bench.index(95, lasting);
    bench.runUntil((started + minutes(30)) as Instant);
    bench.index(10, lasting);
    expect([bench.level('heating'), bench.decision('heating').why]).toEqual(['block', 'min-off']);
    bench.runUntil((started + hours(2)) as Instant);
    expect([bench.level('heating'), bench.decision('heating').why]).toEqual(['normal', 'min-off']);
  });

  it('without data it follows its daily window, then is left alone', () => {
    const bench = heatingAt(80);
    bench.runUntil(instantFrom('2026-06-03T17:00:00Z'));
    expect([bench.level('heating'), bench.decision('heating').why]).toEqual(['recommend', 'window']);
    bench.runUntil(instantFrom('2026-06-03T22:00:00Z'));
    expect([bench.level('heating'), bench.decision('heating').why]).toEqual(['normal', 'outside-window']);
  });
});
