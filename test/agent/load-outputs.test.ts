/** The outputs of all loads: what is found at the start, whatever the loads are called. */

import { expect, it } from 'vitest';
import { createLoadOutputs } from '../../src/agent/load-outputs.ts';
import { createProblems } from '../../src/agent/problems.ts';
import { createSimulatedLines } from '../../src/simulation/simulated-lines.ts';
import { buildMonitorConfig } from '../mqtt/monitor-fixture.ts';
import { buildLoad, createOfflineParts } from '../outputs/output-fixture.ts';

it('loads called as parts of every object have the level of their line, or none', async () => {
  const { clock, log } = createOfflineParts();
  const names = ['constructor', '__proto__', 'tostring'];
  const outputs = createLoadOutputs({
    config: buildMonitorConfig('', {
      loads: [
        ...names.map((name, i) => buildLoad({ kind: 'relay', pin: 17 + i, activeLow: false }, { name })),
        buildLoad({ kind: 'dry-run', as: 'relay' }, { name: 'valueof' }),
      ],
    }),
    clock,
    log,
    problems: createProblems(clock, log, () => {}),
    pins: createSimulatedLines(),
    broker: undefined,
    onReport: () => {},
    onStatus: () => {},
    onMeter: () => {},
    onPress: () => {},
  });
  await outputs.open();
  const levels = outputs.levelsFound();
  expect(Object.entries(levels)).toEqual(names.map((name) => [name, 'off']));
  for (const name of ['valueof', 'hasOwnProperty']) expect(levels[name]).toBeUndefined();
});
