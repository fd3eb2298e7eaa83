/** When a source of the signal is asked next: at once when its gate opens, once a day while it is closed. */

import { expect, it } from 'vitest';
import { createPollState, type PollState } from '../../src/agent/poll-state.ts';
import { type Duration, days, type Instant, minutes, type Uptime } from '../../src/domain/units.ts';
import { createSignalData } from '../../src/signal/signal-store.ts';

const NOON = Date.parse('2026-03-01T12:00:00Z') as Instant;
const NOW = { wall: NOON, uptime: 0 as Uptime, trusted: true };

type Act = (polls: PollState) => unknown;
const ask: Act = (polls) => polls.recordRequest('forecast', NOW);
const setGate =
  (gate: 'open' | 'closed'): Act =>
  (polls) =>
    polls.setGate('forecast', gate, NOW);
const pollNow: Act = (polls) => polls.pollNow('forecast');
const restart: Act = (polls) => polls.restart(minutes(1), NOW);

//  what has happened                       the next request, not before
const rows: readonly (readonly [string, readonly Act[], number])[] = [
  ['nothing', [], 0],
  ['its gate was closed', [setGate('closed')], days(1)],
  ['it was closed and opened', [setGate('closed'), setGate('open')], 0],
  ['another region came while it was closed', [setGate('closed'), restart], minutes(1)],
  ['an answer was lost, and it is wanted', [ask, pollNow], 0],
  ['it is wanted while closed', [setGate('closed'), pollNow], days(1)],
];
it.each(rows)('%s', (_, acts, expected) => {
  const polls = createPollState({ fraction: () => 0.5 }, 0);
  for (const act of acts) act(polls);
  const wait: Duration = polls.getWait('forecast', createSignalData('PSCO'), NOW);
  expect(wait).toBe(expected);
});
