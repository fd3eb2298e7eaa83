/** The vehicle at a charger: gone it suspends a job, back it has the rest planned anew, full it ends it; where the plug arms, it arms and disarms. */

import { describe, expect, it } from 'vitest';
import { decodeControlState, encodeControlState } from '../../src/agent/control-state-codec.ts';
import { hours, minutes } from '../../src/domain/units.ts';
import { buildHorizon, buildSite, ControlBench, carLoad, daily, instantFrom } from './control-setup.ts';

/** 18:00 local; the deadline 07:00 is 13 hours away. */
const EVENING = instantFrom('2026-06-04T01:00:00Z');
const hour = (local: number) => instantFrom(new Date(EVENING + hours(local - 18)).toISOString());
//                   18  19  20  21  22  23  00  01  02  03  04  05  06  07
const NIGHT_HOURS = [80, 90, 90, 70, 60, 50, 40, 20, 20, 20, 20, 40, 60, 70, 70, 70];

function atCharger(over = {}) {
  const bench = new ControlBench(buildSite(carLoad(over)), EVENING);
  bench.send({ kind: 'confirmed', load: 'car', level: 'off' });
  bench.sendSignal({ horizon: buildHorizon(EVENING, NIGHT_HOURS) });
  const see = (vehicle: 'away' | 'connected' | 'full') => bench.send({ kind: 'vehicle', load: 'car', vehicle });
  return { bench, see };
}

const switchesOf = (bench: ControlBench) =>
  bench.switches.map(
    ({ at: when, level, why }) => `${new Date(when - hours(7)).toISOString().slice(11, 16)} ${level} ${why}`,
  );

const armedByPlug = { goal: { need: { kind: 'time', time: hours(4) }, by: daily(420), armedBy: 'plug' } };

describe('the vehicle of a job "4 h by 07:00"', () => {
  it('away: nothing runs, no deadline forces it, and nothing is done', () => {
    const { bench, see } = atCharger();
    see('away');
    bench.runUntil(hour(24 + 6.9));
    expect(bench.switches).toEqual([]);
    expect(bench.decision('car')).toMatchObject({ level: 'off', why: 'vehicle-away', job: { done: 0 } });
  });

  it('back before the deadline: the rest is planned anew', () => {
    const { bench, see } = atCharger();
    see('away');
    bench.runUntil(hour(24 + 2));
    see('connected');
    bench.runUntil(hour(24 + 6.9));
    expect(switchesOf(bench)).toEqual(['02:00 on planned', '06:00 off goal-done']);
  });

  it('back too late for all of it: it must run at once', () => {
    const { bench, see } = atCharger();
    see('away');
    bench.runUntil(hour(24 + 4));
    see('connected');
    expect(bench.decision('car')).toMatchObject({ level: 'on', why: 'must-run' });
    expect(bench.decision('car').job?.shortfall).toBeGreaterThan(0);
  });

  it('gone in the middle: what was done stays done', () => {
    const { bench, see } = atCharger();
    see('connected');
    bench.runUntil(hour(24 + 2));
    see('away');
    bench.runUntil(hour(24 + 3));
    see('connected');
    bench.runUntil(hour(24 + 6.9));
    expect(bench.state.loads[0]?.job?.done).toBe(hours(4));
    expect(switchesOf(bench)).toEqual([
      '01:00 on planned',
      '02:00 off vehicle-away',
      '03:00 on planned',
      '06:00 off goal-done',
    ]);
  });

  it('full: the job ends, and the next one finds out whether it takes more', () => {
    const { bench, see } = atCharger();
    see('connected');
    bench.runUntil(hour(24 + 2));
    see('full');
    expect(bench.decision('car')).toMatchObject({ level: 'off', why: 'vehicle-full' });
    bench.runUntil(hour(24 + 6.9));
    expect(switchesOf(bench)).toEqual(['01:00 on planned', '02:00 off vehicle-full']);
    bench.runUntil(hour(24 + 7.1));
    expect(bench.decision('car').why).not.toBe('vehicle-full');
  });

  it('an override of its owner runs all the same', () => {
    const { bench, see } = atCharger();
    see('away');
    bench.send({ kind: 'override', load: 'car', level: 'on', for: hours(1), source: 'local' });
    expect(bench.decision('car')).toMatchObject({ wanted: 'on', wantedWhy: 'override' });
  });

  it('is remembered over a restart', () => {
    const { bench, see } = atCharger();
    see('full');
    expect(decodeControlState(encodeControlState(bench.state))).toMatchObject({ loads: [{ vehicle: 'full' }] });
  });
});

describe('a goal armed by the plug', () => {
  it('arms when the vehicle comes and disarms when it goes', () => {
    const { bench, see } = atCharger(armedByPlug);
    expect(bench.decision('car').why).toBe('not-armed');
    bench.runUntil(hour(19));
    see('connected');
    expect(bench.decision('car')).toMatchObject({ why: 'plan-waits', job: { need: hours(4) } });
    bench.runUntil(hour(24 + 2));
    see('away');
    expect(bench.decision('car')).toMatchObject({ why: 'vehicle-away' });
    expect(bench.decision('car').job).toBeUndefined();
  });

  it('a job is over at its deadline, and a vehicle that stays gets no second one', () => {
    const { bench, see } = atCharger(armedByPlug);
    see('connected');
    bench.runUntil(hour(24 + 8));
    expect(bench.decision('car').why).toBe('not-armed');
    bench.runUntil(hour(24 + 9));
    see('away');
    bench.runUntil((hour(24 + 9) + minutes(1)) as never);
    see('connected');
    expect(bench.decision('car').job).toMatchObject({ need: hours(4), done: 0 });
  });
});

it('a charger without a goal goes by the index, whatever its vehicle does', () => {
  const { goal: _, ...charger } = carLoad();
  const bench = new ControlBench(buildSite(charger), EVENING);
  bench.send({ kind: 'confirmed', load: 'car', level: 'off' });
  for (const vehicle of ['connected', 'away', 'full'] as const) {
    bench.send({ kind: 'vehicle', load: 'car', vehicle });
    bench.index(5);
    bench.runFor(minutes(6));
    expect(bench.decision('car').wanted).toBe('on');
  }
});
