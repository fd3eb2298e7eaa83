import { describe, expect, it } from 'vitest';
import { createControlLoop } from '../../src/agent/control-loop.ts';
import type { Level } from '../../src/config/config.ts';
import { readConfig } from '../../src/config/read.ts';
import { initialState, type State, step } from '../../src/control/step.ts';
import type { Output, OutputFailure } from '../../src/outputs/output.ts';
import { createVirtualClock } from '../../src/replay/clock.ts';
import { after, type Instant, minutes } from '../../src/units.ts';

const NOON = Date.parse('2026-03-01T12:00:00Z') as Instant;
const BUSY: OutputFailure = { kind: 'busy', detail: 'somebody holds it' };

function setUp(saved?: State) {
  const read = readConfig(`
device: cellar
place: {latitude: 38.5, longitude: -122, timezone: UTC}
service: {url: "http://127.0.0.1:1", usernameFile: u, passwordFile: p}
loads:
  water: {type: tank, output: {kind: dry-run}, powerKw: 3}
`);
  if (!read.ok) throw new Error(read.mistakes.join());
  const { loads, device, place } = read.config;
  const clock = createVirtualClock(NOON);
  const told: Level[] = [];
  let refuse = 0;
  let kept: State | undefined;
  const output: Output = {
    open: async () => ({}),
    async apply(level) {
      told.push(level);
      refuse -= 1;
      return refuse >= 0 ? BUSY : undefined;
    },
    read: async () => undefined,
    watch() {},
    async release() {},
    async close() {},
  };
  const site = { device, timezone: place.timezone, loads };
  const loop = createControlLoop<State>({
    site,
    step,
    state: initialState(site, saved, saved !== undefined),
    clock,
    outputs: new Map([['water', output]]),
    beforeTick() {},
    told: ({ state }) => {
      kept = state;
    },
    fault() {},
  });
  return { clock, loop, told, kept: () => kept, refuseNext: (times: number) => (refuse = times) };
}

describe('carrying out what the core decides', () => {
  it('a load found running in the first step is not told its boot level before', async () => {
    const { clock, loop, told } = setUp();
    loop.begin({ water: 'on' });
    await clock.runUntil(after(NOON, minutes(1)));
    expect(told).toEqual([]);
  });

  it('a load that cannot be read is told once, and once more after a restart', async () => {
    const first = setUp();
    first.loop.begin({});
    await first.clock.runUntil(after(NOON, minutes(2)));
    expect(first.told).toEqual(['off']);
    const second = setUp(first.kept());
    second.loop.begin({});
    await second.clock.settled();
    expect(second.told).toEqual(['off']);
  });

  it('an output that fails is told again until it follows', async () => {
    const { clock, loop, told, refuseNext } = setUp();
    refuseNext(2);
    loop.begin({});
    await clock.runUntil(after(NOON, minutes(2)));
    expect(told).toEqual(['off', 'off', 'off']);
  });

  it('the level a load is left at is the one that is kept', async () => {
    const { clock, loop, kept } = setUp();
    loop.begin({ water: 'off' });
    await clock.settled();
    await loop.stop();
    loop.left('water', 'on');
    expect(kept()?.loads[0]?.level).toBe('on');
    loop.feed({ kind: 'tick' });
    expect(clock.waiting()).toEqual([]);
  });
});
