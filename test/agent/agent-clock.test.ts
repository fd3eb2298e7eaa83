import { describe, expect, it } from 'vitest';
import { createAgentClock } from '../../src/agent/agent-clock.ts';
import { hours, type Instant, minutes, seconds } from '../../src/domain/units.ts';
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

  it('noise of accelerated time moves nothing', () => {
    const fast = { ...createVirtualClock(NOON), speed: 1440 };
    const time = createAgentClock(fast);
    expect(time.applySkew(minutes(4))).toBe(false);
    expect(time.applySkew(hours(1))).toBe(false); // beyond the largest skew of a trusted clock
    expect(time.correction()).toBe(0);
  });
});
