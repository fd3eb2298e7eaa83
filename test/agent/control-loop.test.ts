import { describe, expect, it } from 'vitest';
import { createControlLoop } from '../../src/agent/control-loop.ts';
import { parseConfig } from '../../src/config/parse-config.ts';
import { type ControlState, initialState, step } from '../../src/control/step.ts';
import type { Level } from '../../src/domain/load-types.ts';
import { addDuration, type Instant, minutes } from '../../src/domain/units.ts';
import type { Output, OutputFailure } from '../../src/outputs/output.ts';
import { createVirtualClock } from '../../src/simulation/virtual-clock.ts';

const NOON = Date.parse('2026-03-01T12:00:00Z') as Instant;
const BUSY: OutputFailure = { kind: 'busy', detail: 'somebody holds it' };

function setUp(saved?: ControlState, more: Partial<Output> = {}) {
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
    onStep: ({ state }) => {
      savedState = state;
    },
    onOutputFault() {},
  });
  const start = (levels: Record<string, Level>) =>
    loop.start(initialState(site, saved, saved !== undefined), { levels, amps: {} });
  return {
    clock,
    loop,
    start,
    told: commands,
    savedState: () => savedState,
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
