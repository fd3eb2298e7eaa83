/** Warnings of the service as the log hears them: each once a day, never a flood, and never silently none. */

import { expect, it } from 'vitest';
import { addDuration, hours } from '../../src/domain/units.ts';
import { createWarningLog } from '../../src/service/warning-log.ts';
import { createVirtualClock } from '../../src/simulation/virtual-clock.ts';
import { NOON } from './client-fixture.ts';

function start() {
  const logged: string[] = [];
  const clock = createVirtualClock(NOON);
  const surface = createWarningLog((level, message) => logged.push(`${level} ${message}`), clock);
  const warn = (...messages: readonly string[]) =>
    surface({ region: 'PSCO', warnings: messages.map((message) => ({ type: 'data', message })) });
  return { said: logged, warn, pass: (h: number) => clock.runUntil(addDuration(clock.now().wall, hours(h))) };
}

it('each is said once a day, however often it comes', async () => {
  const { said: logged, warn, pass } = start();
  for (let i = 0; i < 5; i++) {
    warn('late', 'late');
    await pass(4);
  }
  expect(logged).toEqual(['warn the service warns about PSCO: data: late']);
  await pass(5);
  warn('late');
  expect(logged).toHaveLength(2);
});

it('of a service that makes up new ones for ever 100 a day are said, and that there are more', async () => {
  const { said: logged, warn, pass } = start();
  for (let i = 0; i < 1_000; i++) warn(`number ${i}`);
  expect(logged).toHaveLength(101);
  expect(logged.at(-1)).toBe(
    'warn the service gave more than 100 different warnings; further ones are not logged for a day',
  );
  await pass(24);
  warn('number 2000');
  expect(logged.at(-1)).toBe('warn the service warns about PSCO: data: number 2000');
});

it('100 of them are no flood', () => {
  const { said: logged, warn } = start();
  for (let round = 0; round < 3; round++) for (let i = 0; i < 100; i++) warn(`number ${i}`);
  expect(logged).toHaveLength(100);
});
