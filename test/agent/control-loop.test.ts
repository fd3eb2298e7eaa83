import { describe, expect, it } from 'vitest';
import { createControlLoop } from '../../src/agent/control-loop.ts';
import { createLoadOutputs } from '../../src/agent/load-outputs.ts';
import { createProblems } from '../../src/agent/problems.ts';
import { parseConfig } from '../../src/config/parse-config.ts';
import type { ControlEvent } from '../../src/control/control-types.ts';
import { type ControlState, createInitialState, step } from '../../src/control/step.ts';
import type { Level } from '../../src/domain/load-types.ts';
import { addDuration, hours, type Instant, minutes, type Percentile, seconds } from '../../src/domain/units.ts';
import type { Output, OutputFailure } from '../../src/outputs/output.ts';
import { createVirtualClock } from '../../src/simulation/virtual-clock.ts';
import { createSharedBroker } from '../doubles/shared-broker.ts';

const NOON = Date.parse('2026-03-01T12:00:00Z') as Instant;
const BUSY: OutputFailure = { kind: 'busy', detail: 'somebody holds it' };

function setUp(saved?: ControlState, more: Partial<Output> = {}, onceSaved = async () => {}) {
  const read = parseConfig(`
device: cellar
place: {latitude: 38.5, longitude: -122, timezone: UTC}
service: {url: "http://127.0.0.1:1", usernameFile: u, passwordFile: p}
loads:
  water: {type: tank, output: {kind: dry-run}, powerKw: 3}
`);
  if (!read.ok) throw new Error(read.mistakes.join());
  const { loads, device, place } = read.config;
  const clock = createVirtualClock(NOON);
  const commands: Level[] = [];
  let refuse = 0;
  let savedState: ControlState | undefined;
  const commandedBy: ControlEvent['kind'][] = [];
  const output: Output = {
    open: async () => ({}),
    async apply(level) {
      commands.push(level);
      refuse -= 1;
      return refuse >= 0 ? BUSY : undefined;
    },
    read: async () => undefined,
    watch() {},
    release: async () => false,
    async close() {},
    ...more,
  };
  const site = { device, timezone: place.timezone, loads };
  const loop = createControlLoop<ControlState>({
    site,
    step,
    clock,
    outputs: new Map([['water', output]]),
    beforeTick() {},
    onStep: ({ state, event, hasCommands }) => {
      savedState = state;
      if (hasCommands) commandedBy.push(event.kind);
    },
    onceSaved,
    onOutputFault() {},
  });
  const start = (levels: Record<string, Level>) =>
    loop.start(createInitialState(site, saved, saved === undefined ? 'other-boot' : 'same-boot'), { levels, amps: {} });
  return {
    clock,
    loop,
    start,
    told: commands,
    savedState: () => savedState,
    commandedBy,
    refuseNext: (times: number) => (refuse = times),
  };
}

describe('carrying out what the core decides', () => {
  it('a load found running in the first step is not told its boot level before', async () => {
    const { clock, start, told: commands } = setUp();
    start({ water: 'on' });
    await clock.runUntil(addDuration(NOON, minutes(1)));
    expect(commands).toEqual([]);
  });

  it('a load that cannot be read is told once, and once more after a restart', async () => {
    const first = setUp();
    first.start({});
    await first.clock.runUntil(addDuration(NOON, minutes(2)));
    expect(first.told).toEqual(['off']);
    const second = setUp(first.savedState());
    second.start({});
    await second.clock.waitUntilIdle();
    expect(second.told).toEqual(['off']);
  });

  it('a device that reports its level is sent the level it was found at: else it would keep none over a restart of its own', async () => {
    const { clock, start, told: commands } = setUp(undefined, { watchDevice() {} });
    start({ water: 'off' });
    await clock.runUntil(addDuration(NOON, minutes(1)));
    expect(commands).toEqual(['off']);
  });

  it('an output that fails is told again until it follows', async () => {
    const { clock, start, told: commands, refuseNext } = setUp();
    refuseNext(2);
    start({});
    await clock.runUntil(addDuration(NOON, minutes(2)));
    expect(commands).toEqual(['off', 'off', 'off']);
  });

  const ON: ControlEvent = { kind: 'override', load: 'water', level: 'on', for: hours(1), source: 'local' };
  const setUpUnsaved = async () => {
    let onSaved = () => {};
    const saved = new Promise<void>((resolve) => {
      onSaved = resolve;
    });
    const house = setUp(undefined, {}, () => saved);
    house.start({ water: 'off' });
    await house.clock.runUntil(addDuration(NOON, minutes(20)));
    house.loop.feed(ON);
    await house.clock.waitUntilIdle();
    return { ...house, onSaved };
  };

  it('a start waits until its state is saved', async () => {
    const { clock, savedState, told: commands, onSaved } = await setUpUnsaved();
    expect(commands).toEqual([]);
    expect(savedState()?.loads[0]?.pending?.level).toBe('on');
    onSaved();
    await clock.waitUntilIdle();
    expect(commands).toEqual(['on']);
  });

  it('so does a load that is switched off, and a start that waited too is not sent', async () => {
    const { clock, loop, told: commands, onSaved } = await setUpUnsaved();
    loop.feed({ ...ON, level: 'off' });
    await clock.waitUntilIdle();
    expect(commands).toEqual([]);
    onSaved();
    await clock.waitUntilIdle();
    expect(commands).toEqual(['off']);
  });

  it('a stop does not wait for a start, which is not sent', async () => {
    const { clock, loop, told: commands, onSaved } = await setUpUnsaved();
    await loop.stop();
    onSaved();
    await clock.waitUntilIdle();
    expect(commands).toEqual([]);
  });

  it('tells of each step whether it sends a command: of the one that starts a load without a signal, and no other', async () => {
    const { clock, loop, start, told: commands, commandedBy } = setUp();
    start({ water: 'off' });
    await clock.runUntil(addDuration(NOON, minutes(20)));
    expect(commands).toEqual(['on']);
    expect(commandedBy).toEqual(['tick']);
    await loop.stop();
  });

  it('of a stop before the start, no level is kept', () => {
    const { loop, savedState } = setUp();
    loop.recordFinalLevel('water', 'off');
    expect(savedState()).toBeUndefined();
  });

  it('the level a load is left at is the one that is kept', async () => {
    const { clock, loop, start, savedState } = setUp();
    start({ water: 'off' });
    await clock.waitUntilIdle();
    await loop.stop();
    loop.recordFinalLevel('water', 'on');
    expect(savedState()?.loads[0]?.level).toBe('on');
    loop.feed({ kind: 'tick' });
    expect(clock.waiting()).toEqual([]);
  });
});

/** A heat pump behind a switch that answers each "on" with "off" 0.2 s later: when it was sent "on", in six hours of a clean grid, and the log. */
async function playDeadCompressor(output: string) {
  const read = parseConfig(`
device: cellar
place: {latitude: 38.5, longitude: -122, timezone: UTC}
service: {url: "http://127.0.0.1:1", usernameFile: u, passwordFile: p}
mqtt: {url: "mqtt://127.0.0.1"}
loads:
  pump: {type: heat-pump, powerKw: 2, failSafe: off, minOn: 10s, minOff: 20s, maxStartsPerHour: 1, maxStartsPerDay: 6, output: ${output}}
`);
  if (!read.ok) throw new Error(read.mistakes.join());
  const { config } = read;
  const clock = createVirtualClock(NOON);
  const sentences: string[] = [];
  const ignore = () => {};
  const log = (_level: string, sentence: string) => void sentences.push(sentence);
  const problems = createProblems(clock, log, ignore);
  const startedAt: number[] = [];
  const shared = createSharedBroker();
  const device = shared.connect();
  const answerOff = () => void device.publish('node/switch/pump/state', 'OFF', { retain: true });
  answerOff();
  const startDead = () => {
    startedAt.push(clock.now().uptime);
    clock.wakeAt(addDuration(clock.now().uptime, seconds(0.2)), 'answer', answerOff);
  };
  await device.subscribe(
    'node/switch/pump/command',
    ({ payload }) => {
      if (new TextDecoder().decode(payload) === 'ON') startDead();
    },
    { wantsRetained: false },
  );
  const http = {
    async request({ url }: { readonly url: string }) {
      if (url.endsWith('/on')) startDead();
      const body = new TextEncoder().encode('{"state":"OFF"}');
      return { status: 200, headers: {}, body };
    },
    stream: () => Promise.reject(new Error('nothing is streamed')),
    close: async () => {},
  };
  const outputs = createLoadOutputs({
    ...{ config, clock, log, problems, pins: undefined, broker: shared.connect() },
    web: { http, secrets: { read: async () => undefined } },
    onReport: (load, level) =>
      loop.feed(level === undefined ? { kind: 'failed', load, disagreements: 3 } : { kind: 'confirmed', load, level }),
    ...{ onStatus: ignore, onMeter: ignore, onPress: ignore, onButton: ignore },
  });
  const site = { device: config.device, timezone: config.place.timezone, loads: config.loads };
  const loop = createControlLoop<ControlState>({
    ...{
      site,
      step,
      clock,
      outputs: outputs.byLoad,
      onStep: ignore,
      onceSaved: async () => {},
      onOutputFault: outputs.reportFault,
    },
    beforeTick() {},
  });
  await outputs.open();
  loop.start(createInitialState(site, undefined, 'other-boot'), outputs.found());
  const end = addDuration(NOON, hours(9));
  const index = { value: 5 as Percentile, basis: 'live-index', at: NOON, startsUntil: end, validUntil: end } as const;
  loop.feed({ kind: 'signal', view: { changesAt: end, index: { ...index, flat: false, quality: 'full' } } });
  await clock.runUntil(addDuration(NOON, hours(6)));
  await loop.stop();
  await outputs.close();
  return { startedAt, sentences };
}

describe('a compressor that answers each "on" with "off"', () => {
  it.each([
    ['{kind: mqtt, preset: esphome, topic: node/switch/pump}'],
    [
      '{kind: http, on: {url: "http://127.0.0.1:1/on"}, off: {url: "http://127.0.0.1:1/off"}, state: {url: "http://127.0.0.1:1/state", path: state, on: "ON", off: "OFF"}}',
    ],
  ])('is sent "on" no more often than it may start: %s', async (output) => {
    const { startedAt, sentences } = await playDeadCompressor(output);
    expect(startedAt.length).toBeGreaterThan(2);
    for (const [i, at] of startedAt.slice(1).entries())
      expect(at - (startedAt[i] ?? 0)).toBeGreaterThanOrEqual(hours(1));
    expect(sentences).toContainEqual(expect.stringMatching(/load pump: the device was sent on once and reports off/));
  });
});
