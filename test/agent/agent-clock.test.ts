import { describe, expect, it } from 'vitest';
import { createAgentClock } from '../../src/agent/agent-clock.ts';
import { type Duration, hours, type Instant, minutes, seconds } from '../../src/domain/units.ts';
import { createVirtualClock } from '../../src/simulation/virtual-clock.ts';

const NOON = Date.parse('2026-03-01T12:00:00Z') as Instant;
const DECADES = hours(24 * 365 * 20);

describe('which time the agent goes by', () => {
  //  machine vouched for, skew of the service,  correction,  trusted,  conflict
  const rows = [
    ['a good clock stays', true, seconds(3), 0, true, undefined],
    ['two minutes off: the service knows its slots', true, minutes(2), minutes(2), true, undefined],
    ['two minutes ahead', true, minutes(-2), minutes(-2), true, undefined],
    ['vouched for and hours off: say so, move nothing', true, hours(3), 0, true, hours(3)],
    ['a board without a battery takes the time it is told', false, DECADES, DECADES, true, undefined],
    ['nobody vouches, but it is right', false, seconds(1), 0, true, undefined],
  ] as const;
  it.each(rows)('%s', (_, trusted, skew, correction, after, conflict) => {
    const clock = createVirtualClock(NOON);
    clock.setTrusted(trusted);
    const time = createAgentClock(clock);
    time.applySkew(skew);
    expect(time.correction()).toBe(correction);
    expect(time.now()).toEqual({ wall: NOON + correction, uptime: 0, trusted: after });
    expect(time.skewConflict()).toBe(conflict);
  });

  it('is not trusted before the first word of the service', () => {
    const clock = createVirtualClock(NOON);
    clock.setTrusted(false);
    expect(createAgentClock(clock).now().trusted).toBe(false);
  });

  it('the same time of the service again moves nothing', () => {
    const clock = createVirtualClock(NOON);
    clock.setTrusted(false);
    const time = createAgentClock(clock);
    expect([hours(1), hours(1), (hours(1) + seconds(5)) as Duration].map(time.applySkew)).toEqual([true, false, false]);
    expect(time.correction()).toBe(hours(1));
  });

  it("the machine's own clock counts again once it is vouched for and right", () => {
    const clock = createVirtualClock(NOON);
    clock.setTrusted(false);
    const time = createAgentClock(clock);
    time.applySkew(hours(1));
    clock.setTrusted(true);
    expect(time.applySkew(seconds(1))).toBe(true);
    expect(time.correction()).toBe(0);
  });

  it('a conflict that hardly moves is still the same one', () => {
    const time = createAgentClock(createVirtualClock(NOON));
    const conflictOf = (skew: number) => {
      time.applySkew(skew as Duration);
      return time.skewConflict();
    };
    const moved = hours(3) + seconds(60);
    expect([hours(3), hours(3) + seconds(10), moved].map(conflictOf)).toEqual([hours(3), hours(3), moved]);
  });

  it('noise of accelerated time moves nothing', () => {
    const fast = { ...createVirtualClock(NOON), speed: 1440 };
    const time = createAgentClock(fast);
    expect(time.applySkew(minutes(4))).toBe(false);
    expect(time.applySkew(hours(1))).toBe(false); // beyond the largest skew of a trusted clock
    expect(time.correction()).toBe(0);
  });
});
