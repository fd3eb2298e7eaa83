import { describe, expect, it } from 'vitest';
import { addDuration, hours, type Instant, minutes, type Uptime } from '../../src/domain/units.ts';
import { createVirtualClock } from '../../src/simulation/virtual-clock.ts';

const NOON = Date.parse('2026-03-01T12:00:00Z') as Instant;
const at = (d: number) => minutes(d) as number as Uptime;

describe('the virtual clock', () => {
  it('wakes in order of time, then of asking, and ends where it was told', async () => {
    const clock = createVirtualClock(NOON);
    const seen: string[] = [];
    clock.wakeAt(at(30), 'late', () => seen.push(`late ${clock.now().uptime / 60_000}`));
    clock.wakeAt(at(5), 'first', () => seen.push('first'));
    clock.wakeAt(at(5), 'second', () => seen.push('second'));
    clock.wakeAt(at(90), 'beyond', () => seen.push('beyond'));
    expect(clock.waiting()).toEqual(['first', 'second', 'late', 'beyond']);
    await clock.runUntil(addDuration(NOON, hours(1)));
    expect(seen).toEqual(['first', 'second', 'late 30']);
    expect(clock.now()).toEqual({ wall: NOON + 3_600_000, uptime: 3_600_000, trusted: true });
  });

  it('stands still while work is under way, however long that takes', async () => {
    const clock = createVirtualClock(NOON);
    const seen: string[] = [];
    clock.wakeAt(at(1), 'ask', () => {
      const release = clock.pause();
      let turns = 50;
      const later = () => {
        turns -= 1;
        if (turns > 0) return void setImmediate(later);
        seen.push(`answer ${clock.now().uptime / 60_000}`);
        release();
      };
      setImmediate(later);
    });
    clock.wakeAt(at(2), 'next', () => seen.push('next'));
    await clock.runUntil(addDuration(NOON, minutes(3)));
    expect(seen).toEqual(['answer 1', 'next']);
  });

  it('a cancelled wake-up never runs, and cancelling twice is nothing', async () => {
    const clock = createVirtualClock(NOON);
    const seen: string[] = [];
    const cancel = clock.wakeAt(at(1), 'a', () => seen.push('a'));
    cancel();
    cancel();
    await clock.runUntil(addDuration(NOON, minutes(3)));
    expect(seen).toEqual([]);
  });

  it('a step of the wall leaves the monotonic clock alone', async () => {
    const clock = createVirtualClock(NOON);
    clock.wakeAt(at(10), 'a', () => {});
    clock.stepWall(hours(2));
    expect(clock.now()).toEqual({ wall: NOON + 7_200_000, uptime: 0, trusted: true });
    await clock.runUntil(addDuration(NOON, hours(2.5)));
    expect(clock.now().uptime).toBe(1_800_000);
  });

  it('gives work the time it needs and no more', async () => {
    const clock = createVirtualClock(NOON);
    const work = new Promise<string>((resolve) => clock.wakeAt(at(3), 'work', () => resolve('done')));
    clock.wakeAt(at(4), 'later', () => expect.unreachable());
    expect(await clock.runUntilDone(work)).toBe('done');
    expect(clock.now().uptime).toBe(180_000);
    await expect(createVirtualClock(NOON).runUntilDone(new Promise(() => {}))).rejects.toThrow(
      'no timer is set that could end its wait',
    );
  });

  it('stops between two wake-ups when told', async () => {
    const clock = createVirtualClock(NOON);
    const stop = new AbortController();
    clock.wakeAt(at(1), 'a', () => stop.abort());
    clock.wakeAt(at(2), 'b', () => expect.unreachable());
    await clock.runUntil(addDuration(NOON, hours(1)), { stop: stop.signal });
    expect(clock.now().uptime).toBe(60_000);
  });
});
