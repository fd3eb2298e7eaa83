/** What is told of pauses while a range is read. */

import { expect, it } from 'vitest';
import type { Terminal } from '../../src/cli/shared/command.ts';
import { createWaitPrinter } from '../../src/cli/shared/stream-writer.ts';
import { addDuration, seconds } from '../../src/domain/units.ts';
import type { Failure } from '../../src/service/failure.ts';
import { createVirtualClock } from '../../src/simulation/virtual-clock.ts';
import { NOON } from '../service/client-fixture.ts';

it('one line a pause, though several requests wait at a time', async () => {
  let written = '';
  const terminal = {
    err: (text: string) => {
      written += text;
    },
  } as Terminal;
  const clock = createVirtualClock(NOON);
  const tell = createWaitPrinter(terminal, clock);
  const throttled: Failure = { kind: 'throttled', retryAfter: seconds(30) };
  for (const wait of [31, 30, 33]) tell(seconds(wait), throttled);
  await clock.runUntil(addDuration(NOON, seconds(31)));
  tell(seconds(4), { kind: 'server-error', status: 503, message: 'down' });
  expect(written).toBe(
    'waiting 31 s: too many requests\n' + 'waiting 4 s: the service returned a server error (503: down)\n',
  );
});
