/** When the links of a process ping their brokers, by the second. */

import { describe, expect, it } from 'vitest';
import { addDuration, type Instant, seconds } from '../../src/domain/units.ts';
import { PingTimer } from '../../src/platform/ping-timer.ts';
import { createVirtualClock } from '../../src/simulation/virtual-clock.ts';

const START = 0 as Instant;
const HALF = seconds(10);
const ALL = [true, true, true, true];

/** Links that join at these seconds and count their ticks as mqtt.js does; an answer to a ping starts the wait anew. */
async function pingTimes(
  joinSeconds: readonly number[],
  answers: readonly boolean[] = ALL,
  { leaves, halves = [] }: { leaves?: number; halves?: readonly number[] } = {},
) {
  const clock = createVirtualClock(START);
  const { timers } = new PingTimer(clock);
  const events: string[] = [];
  const second = () => clock.now().wall / 1_000;
  const join = (name: string, isAnswered: boolean, half: number) => {
    let ticks = 0;
    const id = timers.set(() => {
      ticks++;
      if (ticks === 2) events.push(`${name} pings at ${second()}`);
      if (ticks > 2) {
        events.push(`${name} gives up at ${second()}`);
        timers.clear(id);
      }
      if (ticks !== 2 || !isAnswered) return;
      clock.wakeAt(addDuration(clock.now().uptime, seconds(1)), 'answer', () => {
        timers.clear(id);
        join(name, isAnswered, half);
      });
    }, half);
    if (leaves !== undefined)
      clock.wakeAt(addDuration(clock.now().uptime, seconds(leaves)), 'leave', () => timers.clear(id));
  };
  for (const [i, at] of joinSeconds.entries()) {
    await clock.runUntil(addDuration(START, seconds(at)));
    join('abcd'[i] ?? '', answers[i] ?? false, halves[i] ?? HALF);
  }
  await clock.runUntil(addDuration(START, seconds(75)));
  return events;
}

describe('the pings of broker links with a keepalive of 20 s', () => {
  it('come each keepalive', async () =>
    expect(await pingTimes([0])).toEqual(['a pings at 20', 'a pings at 40', 'a pings at 60']));

  it('are sent together by links that are in their second half', async () =>
    expect(await pingTimes([0, 7])).toEqual([20, 40, 60].flatMap((at) => [`a pings at ${at}`, `b pings at ${at}`])));

  it('come together after one round where a link was in its first half', async () =>
    expect(await pingTimes([0, 12])).toEqual([
      'a pings at 20',
      ...[32, 52, 72].flatMap((at) => [`b pings at ${at}`, `a pings at ${at}`]),
    ]));

  it('are sent by a link of 45 s with every second one of the others', async () =>
    expect(await pingTimes([0, 0], ALL, { halves: [seconds(22.5), HALF] })).toEqual([
      'b pings at 20',
      'a pings at 40',
      'b pings at 40',
      'b pings at 60',
    ]));

  it('end a link without an answer at the next wake-up of another, half a keepalive later or more', async () =>
    expect(await pingTimes([0, 15], [false, true])).toEqual([
      'a pings at 20',
      'a gives up at 35',
      'b pings at 35',
      'b pings at 55',
      'b pings at 75',
    ]));

  it('end a link without an answer a whole keepalive later where no other wakes', async () =>
    expect(await pingTimes([0], [false])).toEqual(['a pings at 20', 'a gives up at 40']));

  it('stop with the link', async () =>
    expect(await pingTimes([0], [false], { leaves: 29 })).toEqual(['a pings at 20']));

  it('leave no timer behind', async () => {
    const clock = createVirtualClock(START);
    const { timers } = new PingTimer(clock);
    timers.clear(timers.set(() => {}, HALF));
    await clock.waitUntilIdle();
    expect(clock.waiting()).toEqual([]);
  });

  it('wake once for a link whose packets postpone its ping', async () => {
    const clock = createVirtualClock(START);
    const { timers } = new PingTimer(clock);
    let id = timers.set(() => {}, HALF);
    for (let at = 1; at < 20; at++) {
      await clock.runUntil(addDuration(START, seconds(at)));
      timers.clear(id);
      id = timers.set(() => {}, HALF);
    }
    expect(clock.waiting()).toEqual(['broker ping']);
  });
});
