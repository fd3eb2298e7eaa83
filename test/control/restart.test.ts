import { describe, expect, it } from 'vitest';
import { decodeControlState, encodeControlState } from '../../src/agent/control-state-codec.ts';
import type { ControlEvent } from '../../src/control/control-types.ts';
import { type ControlState, createInitialState, step } from '../../src/control/step.ts';
import {
  type Duration,
  days,
  hours,
  type Instant,
  type Kilowatt,
  minutes,
  type Uptime,
} from '../../src/domain/units.ts';
import {
  asPercentile,
  buildHorizon,
  buildIndex,
  buildSite,
  ControlBench,
  carLoad,
  daily,
  heatingLoad,
  instantFrom,
  tankLoad,
} from './control-setup.ts';

const NOON = instantFrom('2026-06-03T19:00:00Z');
const lasting = { startsUntil: (NOON + hours(9)) as Instant, validUntil: (NOON + hours(9)) as Instant };
const clean: ControlEvent = {
  kind: 'signal',
  view: { changesAt: lasting.validUntil, index: buildIndex(NOON, 10, lasting) },
};

const saved = (state: ControlState): ControlState => {
  const read = decodeControlState(encodeControlState(state));
  if ('kind' in read) throw new Error(read.detail);
  return read;
};

/** A tank that has just been told to run, and has not answered. */
function buildCommandedBench() {
  const bench = new ControlBench(buildSite(tankLoad({ maxStartsPerHour: 1, failSafe: 'off' })), NOON);
  bench.send({ kind: 'found', levels: { tank: 'off' } });
  bench.runFor(minutes(6));
  expect(bench.sendUnanswered(clean)).toEqual([{ load: 'tank', level: 'on' }]);
  return bench;
}

describe('a command under way when the process ends', () => {
  it('counts as a start when the power failed with it', () => {
    const before = buildCommandedBench();
    const after = new ControlBench(before.site, before.now.wall, { saved: saved(before.state) });
    after.send({ kind: 'found', levels: { tank: 'off' } });
    after.send(clean);
    after.runFor(minutes(20));
    expect(after.decision('tank')).toMatchObject({ level: 'off', why: 'start-budget' });
  });

  it('counts on where the clock at the boot was not to be trusted: only two trusted clocks tell how long it was off', () => {
    const before = buildCommandedBench();
    const later = (before.now.wall + hours(2)) as Instant;
    const after = new ControlBench(before.site, later, { saved: saved(before.state), trusted: false });
    after.send({ kind: 'found', levels: { tank: 'off' } });
    after.now = { ...after.now, trusted: true };
    after.send(clean);
    after.runFor(minutes(20));
    expect(after.decision('tank')).toMatchObject({ level: 'off', why: 'start-budget' });
  });

  it('counts as done within one boot: nothing is told again, and the least running time holds', () => {
    const before = buildCommandedBench();
    const { site, state, now } = before;
    const later = { ...now, wall: (now.wall + 1_000) as Instant, uptime: (now.uptime + 1_000) as Uptime };
    const woken = step(site, createInitialState(site, saved(state), 'same-boot'), { kind: 'found', levels: {} }, later);
    expect(woken.commands).toEqual([]);
    const dirty: ControlEvent = {
      kind: 'signal',
      view: { changesAt: lasting.validUntil, index: buildIndex(NOON, 90, lasting) },
    };
    const next = step(site, woken.state, dirty, later);
    expect([next.commands, next.state.loads[0]?.level, next.decisions[0]?.why]).toEqual([[], 'on', 'min-on']);
  });
});

/** What could not be saved: the state is that of a moment after which the load may have been switched. */
describe('a restart on an older state of the same boot', () => {
  const dirty = { changesAt: lasting.validUntil, index: buildIndex(NOON, 90, lasting) };
  const pump = { minOn: minutes(30), minOff: minutes(15), maxStartsPerHour: 1, failSafe: 'off' } as const;
  const nightlyGoal = { need: { kind: 'time', time: hours(6) }, by: daily(7 * 60), armedBy: 'schedule' } as const;

  /** A tank that has run, or rested, for an hour when its state was saved, and is found so `later`. */
  const restart = (level: 'on' | 'off', kind: 'same-boot' | 'old-state', later: number) => {
    const before = new ControlBench(buildSite(tankLoad({ ...pump, goal: nightlyGoal })), NOON);
    before.send({ kind: 'found', levels: { tank: 'off' } });
    before.send(level === 'on' ? clean : { kind: 'signal', view: dirty });
    before.runFor(hours(1.5));
    before.send({ kind: 'tick' });
    expect(before.level('tank')).toBe(level);
    const uptime = (before.now.uptime + minutes(later)) as Uptime;
    const wall = (before.now.wall + minutes(later)) as Instant;
    const after = new ControlBench(before.site, wall, { saved: saved(before.state), restart: kind, uptime });
    const doneBefore = before.state.loads[0]?.job?.done ?? 0;
    after.send({ kind: 'found', levels: { tank: level } });
    const [one] = after.state.loads;
    after.send(level === 'on' ? { kind: 'signal', view: dirty } : clean);
    return [after.decision('tank').why, (one?.starts ?? []).length, Math.round((one?.job?.done ?? 0) - doneBefore)];
  };

  it.each([
    // found, state, minutes later: why it is as it is, starts counted, minutes of its job that count as done
    ['on', 'same-boot', 180, ['dirty', 1, 180]],
    ['on', 'old-state', 14, ['dirty', 1, 14]], // too short for a pause and a start
    ['on', 'old-state', 15, ['min-on', 2, 0]],
    ['on', 'old-state', 180, ['min-on', 2, 0]],
    ['off', 'same-boot', 180, ['clean', 0, 0]],
    ['off', 'old-state', 29, ['clean', 0, 0]], // too short for a run
    ['off', 'old-state', 30, ['min-off', 0, 0]],
  ] as const)('found %s on the %s of %i minutes ago: %j', (level, kind, later, [why, starts, done]) => {
    expect(restart(level, kind, later)).toEqual([why, starts, minutes(done)]);
  });

  it.each([
    ['old-state', minutes(91 + 60)],
    ['other-boot', minutes(1)],
  ] as const)('%s: lets a load be off no longer for that', (restart, uptime) => {
    const tank = tankLoad({ ...pump, maxOff: hours(3) });
    const before = new ControlBench(buildSite(tank), NOON);
    before.send({ kind: 'found', levels: { tank: 'off' } });
    before.send({ kind: 'signal', view: dirty });
    before.runFor(hours(1.5));
    before.send({ kind: 'tick' });
    const wall = (before.now.wall + minutes(60)) as Instant;
    const at = uptime as number as Uptime;
    const after = new ControlBench(before.site, wall, { saved: saved(before.state), restart, uptime: at });
    after.send({ kind: 'found', levels: { tank: 'off' } });
    after.send({ kind: 'signal', view: dirty });
    after.runFor(hours(4));
    const switches = after.switches.map(({ at, level, why }) => [(at - wall) / minutes(1), level, why]);
    // Off for an hour and a half before, and for one while the agent was away; then for three.
    expect(switches).toEqual([
      [30, 'on', 'max-off'],
      [60, 'off', 'dirty'],
      [240, 'on', 'max-off'],
    ]);
  });

  it('lets a block last no longer for that', () => {
    const before = new ControlBench(buildSite(heatingLoad({ blockAbove: asPercentile(85) })), NOON);
    before.send({ kind: 'found', levels: { heating: 'normal' } });
    before.send({ kind: 'signal', view: dirty });
    before.runFor(minutes(11)); // A block since a minute, after the minimum time of the state before.
    expect(before.level('heating')).toBe('block');
    const { wall, uptime } = before.now;
    const after = new ControlBench(before.site, (wall + minutes(90)) as Instant, {
      saved: saved(before.state),
      restart: 'old-state',
      uptime: (uptime + minutes(90)) as Uptime,
    });
    after.send({ kind: 'found', levels: { heating: 'block' } });
    after.send({ kind: 'signal', view: dirty });
    after.runFor(minutes(28));
    expect(after.level('heating')).toBe('block');
    after.runFor(minutes(2));
    expect(after.level('heating')).toBe('normal');
  });
});

describe('a clock that is set', () => {
  const EVENING = instantFrom('2026-06-04T01:00:00Z');
  const night = [90, 80, 70, 60, 50, 40, 30, 20, 20, 20, 20, 90, 90, 90, 90, 90];
  const plugged = () => {
    const bench = new ControlBench(buildSite(carLoad()), EVENING);
    bench.send({ kind: 'found', levels: { car: 'off' } });
    bench.sendSignal({ horizon: buildHorizon(EVENING, night) });
    return bench;
  };
  const jump = (bench: ControlBench, by: Duration) => {
    bench.now = { ...bench.now, wall: (bench.now.wall + by) as Instant };
    bench.send({ kind: 'tick' });
  };

  const indexNow = ({ now }: ControlBench, value: number) => {
    const until = (now.wall + hours(2)) as Instant;
    return buildIndex(now.wall, value, { startsUntil: until, validUntil: until });
  };
  /** A tank that may start twice a day, and one start of it. */
  const buildTank = () => {
    const limits = { maxStartsPerDay: 2, maxStartsPerHour: 2, minOn: minutes(5), minOff: minutes(5) } as const;
    const bench = new ControlBench(buildSite(tankLoad({ ...limits, failSafe: 'off' })), NOON);
    bench.send({ kind: 'found', levels: { tank: 'off' } });
    const runOnce = () => {
      for (const [index, level] of [
        [10, 'on'],
        [90, 'off'],
      ] as const) {
        bench.sendSignal({ index: indexNow(bench, index) });
        bench.runFor(minutes(25));
        expect(bench.decision('tank').level).toBe(level);
      }
    };
    return { bench, runOnce };
  };

  it('makes the plan anew', () => {
    const bench = plugged();
    jump(bench, hours(2));
    expect(bench.state.loads[0]?.plan?.madeAt).toBe(EVENING + hours(2));
  });

  it('back to before a job began still says what will be missing', () => {
    const bench = plugged();
    bench.runFor(minutes(20));
    bench.send({ kind: 'arm', load: 'car', need: hours(3), by: (bench.now.wall + hours(1)) as Instant });
    expect(bench.decision('car')).toMatchObject({ level: 'on', why: 'must-run', job: { shortfall: hours(2) } });
    jump(bench, -hours(4) as Duration);
    expect(bench.decision('car').job?.shortfall).toBe(hours(2));
  });

  it('a day ahead gives a load no new starts: they are counted in elapsed time', () => {
    const { bench, runOnce } = buildTank();
    runOnce();
    runOnce();
    jump(bench, days(1));
    bench.sendSignal({ index: indexNow(bench, 10) });
    bench.runFor(minutes(25));
    expect(bench.decision('tank')).toMatchObject({ level: 'off', why: 'start-budget' });
  });

  it('back over a deadline finds the job with what it has had', () => {
    const bench = plugged();
    bench.runUntil((EVENING + hours(13) + minutes(1)) as Instant);
    expect(bench.state.loads[0]?.job?.done).toBe(0);
    jump(bench, -minutes(10) as Duration);
    expect(bench.decision('car')).toMatchObject({ why: 'goal-done', job: { done: hours(4) } });
  });
});

describe('power that two chargers share', () => {
  it('stays with the one that has no pause left, when the other is in time after it all the same', () => {
    const goal = (need: number, by: number) => ({
      need: { kind: 'time' as const, time: minutes(need) },
      by: daily(by),
      armedBy: 'schedule' as const,
    });
    const bare = { failSafe: 'off', maxInterruptions: 0, minOn: minutes(1), minOff: minutes(1) } as const;
    const { window: _, ...last } = carLoad({ ...bare, goal: goal(15, 9 * 60) });
    const site = { ...buildSite(last, { ...last, name: 'van', goal: goal(60, 7 * 60) }), budget: 8 as Kilowatt };
    // 05:30; the van's deadline guard would speak at 05:52.
    const bench = new ControlBench(site, instantFrom('2026-06-04T12:30:00Z'));
    bench.send({ kind: 'found', levels: { car: 'off', van: 'off' } });
    bench.runFor(minutes(14));
    bench.send({ kind: 'override', load: 'car', level: 'on', for: minutes(5), source: 'local' });
    bench.runUntil(instantFrom('2026-06-04T13:59:00Z'));
    expect(bench.switches.map(({ load, level, why }) => `${load} ${level} ${why}`)).toEqual([
      'car on override',
      'car off goal-done',
      'van on must-run',
      'van off goal-done',
    ]);
  });
});

// The fail-safe program had put it off, and the line answered with an error: the agent kept it on in its mind alone.
it('a load whose output fails at a restart is told again, once the rest it may have begun has lasted', () => {
  const before = buildCommandedBench();
  before.send({ kind: 'confirmed', load: 'tank', level: 'on' });
  before.runFor(minutes(70));
  const { wall, uptime } = before.now;
  const after = new ControlBench(before.site, wall, { saved: saved(before.state), restart: 'same-boot', uptime });
  after.send({ kind: 'found', levels: {} });
  after.send(clean);
  expect(after.sendUnanswered({ kind: 'failed', load: 'tank', disagreements: 1 })).toEqual([]);
  expect(after.decision('tank')).toMatchObject({ level: 'off', wanted: 'on', why: 'min-off' });
  after.skip(minutes(15));
  expect(after.sendUnanswered({ kind: 'tick' })).toEqual([{ load: 'tank', level: 'on' }]);
});
