/** How long a group of requests is silent after a 429, and which answer ends it. */

import { expect, it } from 'vitest';
import { addDuration, type Instant, seconds } from '../../src/domain/units.ts';
import { createCooldowns } from '../../src/service/limits/cooldown.ts';
import { createVirtualClock } from '../../src/simulation/virtual-clock.ts';

const START = Date.UTC(2026, 2, 1, 12) as Instant;

function open() {
  const clock = createVirtualClock(START);
  const cooldowns = createCooldowns({ clock, random: { fraction: () => 0 }, log: () => {} });
  return { clock, cooldowns, pass: (s: number) => clock.runUntil(addDuration(clock.now().wall, seconds(s))) };
}

it('an answer to a request that went out before the 429 ends no silence and forgets no 429', async () => {
  const { clock, cooldowns, pass } = open();
  const earlier = clock.now().uptime;
  await pass(1);
  cooldowns.recordThrottled('data', clock.now().uptime, undefined);
  const wait = cooldowns.remaining('data');
  cooldowns.recordAnswered('data', earlier);
  expect(cooldowns.remaining('data')).toBe(wait);

  // Also one that comes after the silence: it says nothing of the requests since.
  await pass(60);
  cooldowns.recordAnswered('data', earlier);
  const steps: number[] = [];
  const growing = createCooldowns({ clock, random: { fraction: () => 0.999 }, log: () => {} });
  for (let i = 0; i < 3; i += 1) {
    const failure = growing.recordThrottled('data', clock.now().uptime, undefined);
    steps.push(failure.kind === 'throttled' ? failure.retryAfter : 0);
    await pass(3_600);
    growing.recordAnswered('data', earlier);
  }
  expect(steps[1]).toBeGreaterThan(1.5 * (steps[0] ?? 0));
  expect(steps[2]).toBeGreaterThan(1.5 * (steps[1] ?? 0));
});

it('an answer to a request that went out after it begins anew', async () => {
  const { clock, cooldowns, pass } = open();
  cooldowns.recordThrottled('data', clock.now().uptime, seconds(30));
  await pass(31);
  expect(cooldowns.remaining('data')).toBe(0);

  const growing = createCooldowns({ clock, random: { fraction: () => 0.999 }, log: () => {} });
  const first = growing.recordThrottled('data', clock.now().uptime, undefined);
  await pass(3_600);
  growing.recordAnswered('data', clock.now().uptime);
  expect(growing.recordThrottled('data', clock.now().uptime, undefined)).toEqual(first);
});

it('groups are silent apart from each other', () => {
  const { clock, cooldowns } = open();
  cooldowns.recordThrottled('login', clock.now().uptime, seconds(30));
  expect([cooldowns.remaining('login'), cooldowns.remaining('data')]).toEqual([seconds(30), 0]);
});
