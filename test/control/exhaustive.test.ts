import { describe, expect, it } from 'vitest';
import { decodeControlState, encodeControlState } from '../../src/agent/control-state-codec.ts';
import type { ControlEvent } from '../../src/control/control-types.ts';
import { type ControlState, createInitialState, type LoadState, step } from '../../src/control/step.ts';
import { isRunning } from '../../src/domain/levels.ts';
import type { Level } from '../../src/domain/load-types.ts';
import type { ClockReading } from '../../src/domain/ports.ts';
import { hours, type Instant, minutes, type Uptime } from '../../src/domain/units.ts';
import { buildIndex, buildSite, buildView, instantFrom, tankLoad } from './control-setup.ts';

/**
 * Every state a small load can be in: time stands still at NOW and the state is moved back five minutes a step instead, so that
 * equal situations are equal bytes. What is older than an hour matters to nothing here and is told as an hour old.
 */
const SLOT = minutes(5);
const NOW: ClockReading = {
  wall: instantFrom('2026-06-03T12:00:00Z'),
  uptime: hours(100) as number as Uptime,
  trusted: true,
};
const OLDEST = NOW.uptime - minutes(65);
const load = tankLoad({
  minOn: minutes(15),
  minOff: minutes(10),
  maxStartsPerHour: 2,
  maxStartsPerDay: 99,
  failSafe: 'off',
});
const site = buildSite(load);

interface Node {
  readonly state: ControlState;
  readonly level: Level;
  /** When the relay last changed, and its starts: the truth the core is held against. */
  readonly since: number;
  readonly starts: readonly number[];
}

const signal = (value: number, flat = false): ControlEvent => ({
  kind: 'signal',
  view: buildView({ index: buildIndex(NOW.wall, value, { flat }) }),
});
const override = (level: Level): ControlEvent => ({
  kind: 'override',
  load: 'tank',
  level,
  for: minutes(10),
  source: 'local',
});

const happenings: Readonly<Record<string, ControlEvent | 'restart' | 'power cut'>> = {
  nothing: { kind: 'tick' },
  clean: signal(20),
  between: signal(38),
  dirty: signal(80),
  flat: signal(10, true),
  'on by hand': override('on'),
  'off by hand': override('off'),
  clear: { kind: 'clear', load: 'tank' },
  trip: { kind: 'safety', load: 'tank', tripped: true },
  untrip: { kind: 'safety', load: 'tank', tripped: false },
  restart: 'restart',
  'power cut': 'power cut',
};

const broken: string[] = [];

/** One event, and the relay's answers to what it causes. */
function take(node: Node, event: ControlEvent, name: string): Node {
  const next = step(site, node.state, event, NOW);
  let { level, since, starts } = node;
  if (next.wakeAt <= NOW.uptime) broken.push(`${name}: wakeAt`);
  for (const command of next.commands) {
    const safety = next.state.loads[0]?.tripped === true && !isRunning(command.level);
    const age = NOW.uptime - since;
    if (command.level === level) broken.push(`${name}: told ${level} again`);
    if (!safety && age < (isRunning(level) ? load.minOn : load.minOff))
      broken.push(`${name}: ${command.level} after ${age}`);
    level = command.level;
    since = NOW.uptime;
    if (isRunning(level)) starts = [...starts, since];
  }
  if (starts.length > load.maxStartsPerHour) broken.push(`${name}: ${starts.length} starts in an hour`);
  if (next.state.loads[0]?.tripped === true && isRunning(level)) broken.push(`${name}: runs though tripped`);
  const after = { state: next.state, level, since, starts };
  return next.commands.length === 0
    ? after
    : take(after, { kind: 'confirmed', load: 'tank', level }, `${name}, confirmed`);
}

function happen(node: Node, name: string, what: ControlEvent | 'restart' | 'power cut'): Node {
  if (typeof what === 'object') return take(node, what, name);
  const read = decodeControlState(encodeControlState(node.state));
  if ('kind' in read) throw new Error(read.detail);
  const cut = what === 'power cut';
  const state = createInitialState(site, read, cut ? 'other-boot' : 'same-boot');
  const level = cut ? 'off' : node.level;
  const since = cut ? NOW.uptime : node.since;
  return take({ ...node, state, level, since }, { kind: 'found', levels: { tank: level } }, name);
}

const back = <Time extends number>(time: Time) => (time - SLOT) as Time;
const upBack = (time: Uptime) => Math.max(OLDEST, time - SLOT) as Uptime;
const upBackMaybe = (time: Uptime | undefined) => (time === undefined ? undefined : upBack(time));

/** The same situation five minutes later. */
function later({ state, level, since, starts }: Node): Node {
  const one = state.loads[0] as LoadState;
  const view = state.view?.index;
  const index = view === undefined || back(view.validUntil) <= NOW.wall ? undefined : view;
  const moved: LoadState = {
    ...one,
    runningSince: upBack(one.runningSince),
    levelSince: upBack(one.levelSince),
    starts: one.starts.map(back).filter((start) => start > OLDEST),
    local:
      one.local === undefined || back(one.local.until) <= NOW.uptime
        ? undefined
        : { ...one.local, until: back(one.local.until) },
    startRequestedAt: upBackMaybe(one.startRequestedAt),
    decision: undefined,
  };
  return {
    state: {
      ...state,
      loads: [moved],
      lastMoment: { ...NOW, wall: back(NOW.wall), uptime: back(NOW.uptime) },
      startedAt: upBack(state.startedAt),
      view:
        index === undefined
          ? buildView({})
          : buildView({
              index: {
                ...index,
                at: back(index.at) as Instant,
                startsUntil: back(index.startsUntil) as Instant,
                validUntil: back(index.validUntil) as Instant,
              },
            }),
    },
    level,
    since: Math.max(OLDEST, since - SLOT),
    starts: starts.map(back).filter((start) => start > NOW.uptime - hours(1)),
  };
}

const keyOf = ({ state, level, since, starts }: Node) =>
  `${encodeControlState(state)}|${JSON.stringify(state.view)}|${level}|${since}|${starts}`;

/** Every situation that can be reached, each with one of the ways there, and the one after it when nothing happens. */
function explore(most: number) {
  const first = take(
    { state: createInitialState(site, undefined, 'other-boot'), level: 'off', since: NOW.uptime, starts: [] },
    { kind: 'found', levels: { tank: 'off' } },
    'start',
  );
  const start = later(first);
  const seen = new Map<string, Node>([[keyOf(start), start]]);
  const untouched = new Map<Node, Node>();
  const queue = [start];
  for (let node = queue.pop(); node !== undefined && seen.size < most; node = queue.pop())
    for (const [name, what] of Object.entries(happenings)) {
      const next = later(happen(node, name, what));
      const key = keyOf(next);
      const known = seen.get(key);
      if (name === 'nothing') untouched.set(node, known ?? next);
      if (known !== undefined) continue;
      seen.set(key, next);
      queue.push(next);
    }
  return { nodes: [...seen.values()], untouched, complete: queue.length === 0 };
}

describe('every state of a small load', () => {
  it('keeps minimum times, starts, trips and commands in all of them, and comes to rest from each', {
    timeout: 600_000,
  }, () => {
    const { nodes, untouched, complete } = explore(400_000);
    expect(complete).toBe(true);
    expect(nodes.length).toBeGreaterThan(10_000);
    expect([...new Set(broken)].slice(0, 5)).toEqual([]);
    // Left alone, without a trip, each comes to its fail-safe level within a quarter of an hour after the last override.
    const restless = nodes.filter((node) => {
      let one: Node | undefined = node;
      for (let slot = 0; slot < 6; slot++) one = one && untouched.get(one);
      return one?.level !== load.failSafe;
    });
    expect(restless.length).toBe(0);
  });
});
