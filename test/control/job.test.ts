import { describe, expect, it } from 'vitest';
import { hours, type Instant, type Kilowatt, type KilowattHour, minutes } from '../../src/domain/units.ts';
import {
  asPercentile,
  buildHorizon,
  buildIndex,
  buildSite,
  ControlBench,
  carLoad,
  daily,
  instantFrom,
  tankLoad,
} from './control-setup.ts';

/** 18:00 local; the deadline 07:00 is 13 hours away. */
const EVENING = instantFrom('2026-06-04T01:00:00Z');
const DEADLINE = instantFrom('2026-06-04T14:00:00Z');
//                   18  19  20  21  22  23  00  01  02  03  04  05  06  07
const NIGHT_HOURS = [80, 90, 90, 70, 60, 50, 40, 20, 20, 20, 20, 40, 60, 70, 70, 70];

function plugged(hourly: readonly number[] = NIGHT_HOURS, over = {}) {
  const bench = new ControlBench(buildSite(carLoad(over)), EVENING);
  bench.send({ kind: 'confirmed', load: 'car', level: 'off' });
  bench.sendSignal({ horizon: buildHorizon(EVENING, hourly) });
  return bench;
}

const shortly = (bench: ControlBench) =>
  bench.switches.map(
    ({ at: when, level, why }) => `${new Date(when - hours(7)).toISOString().slice(11, 16)} ${level} ${why}`,
  );

describe('an electric car, 4 h by 07:00', () => {
  it('charges in the cleanest four hours', () => {
    const bench = plugged();
    expect(bench.decision('car')).toMatchObject({
      level: 'off',
      why: 'plan-waits',
      priority: 7,
      next: { level: 'on', at: instantFrom('2026-06-04T08:00:00Z') },
    });
    bench.runUntil(instantFrom('2026-06-04T13:59:00Z'));
    expect(shortly(bench)).toEqual(['01:00 on planned', '05:00 off goal-done']);
    expect(bench.decision('car').job).toMatchObject({ done: hours(4), shortfall: 0 });
  });

  it('splits the night when a dirty hour lies between, and only as often as allowed', () => {
    const split = plugged([80, 90, 20, 20, 90, 90, 90, 90, 20, 20, 90, 90, 90, 90]);
    split.runUntil(DEADLINE);
    expect(shortly(split)).toEqual([
      '20:00 on planned',
      '22:00 off plan-waits',
      '02:00 on planned',
      '04:00 off goal-done',
    ]);
    const once = plugged([80, 90, 20, 20, 90, 90, 90, 90, 20, 20, 90, 90, 90, 90], { maxInterruptions: 0 });
    once.runUntil(DEADLINE);
    expect(once.switches.filter(({ level }) => level === 'on')).toHaveLength(1);
    expect(once.state.loads[0]?.previousJob?.done).toBe(hours(4));
  });

  it("a goal in kilowatt hours is time at the load's power", () => {
    const bench = plugged(NIGHT_HOURS, {
      goal: { need: { kind: 'energy', energy: 14.4 as KilowattHour }, by: daily(420), armedBy: 'schedule' },
    });
    expect(bench.decision('car').job?.need).toBe(hours(2));
  });

  it('the deadline guard starts it when the plan was lost, and it is done in time', () => {
    const bench = plugged(NIGHT_HOURS, { window: undefined, failSafe: 'off' });
    bench.sendSignal({});
    bench.runUntil((DEADLINE - 1) as Instant);
    expect(shortly(bench)).toEqual(['02:43 on must-run', '06:43 off goal-done']);
  });

  it('an impossible goal runs at once and says what will be missing', () => {
    const bench = new ControlBench(buildSite(carLoad()), instantFrom('2026-06-04T11:30:00Z'));
    bench.send({ kind: 'confirmed', load: 'car', level: 'off' });
    bench.sendSignal({ horizon: buildHorizon(instantFrom('2026-06-04T11:00:00Z'), [90, 10, 10, 10]) });
    expect(bench.decision('car')).toMatchObject({
      wanted: 'on',
      wantedWhy: 'must-run',
      why: 'min-off',
      job: { shortfall: hours(1.75) },
    });
    bench.runUntil(instantFrom('2026-06-04T13:59:00Z'));
    expect(shortly(bench)).toEqual(['04:45 on must-run']);
    expect(bench.decision('car').job?.shortfall).toBe(hours(1.75));
  });

  it('goes on without a pause left, when the index is dirty and when none comes any more', () => {
    const bench = plugged(NIGHT_HOURS, { maxInterruptions: 0, window: undefined, failSafe: 'off' });
    const valid = (EVENING + hours(1)) as Instant;
    bench.sendSignal({ index: buildIndex(EVENING, 10, { startsUntil: valid, validUntil: valid }) });
    bench.runFor(minutes(30));
    expect(bench.level('car')).toBe('on');
    bench.sendSignal({ index: buildIndex(bench.now.wall, 90) });
    expect(bench.decision('car')).toMatchObject({ level: 'on', wanted: 'off', why: 'last-run', wantedWhy: 'dirty' });
    bench.runUntil(DEADLINE);
    expect(shortly(bench)).toEqual(['18:15 on clean', '22:15 off goal-done']);
  });

  it('what ran before a job begins is none of it', () => {
    const bench = plugged(NIGHT_HOURS, {
      goal: { need: { kind: 'time', time: hours(4) }, by: daily(420), from: 20 * 60, armedBy: 'schedule' },
    });
    bench.send({ kind: 'override', load: 'car', level: 'on', for: hours(3), source: 'local' });
    bench.runUntil(instantFrom('2026-06-04T04:00:00Z'));
    expect(bench.decision('car').job?.done).toBe(hours(1));
  });

  it('waits for the time from which it may run', () => {
    const bench = plugged([1, 1, 1, 1, 1, 60, 60, 60, 60, 60, 60, 60, 60, 60], {
      goal: { need: { kind: 'time', time: hours(4) }, by: daily(420), from: 23 * 60, armedBy: 'schedule' },
    });
    bench.runUntil(DEADLINE);
    expect(shortly(bench)[0]).toBe('23:00 on planned');
  });

  it('is not forced before the time from which it may run, though its need fills the rest of the night', () => {
    const bench = plugged(NIGHT_HOURS, {
      goal: { need: { kind: 'time', time: hours(8) }, by: daily(420), from: 23 * 60, armedBy: 'schedule' },
    });
    bench.runUntil(DEADLINE);
    expect(shortly(bench)[0]).toMatch(/^23:00 on /);
  });

  it('plans anew for each forecast and only then', () => {
    const bench = plugged();
    const first = bench.state.loads[0]?.plan;
    bench.runFor(minutes(5));
    bench.sendSignal({ horizon: buildHorizon(EVENING, NIGHT_HOURS) });
    expect(bench.state.loads[0]?.plan).toBe(first);
    const later = [80, 90, 10, 10, 10, 10, 90, 90, 90, 90, 90, 90, 90, 90];
    bench.sendSignal({ horizon: buildHorizon(EVENING, later, { generatedAt: bench.now.wall }) });
    bench.runUntil(DEADLINE);
    expect(shortly(bench)).toEqual(['20:00 on planned', '00:00 off goal-done']);
  });

  it('a commanded job is armed when the plug goes in and not before', () => {
    const bench = plugged(NIGHT_HOURS, {
      goal: { need: { kind: 'time', time: hours(4) }, by: daily(420), armedBy: 'command' },
    });
    expect(bench.decision('car')).toMatchObject({ level: 'off', why: 'not-armed', basis: 'fresh-forecast' });
    bench.send({ kind: 'arm', load: 'car', need: hours(2), by: instantFrom('2026-06-04T11:00:00Z') });
    expect(bench.decision('car')).toMatchObject({ why: 'plan-waits', job: { need: hours(2) } });
    bench.runUntil(instantFrom('2026-06-04T10:59:00Z'));
    expect(shortly(bench)).toEqual(['01:00 on planned', '03:00 off goal-done']);
    bench.runUntil(instantFrom('2026-06-04T12:00:00Z'));
    expect(bench.decision('car').why).toBe('not-armed');
  });

  it('a load without a job and a signal goes by its window, if it has one', () => {
    const car = carLoad({ goal: { need: { kind: 'time', time: hours(4) }, by: daily(420), armedBy: 'command' } });
    const { window: _, ...windowless } = carLoad({ name: 'van', ...(car.goal && { goal: car.goal }) });
    const bench = new ControlBench(buildSite(car, windowless), EVENING);
    bench.sendSignal({});
    expect(bench.decision('car')).toMatchObject({ why: 'not-armed', basis: 'default-window' });
    expect(bench.decision('van')).toMatchObject({ why: 'not-armed', basis: 'fail-safe' });
  });

  it('two chargers under one budget take turns and both are done', () => {
    const two = { ...buildSite(carLoad(), carLoad({ name: 'van' })), budget: 8 as Kilowatt };
    const bench = new ControlBench(two, EVENING);
    for (const load of ['car', 'van']) bench.send({ kind: 'confirmed', load, level: 'off' });
    bench.sendSignal({ horizon: buildHorizon(EVENING, NIGHT_HOURS) });
    const gap = bench.state.loads[0]?.plan?.optimalityGap ?? 0;
    expect(gap).toBeGreaterThan(0);
    let both = false;
    while (bench.now.wall < DEADLINE - minutes(1)) {
      bench.runFor(minutes(1));
      both ||= bench.level('car') === 'on' && bench.level('van') === 'on';
    }
    expect(both).toBe(false);
    for (const load of ['car', 'van']) expect(bench.decision(load).job?.done).toBe(hours(4));
  });

  it('without a signal two chargers under one budget begin early enough for both', () => {
    const { window: _, ...bare } = carLoad({ failSafe: 'off' });
    const bench = new ControlBench({ ...buildSite(bare, { ...bare, name: 'van' }), budget: 8 as Kilowatt }, EVENING);
    bench.send({ kind: 'found', levels: { car: 'off', van: 'off' } });
    bench.sendSignal({});
    bench.runUntil((DEADLINE - 1) as Instant);
    expect(shortly(bench)).toEqual([
      '22:26 on must-run',
      '02:26 off goal-done',
      '02:43 on must-run',
      '06:43 off goal-done',
    ]);
  });

  it('leaves no time for one that is only observed', () => {
    const { window: _, ...bare } = carLoad({ failSafe: 'off' });
    const observed = { ...bare, name: 'van', observeOnly: true };
    const bench = new ControlBench({ ...buildSite(bare, observed), budget: 8 as Kilowatt }, EVENING);
    bench.send({ kind: 'found', levels: { car: 'off', van: 'off' } });
    bench.sendSignal({});
    bench.runUntil((DEADLINE - 1) as Instant);
    expect(shortly(bench)).toEqual(['02:43 on must-run', '06:43 off goal-done']);
  });
});

describe('beyond a goal that is met', () => {
  //  index  run  why
  const rows = [
    [5, 'on', 'clean'],
    [14.9, 'on', 'between'],
    [15, 'off', 'goal-done'],
    [10, 'off', 'goal-done'],
    [4, 'on', 'clean'],
  ] as const;
  it('a load with alsoBelow 5 runs on clean hours, with the hysteresis of its thresholds', () => {
    const { window: _, ...car } = carLoad({ alsoBelow: asPercentile(5), minOn: minutes(0), minOff: minutes(0) });
    const bench = new ControlBench(buildSite(car), EVENING);
    bench.send({ kind: 'found', levels: { car: 'off' } });
    bench.send({ kind: 'arm', load: 'car', need: minutes(1), by: DEADLINE });
    bench.sendSignal({ horizon: buildHorizon(EVENING, [10, 90, 90, 90]) });
    bench.runFor(minutes(5));
    expect(bench.decision('car')).toMatchObject({ level: 'off', why: 'goal-done' });
    for (const [index, level, why] of rows) {
      bench.runFor(minutes(5));
      bench.index(index);
      expect([index, bench.decision('car').level, bench.decision('car').why]).toEqual([index, level, why]);
    }
  });

  it('a load without it stays off', () => {
    const bench = plugged();
    bench.runUntil(instantFrom('2026-06-04T12:30:00Z'));
    bench.index(0);
    expect(bench.decision('car')).toMatchObject({ level: 'off', why: 'goal-done' });
  });
});

describe('a tank that may be off for 6 hours at most', () => {
  const tank = tankLoad({ maxOff: hours(6), failSafe: 'off' });
  const timesOf = (bench: ControlBench) => bench.switches.map(({ at }) => (at - EVENING) / 60_000);

  it('runs for its minimum time on, again and again, without any signal', () => {
    const bench = new ControlBench(buildSite(tank), EVENING);
    bench.send({ kind: 'found', levels: { tank: 'off' } });
    bench.runFor(hours(13));
    expect(timesOf(bench)).toEqual([360, 365, 725, 730]);
    expect(bench.switches.map(({ why }) => why)).toEqual(['max-off', 'no-data', 'max-off', 'no-data']);
  });

  it('runs though the index is dirty, and counts anew from each run', () => {
    const bench = new ControlBench(buildSite(tank), EVENING);
    bench.send({ kind: 'found', levels: { tank: 'off' } });
    for (let slot = 0; slot < 12 * 10; slot++) {
      bench.index(slot === 36 ? 10 : 90);
      bench.runFor(minutes(5));
    }
    expect(timesOf(bench)).toEqual([180, 185, 545, 550]);
  });

  it('stays off while an override says so', () => {
    const bench = new ControlBench(buildSite(tank), EVENING);
    bench.send({ kind: 'found', levels: { tank: 'off' } });
    bench.send({ kind: 'override', load: 'tank', level: 'off', for: hours(8), source: 'local' });
    bench.runFor(hours(9));
    expect(timesOf(bench)).toEqual([480, 485]);
  });
});
