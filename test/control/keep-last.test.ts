/** Part of a job right before its deadline: a battery that is warm at departure. */

import { describe, expect, it } from 'vitest';
import { addDuration, hours, minutes } from '../../src/domain/units.ts';
import { buildHorizon, buildSite, ControlBench, carLoad, daily, instantFrom } from './control-setup.ts';

/** 18:00 local; the deadline 07:00 is 13 hours away. Clean at 01-05. */
const EVENING = instantFrom('2026-06-04T01:00:00Z');
const NIGHT_HOURS = [80, 90, 90, 70, 60, 50, 40, 20, 20, 20, 20, 40, 60, 70, 70, 70];

const goal = (keepLast: ReturnType<typeof hours>) =>
  ({ need: { kind: 'time', time: hours(4) }, by: daily(420), from: 1080, armedBy: 'schedule', keepLast }) as const;

function plug(keepLast: ReturnType<typeof hours>, over = {}) {
  const bench = new ControlBench(buildSite(carLoad({ goal: goal(keepLast), ...over })), EVENING);
  bench.send({ kind: 'confirmed', load: 'car', level: 'off' });
  bench.sendSignal({ horizon: buildHorizon(EVENING, NIGHT_HOURS) });
  return bench;
}
const hourOf = (at: number) => ((at - EVENING) / hours(1) + 18) % 24;
const plan = (bench: ControlBench) =>
  bench.state.loads[0]?.plan?.runs.map(({ from, to }) => `${hourOf(from)}-${hourOf(to)}`).join(' ');

describe('keepLast', () => {
  it('plans that part before the deadline and the rest where it is cleanest', () => {
    expect(plan(plug(hours(1)))).toBe('1-4 6-7');
    expect(plan(plug(minutes(30)))).toBe('1-4.5 6.5-7');
    expect(plan(plug(hours(4)))).toBe('3-7');
  });
  it('is left out where the job has no start for it', () => {
    expect(plan(plug(hours(1), { maxInterruptions: 0, maxStartsPerDay: 1 }))).toBe('1-5');
  });
  it('runs it, at most the margin of the deadline earlier, and the job is done in time', () => {
    const bench = plug(hours(1));
    bench.runUntil(addDuration(EVENING, hours(13)));
    const starts = bench.switches.filter(({ level }) => level === 'on').map(({ at }) => hourOf(at));
    expect(starts).toHaveLength(2);
    expect(starts[0]).toBe(1);
    expect(starts[1]).toBeGreaterThan(5.85);
    expect(starts[1]).toBeLessThanOrEqual(6);
    expect(bench.state.loads[0]?.previousJob?.done ?? bench.state.loads[0]?.job?.done).toBe(hours(4));
  });
});
