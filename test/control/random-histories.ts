/** Sites and random histories: events, restarts, delays, lost data, clock jumps. */

import fc from 'fast-check';
import { expect } from 'vitest';
import type { Site } from '../../src/control/control-types.ts';
import type { LoadConfig } from '../../src/domain/load-types.ts';
import { hours, type Kilowatt, minutes } from '../../src/domain/units.ts';
import {
  asPercentile,
  buildCharger,
  buildSite,
  carLoad,
  daily,
  heatingLoad,
  instantFrom,
  tankLoad,
} from './control-setup.ts';
import type { SimulatedSite, SiteAction } from './simulated-site.ts';

const HOUR = hours(1) as number;
export const HISTORY_START = instantFrom('2026-03-07T20:00:00Z');

const heatPumpLoad = (over: Partial<LoadConfig> = {}) =>
  heatingLoad({ blockAbove: asPercentile(85), forceBelow: asPercentile(8), startSpread: minutes(5), ...over });
const { window: _carWindow, ...bareCar } = carLoad({ startSpread: minutes(5), failSafe: 'off' });
const { window: _pumpWindow, ...barePump } = heatPumpLoad();

export const historySites: readonly Site[] = [
  buildSite(
    carLoad({ startSpread: minutes(5), alsoBelow: asPercentile(20) }),
    heatPumpLoad(),
    tankLoad({ maxOff: hours(3) }),
  ),
  { ...buildSite(carLoad({ startSpread: minutes(5) }), heatPumpLoad(), tankLoad()), budget: 8 as Kilowatt },
  {
    ...buildSite(
      { ...bareCar, goal: { need: { kind: 'time', time: hours(2) }, by: daily(420), from: 1320, armedBy: 'command' } },
      heatPumpLoad({
        goal: { need: { kind: 'time', time: hours(3) }, by: daily(0), armedBy: 'schedule' },
        maxStartsPerDay: 3,
      }),
    ),
    budget: 9 as Kilowatt,
  },
  buildSite(tankLoad({ minOn: minutes(0), minOff: minutes(0), maxStartsPerHour: 2, maxStartsPerDay: 5 }), barePump),
  {
    ...buildSite(
      carLoad({ startSpread: minutes(5), output: buildCharger('car') }),
      carLoad({ name: 'van', startSpread: minutes(5), alsoBelow: asPercentile(20), output: buildCharger('van') }),
      tankLoad(),
    ),
    budget: 8 as Kilowatt,
  },
];

const length = fc.oneof(
  fc.integer({ min: 1, max: 600_000 }),
  fc.integer({ min: 1, max: 4 * HOUR }),
  fc.constantFrom(1, 1000, 300_000, HOUR),
);
const load = fc.nat(2);
/** Rates ahead, with ties, gaps and negative ones. */
export const horizonValues = fc.oneof(
  fc.array(fc.integer({ min: -50, max: 1400 }), { minLength: 10, maxLength: 48 }),
  fc.array(fc.constantFrom(100, 200, Number.NaN), { minLength: 4, maxLength: 48 }),
);

const pass = fc.record({ kind: fc.constant('pass' as const), length });
const signal = fc
  .record({
    index: fc.option(fc.integer({ min: 0, max: 100 }), { nil: undefined }),
    flat: fc.oneof({ arbitrary: fc.constant(false), weight: 9 }, { arbitrary: fc.constant(true), weight: 1 }),
    indexLasts: fc.constantFrom(600_000, 1_800_000, 3 * HOUR),
    horizon: fc.option(horizonValues, { nil: undefined }),
    profile: fc.boolean(),
    horizonLasts: fc.integer({ min: 60_000, max: 40 * HOUR }),
  })
  .map(
    ({ index: value, horizon, ...rest }): SiteAction => ({
      kind: 'signal',
      ...rest,
      ...(value === undefined ? {} : { index: value }),
      ...(horizon === undefined ? {} : { horizon }),
    }),
  );
const arm = fc.record({
  kind: fc.constant('arm' as const),
  load,
  need: fc.integer({ min: 60_000, max: 6 * HOUR }),
  within: fc.integer({ min: 60_000, max: 30 * HOUR }),
});
const intervention = fc.oneof(
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
) as fc.Arbitrary<SiteAction>;
const action = fc.oneof(
  { arbitrary: pass, weight: 5 },
  { arbitrary: signal, weight: 4 },
  { arbitrary: intervention, weight: 4 },
) as fc.Arbitrary<SiteAction>;

/** What the model knows of a history: how far it is. The truth about the loads is the plant's, which checks each step against it. */
export interface HistoryProgress {
  events: number;
}

/** One thing that happens, until the history has had its events. */
class ActionCommand implements fc.Command<HistoryProgress, SimulatedSite> {
  private readonly action: SiteAction;
  private readonly maxEvents: number;

  constructor(one: SiteAction, maxEvents: number) {
    this.action = one;
    this.maxEvents = maxEvents;
  }

  check({ events }: Readonly<HistoryProgress>): boolean {
    return events < this.maxEvents;
  }

  run(progress: HistoryProgress, simulated: SimulatedSite): void {
    simulated.act(this.action);
    progress.events = simulated.events;
    expect(simulated.violations).toEqual([]);
  }

  /** As a row of `regression-histories.ts`. */
  toString(): string {
    return fc.stringify(this.action);
  }
}

/** Enough happenings for most histories to have `most` events; the shorter ones are drawn anew. */
export const generateHistories = (maxEvents: number, replayPath?: string) =>
  fc.commands([action.map((one) => new ActionCommand(one, maxEvents))], {
    maxCommands: 3 * maxEvents,
    size: 'max',
    ...(replayPath === undefined ? {} : { replayPath }),
  });
