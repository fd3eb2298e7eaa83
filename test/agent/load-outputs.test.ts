/** The outputs of all loads: what is found at the start, whatever the loads are called, and one that fails beside one that works. */

import { expect, it } from 'vitest';
import { createLoadOutputs } from '../../src/agent/load-outputs.ts';
import { createProblems } from '../../src/agent/problems.ts';
import type { Http } from '../../src/domain/ports.ts';
import { seconds } from '../../src/domain/units.ts';
import { createSimulatedLines } from '../../src/simulation/simulated-lines.ts';
import { buildMonitorConfig } from '../mqtt/monitor-fixture.ts';
import { buildLoad, createOfflineParts } from '../outputs/output-fixture.ts';

const HANDLERS = { onReport: () => {}, onStatus: () => {}, onMeter: () => {}, onPress: () => {}, onButton: () => {} };

it('a device whose token file cannot be read is named, and the other loads go on', async () => {
  const { clock, log } = createOfflineParts();
  const problems = createProblems(clock, log, () => {});
  const http: Http = {
    request: () => Promise.reject(new Error('nothing is sent without a token')),
    stream: () => Promise.reject(new Error('nothing is streamed')),
    close: async () => {},
  };
  const entity = { entity: 'switch.car', onState: 'on', offState: 'off', tokenFile: 'none', allowsPlainHttp: false };
  const outputs = createLoadOutputs({
    config: buildMonitorConfig('', {
      loads: [
        buildLoad({ kind: 'home-assistant', url: 'https://ha.example', ...entity }),
        buildLoad({ kind: 'relay', pin: 17, activeLow: false }, { name: 'water' }),
      ],
    }),
    ...{ clock, log, problems, pins: createSimulatedLines(), broker: undefined },
    web: { http, secrets: { read: async () => undefined } },
    ...HANDLERS,
  });
  await outputs.open();
  expect(outputs.found().levels).toEqual({ water: 'off' });
  expect(await outputs.byLoad.get('water')?.apply('on')).toBeUndefined();
  expect(problems.list().map(({ sentence }) => sentence)).toEqual([
    'load car: the token file none cannot be read, is empty or holds more than one line: write the token into it, readable by the agent',
  ]);
  await outputs.close();
});

it('tells at a stop what each load is left at, and which may run', async () => {
  const { clock } = createOfflineParts();
  const lines: string[] = [];
  const outputs = createLoadOutputs({
    config: buildMonitorConfig('', {
      loads: [
        buildLoad({ kind: 'relay', pin: 17, activeLow: false }, { name: 'tank', failSafe: 'on' }),
        buildLoad({ kind: 'relay', pin: 22, activeLow: false }, { name: 'pump', failSafe: 'off' }),
        buildLoad({ kind: 'relay', pin: 23, activeLow: false }, { name: 'fan', failSafe: 'on', onStop: 'hold' }),
      ],
    }),
    ...{ clock, log: (_level: string, text: string) => void lines.push(text), pins: createSimulatedLines() },
    problems: createProblems(
      clock,
      () => {},
      () => {},
    ),
    broker: undefined,
    ...HANDLERS,
  });
  await outputs.open();
  expect(await outputs.applyStopLevels(() => {})).toBe(true);
  expect(lines).toEqual([
    'load tank is left at its fail-safe level on: it may run',
    'load pump is left at its fail-safe level off',
  ]);
});

it('counts a device that could not be released at a stop as one that did not reach its level', async () => {
  const { clock, logLines, log } = createOfflineParts();
  const http: Http = {
    request: () => Promise.reject(new Error('nothing is sent without a token')),
    stream: () => Promise.reject(new Error('nothing is streamed')),
    close: async () => {},
  };
  const entity = { entity: 'select.car', onState: 'fast', offState: 'stop', releaseState: 'own' };
  const outputs = createLoadOutputs({
    config: buildMonitorConfig('', {
      loads: [
        buildLoad({
          ...{ kind: 'home-assistant', url: 'https://ha.example', tokenFile: 'none', allowsPlainHttp: false },
          ...entity,
        }),
      ],
    }),
    ...{ clock, log, problems: createProblems(clock, log, () => {}), pins: undefined, broker: undefined },
    web: { http, secrets: { read: async () => undefined } },
    ...HANDLERS,
  });
  const applied: string[] = [];
  expect(await outputs.applyStopLevels((load) => applied.push(load))).toBe(false);
  expect(applied).toEqual([]);
  expect(logLines).toEqual([
    expect.stringMatching(
      /^warn: load car was not left to the rules of its device: the token file none cannot be read/,
    ),
  ]);
  await outputs.close();
});

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
    ...HANDLERS,
  });
  await outputs.open();
  const { levels } = outputs.found();
  expect(Object.entries(levels)).toEqual(names.map((name) => [name, 'off']));
  for (const name of ['valueof', 'hasOwnProperty']) expect(levels[name]).toBeUndefined();
});

it('a button that cannot be read is a problem of its load, which is switched all the same, until it can', async () => {
  const { clock, log } = createOfflineParts();
  const problems = createProblems(clock, log, () => {});
  const lines = createSimulatedLines();
  const contact = await lines.watch(27, { pull: 'up', debounce: seconds(0), onLevel() {} });
  const outputs = createLoadOutputs({
    config: buildMonitorConfig('', {
      loads: [buildLoad({ kind: 'relay', pin: 17, activeLow: false, button: { pin: 27, activeLow: true } })],
    }),
    ...{ clock, log, problems, pins: lines, broker: undefined },
    ...HANDLERS,
  });
  await outputs.open();
  expect(problems.list().map(({ subject }) => subject)).toEqual(['outputs:car:inputs']);
  expect(await outputs.byLoad.get('car')?.apply('on')).toBeUndefined();
  if ('close' in contact) await contact.close();
  expect(await outputs.byLoad.get('car')?.apply('off')).toBeUndefined();
  expect(problems.list()).toEqual([]);
  await outputs.close();
});
