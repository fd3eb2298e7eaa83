/** What of the decisions stands in the log: a switch and a new reason, not an index that hovers. */

import { expect, it } from 'vitest';
import { createStepRecorder, type StepRecorderParts } from '../../src/agent/step-recorder.ts';
import type { DecisionReason } from '../../src/control/control-types.ts';
import { createInitialState } from '../../src/control/step.ts';
import type { Level } from '../../src/domain/load-types.ts';
import type { Instant, Uptime } from '../../src/domain/units.ts';

const NOON = Date.parse('2026-03-01T12:00:00Z') as Instant;

//  before                      then                        in the log
const rows: readonly (readonly [readonly [Level, DecisionReason], readonly [Level, DecisionReason], boolean])[] = [
  [['on', 'clean'], ['off', 'dirty'], true],
  [['off', 'dirty'], ['off', 'between'], false],
  [['on', 'clean'], ['on', 'between'], false],
  [['on', 'between'], ['on', 'clean'], false],
  [['on', 'clean'], ['on', 'override'], true],
  [['off', 'override'], ['off', 'dirty'], true],
  [['off', 'min-off'], ['off', 'min-off'], false],
];

it.each(rows)('%j, then %j: a line of the log %s', (before, then, isLogged) => {
  const site = { device: 'cellar', timezone: 'UTC', loads: [] };
  const levels: string[] = [];
  const recorder = createStepRecorder({
    ...{ site, ties: 'mid', rateUnit: 'lbs_co2_per_mwh', hasBroker: true },
    log: (level: string) => void levels.push(level),
    ledger: { recordDecision() {}, recordedJobs: () => ({}) },
    persistence: { saveControl() {} },
    monitor: { publishDecision() {} },
  } as unknown as StepRecorderParts);
  const state = createInitialState(site, undefined, 'other-boot');
  const now = { wall: NOON, uptime: 0 as Uptime, trusted: true };
  for (const [level, why] of [before, then]) {
    const decision = { load: 'tank', at: NOON, level, wanted: level, why, priority: 8, basis: 'live-index' } as const;
    recorder.recordStep({ state, event: { kind: 'tick' }, decisions: [decision], hasCommands: false, now });
  }
  expect(levels).toEqual(['info', isLogged ? 'info' : 'debug']);
});
