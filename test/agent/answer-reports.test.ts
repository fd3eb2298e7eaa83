/** Which answer of a signal source is a problem of the agent, and which one ends it. */

import { describe, expect, it } from 'vitest';
import type { AgentContext } from '../../src/agent/agent-context.ts';
import { createAnswerReports } from '../../src/agent/answer-reports.ts';
import type { SignalSource } from '../../src/agent/poll-state.ts';
import { createProblems } from '../../src/agent/problems.ts';
import type { SignalAnswer } from '../../src/agent/signal-loop.ts';
import type { Failure } from '../../src/service/failure.ts';
import { createVirtualClock } from '../../src/simulation/virtual-clock.ts';
import { NOON } from '../service/client-fixture.ts';

const absent: Failure = { kind: 'no-relayed-signal', cause: 'none was published', isAbsent: true };
const stale: Failure = { kind: 'no-relayed-signal', cause: 'the last one is too old' };
const down: Failure = { kind: 'server-error', status: 503, message: 'oops' };
const none: SignalAnswer['data'] = { region: 'PSCO', signalType: 'co2_moer' };
const forecast = {} as NonNullable<typeof none.forecast>;

function reportAnswer(source: SignalSource, answer: SignalAnswer, index: 'open' | 'closed' = 'open') {
  const clock = createVirtualClock(NOON);
  const problems = createProblems(
    clock,
    () => {},
    () => {},
  );
  problems.raise(`service:${source}`, 'of before');
  const report = createAnswerReports(
    { config: { service: {} }, clock, log() {}, problems } as unknown as AgentContext,
    {
      clockMonitor: { checkSkew() {} },
      entitlements: {
        entitlements: () => ({ models: [], forecast: 'open', index, history: 'open' }),
        observeGate() {},
      } as unknown as Parameters<typeof createAnswerReports>[1]['entitlements'],
      regionLoop: { requestEarlyRefresh() {} },
    },
  );
  report(source, answer);
  return problems.list().map(({ sentence }) => sentence);
}

describe('an answer', () => {
  //  source, failure, forecast known, the problem that remains
  const rows = [
    ['forecast', down, false, 'no forecast: '],
    ['live-index', down, true, 'no live index: '],
    ['live-index', stale, true, 'no live index: '],
    ['live-index', absent, false, 'no live index: '],
    ['live-index', absent, true, undefined],
    ['forecast', absent, true, 'no forecast: '],
    ['forecast', undefined, true, undefined],
    ['live-index', undefined, false, undefined],
  ] as const;
  it.each(rows)('of %s with %o, a forecast known: %s: %s', (source, failure, isKnown, problem) => {
    const listed = reportAnswer(source, { data: isKnown ? { ...none, forecast } : none, ...(failure && { failure }) });
    expect(listed).toEqual(problem === undefined ? [] : [expect.stringContaining(problem)]);
  });

  it('of an endpoint that the account does not have is no problem', () => {
    expect(reportAnswer('live-index', { failure: down, data: none }, 'closed')).toEqual([]);
  });

  it('with a remark on its data is a problem, unless they are older or of another model', () => {
    const note = (kind: 'older' | 'model-seam' | 'short-period') => ({ kind, message: `it is ${kind}` });
    expect(reportAnswer('forecast', { note: note('short-period'), data: none })).toEqual([
      'no forecast: it is short-period',
    ]);
    expect(reportAnswer('forecast', { note: note('older'), data: none })).toEqual([]);
    expect(reportAnswer('forecast', { note: note('model-seam'), data: none })).toEqual([]);
  });
});
