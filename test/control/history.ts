/** Sites and random histories: events, restarts, delays, lost data, clock jumps. */

import fc from 'fast-check';
import { expect } from 'vitest';
import type { LoadConfig } from '../../src/config/config.ts';
import type { Site } from '../../src/control/control.ts';
import { hours, type Kilowatt, minutes } from '../../src/units.ts';
import type { Action, Plant } from './plant.ts';
import { at, car, daily, heating, index, siteOf, tank } from './site.ts';

const HOUR = hours(1) as number;
export const START = at('2026-03-07T20:00:00Z');

const pump = (over: Partial<LoadConfig> = {}) =>
  heating({ blockAbove: index(85), forceBelow: index(8), jitter: minutes(5), ...over });
const { window: _carWindow, ...bareCar } = car({ jitter: minutes(5), failSafe: 'off' });
const { window: _pumpWindow, ...barePump } = pump();

export const sites: readonly Site[] = [
  siteOf(car({ jitter: minutes(5) }), pump(), tank()),
  { ...siteOf(car({ jitter: minutes(5) }), pump(), tank()), budget: 8 as Kilowatt },
  {
    ...siteOf(
      { ...bareCar, goal: { need: { kind: 'time', time: hours(2) }, by: daily(420), from: 1320, armedBy: 'command' } },
      pump({ goal: { need: { kind: 'time', time: hours(3) }, by: daily(0), armedBy: 'schedule' }, maxStartsPerDay: 3 }),
    ),
    budget: 9 as Kilowatt,
  },
  siteOf(tank({ minOn: minutes(0), minOff: minutes(0), maxStartsPerHour: 2, maxStartsPerDay: 5 }), barePump),
];

const length = fc.oneof(
  fc.integer({ min: 1, max: 600_000 }),
  fc.integer({ min: 1, max: 4 * HOUR }),
  fc.constantFrom(1, 1000, 300_000, HOUR),
);
const load = fc.nat(2);
/** Rates ahead, with ties, gaps and negative ones. */
export const values = fc.oneof(
  fc.array(fc.integer({ min: -50, max: 1400 }), { minLength: 10, maxLength: 48 }),
  fc.array(fc.constantFrom(100, 200, Number.NaN), { minLength: 4, maxLength: 48 }),
);

const pass = fc.record({ kind: fc.constant('pass' as const), length });
const signal = fc
  .record({
    index: fc.option(fc.integer({ min: 0, max: 100 }), { nil: undefined }),
    flat: fc.oneof({ arbitrary: fc.constant(false), weight: 9 }, { arbitrary: fc.constant(true), weight: 1 }),
    indexLasts: fc.constantFrom(600_000, 1_800_000, 3 * HOUR),
    outlook: fc.option(values, { nil: undefined }),
    profile: fc.boolean(),
    outlookLasts: fc.integer({ min: 60_000, max: 40 * HOUR }),
  })
  .map(
    ({ index: value, outlook, ...rest }): Action => ({
      kind: 'signal',
      ...rest,
      ...(value === undefined ? {} : { index: value }),
      ...(outlook === undefined ? {} : { outlook }),
    }),
  );
const arm = fc.record({
  kind: fc.constant('arm' as const),
  load,
  need: fc.integer({ min: 60_000, max: 6 * HOUR }),
  within: fc.integer({ min: 60_000, max: 30 * HOUR }),
});
const meddling = fc.oneof(
  fc.record({
    kind: fc.constant('override' as const),
    load,
    level: fc.constantFrom('on', 'off', 'block', 'force', 'normal', 'recommend'),
    length: fc.oneof(length, fc.constantFrom(0, 30 * HOUR)),
    source: fc.constantFrom('local', 'remote'),
  }),
  fc.record({ kind: fc.constant('clear' as const), load }),
  arm,
  fc.record({ kind: fc.constant('trip' as const), load, tripped: fc.boolean() }),
  fc.record({ kind: fc.constant('fail' as const), load, times: fc.integer({ min: 1, max: 5 }) }),
  fc.record({ kind: fc.constant('lag' as const), length: fc.constantFrom(0, 50, 5_000, 90_000) }),
  fc.record({ kind: fc.constant('jump' as const), by: fc.integer({ min: -50 * HOUR, max: 50 * HOUR }) }),
  fc.record({ kind: fc.constant('trust' as const), trusted: fc.boolean() }),
  fc.record({ kind: fc.constant('restart' as const), sameBoot: fc.boolean(), away: length }),
) as fc.Arbitrary<Action>;
const action = fc.oneof(
  { arbitrary: pass, weight: 5 },
  { arbitrary: signal, weight: 4 },
  { arbitrary: meddling, weight: 4 },
) as fc.Arbitrary<Action>;

/** What the model knows of a history: how far it is. The truth about the loads is the plant's, which checks each step against it. */
export interface Told {
  events: number;
}

/** One thing that happens, until the history has had its events. */
class Happening implements fc.Command<Told, Plant> {
  private readonly action: Action;
  private readonly most: number;

  constructor(one: Action, most: number) {
    this.action = one;
    this.most = most;
  }

  check({ events }: Readonly<Told>): boolean {
    return events < this.most;
  }

  run(told: Told, plant: Plant): void {
    plant.act(this.action);
    told.events = plant.events;
    expect(plant.broken).toEqual([]);
  }

  /** As a row of `found.ts`. */
  toString(): string {
    return fc.stringify(this.action);
  }
}

/** Enough happenings for most histories to have `most` events; the shorter ones are drawn anew. */
export const history = (most: number, replayPath?: string) =>
  fc.commands([action.map((one) => new Happening(one, most))], {
    maxCommands: 3 * most,
    size: 'max',
    ...(replayPath === undefined ? {} : { replayPath }),
  });
