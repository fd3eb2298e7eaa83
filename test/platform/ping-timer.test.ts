/** When the links of a process ping their brokers, by the second. */

import { describe, expect, it } from 'vitest';
import { addDuration, type Instant, seconds } from '../../src/domain/units.ts';
import { PingTimer } from '../../src/platform/ping-timer.ts';
import { createVirtualClock } from '../../src/simulation/virtual-clock.ts';

const START = 0 as Instant;
const HALF = seconds(10);
const ALL = [true, true, true, true];

/** Links that join at these seconds and count their ticks as mqtt.js does; an answer to a ping starts the wait anew. */
async function pingTimes(joinSeconds: readonly number[], answers: readonly boolean[] = ALL, leaves?: number) {
  const clock = createVirtualClock(START);
  const { timers } = new PingTimer(clock);
  const events: string[] = [];
  const second = () => clock.now().wall / 1_000;
  const join = (name: string, isAnswered: boolean) => {
    let ticks = 0;
    const id = timers.set(() => {
      ticks++;
      if (ticks === 2) events.push(`${name} pings at ${second()}`);
      if (ticks > 2) events.push(`${name} gives up at ${second()}`);
      if (ticks !== 2 || !isAnswered) return;
      clock.wakeAt(addDuration(clock.now().uptime, seconds(1)), 'answer', () => {
        timers.clear(id);
        join(name, isAnswered);
      });
    }, HALF);
    if (leaves !== undefined)
      clock.wakeAt(addDuration(clock.now().uptime, seconds(leaves)), 'leave', () => timers.clear(id));
  };
  for (const [i, at] of joinSeconds.entries()) {
    await clock.runUntil(addDuration(START, seconds(at)));
    join('abcd'[i] ?? '', answers[i] ?? false);
  }
  await clock.runUntil(addDuration(START, seconds(75)));
  return events;
}

describe('the pings of broker links with a keepalive of 20 s', () => {
  it('come a whole keepalive after the last packet', async () =>
    expect(await pingTimes([0])).toEqual(['a pings at 20', 'a pings at 41', 'a pings at 62']));

  it('are sent together by links that are in their second half', async () =>
    expect(await pingTimes([0, 7])).toEqual([20, 41, 62].flatMap((at) => [`a pings at ${at}`, `b pings at ${at}`])));

  it('come together after one round where a link was in its first half', async () =>
    expect(await pingTimes([0, 12])).toEqual([
      'a pings at 20',
      ...[32, 53, 74].flatMap((at) => [`b pings at ${at}`, `a pings at ${at}`]),
    ]));

  it('end a link without an answer half a keepalive later, whatever others do', async () =>
    expect(await pingTimes([0, 15], [false, true])).toEqual([
      'a pings at 20',
      'a gives up at 30',
      'b pings at 35',
      'b pings at 56',
    ]));

  it('stop with the link', async () => expect(await pingTimes([0], [false], 29)).toEqual(['a pings at 20']));
});
