/** Loads, signals and a small world for the tests of control: outputs that obey, a clock that moves when told. */

import { buildMqttOutput } from '../../src/config/presets.ts';
import type { ControlEvent, Decision, LoadCommand, Site } from '../../src/control/control-types.ts';
import { explainDecision } from '../../src/control/explain.ts';
import { type ControlState, createInitialState, type Restart, step } from '../../src/control/step.ts';
import type { Level, LoadConfig, MqttOutputConfig } from '../../src/domain/load-types.ts';
import type { ClockReading } from '../../src/domain/ports.ts';
import {
  type Duration,
  hours,
  type Instant,
  type Kilowatt,
  minutes,
  type Percentile,
  toPercentile,
  type Uptime,
} from '../../src/domain/units.ts';
import type { CurrentIndex, Horizon, SignalView } from '../../src/signal/signal-view.ts';

export const ZONE = 'America/Los_Angeles';

export const instantFrom = (text: string) => {
  const parsed = Date.parse(text);
  if (Number.isNaN(parsed)) throw new Error(`${text} is no time`);
  return parsed as Instant;
};

export function asPercentile(value: number): Percentile {
  const checked = toPercentile(value);
  if (checked === undefined) throw new Error(`${value} is no percentile`);
  return checked;
}

const common = {
  onBelow: asPercentile(33),
  offAbove: asPercentile(43),
  minStateTime: minutes(10),
  maxStartsPerHour: 4,
  maxStartsPerDay: 24,
  maxBlock: hours(2),
  maxBlocksPerDay: 3,
  startSpread: minutes(0),
  onStop: 'failsafe',
  overrideFor: hours(4),
  observeOnly: false,
} as const;

export const tankLoad = (over: Partial<LoadConfig> = {}): LoadConfig => ({
  ...common,
  name: 'tank',
  type: 'tank',
  output: { kind: 'relay', pin: 4, activeLow: false },
  powerKw: 2 as Kilowatt,
  minOn: minutes(5),
  minOff: minutes(5),
  failSafe: 'on',
  initialLevel: 'off',
  ...over,
});

export const heatingLoad = (over: Partial<LoadConfig> = {}): LoadConfig => ({
  ...common,
  name: 'heating',
  type: 'heat-pump',
  output: { kind: 'sg-ready', pins: [17, 27], activeLow: true },
  powerKw: 3 as Kilowatt,
  minOn: minutes(30),
  minOff: minutes(15),
  maxStartsPerHour: 2,
  maxStartsPerDay: 6,
  failSafe: 'normal',
  initialLevel: 'normal',
  window: { from: 600, to: 900 },
  ...over,
});

const everyDay = (time: number) => [time, time, time, time, time, time, time] as const;

export const carLoad = (over: Partial<LoadConfig> = {}): LoadConfig => ({
  ...common,
  name: 'car',
  type: 'ev',
  output: { kind: 'relay', pin: 5, activeLow: false },
  powerKw: 7.2 as Kilowatt,
  goal: { need: { kind: 'time', time: hours(4) }, by: everyDay(7 * 60), armedBy: 'schedule' },
  minOn: minutes(15),
  minOff: minutes(15),
  maxStartsPerDay: 6,
  maxInterruptions: 3,
  failSafe: 'on',
  initialLevel: 'off',
  window: { from: 60, to: 300 },
  ...over,
});

export const daily = everyDay;

/** A charger that a power budget may lower from 16 A down to 6 A. */
export function buildCharger(serial: string): MqttOutputConfig {
  const output = buildMqttOutput({ preset: 'go-e', topic: `go-eCharger/${serial}`, amps: 16 });
  if (typeof output === 'string') throw new Error(output);
  return output;
}

export const buildSite = (...loads: LoadConfig[]): Site => ({ device: 'cellar', timezone: ZONE, loads });

/** An index of the slot at `from`, valid for `length` from there. */
export const buildIndex = (from: Instant, value: number, over: Partial<CurrentIndex> = {}): CurrentIndex => ({
  value: asPercentile(value),
  basis: 'live-index',
  at: from,
  startsUntil: (from + minutes(5)) as Instant,
  validUntil: (from + minutes(10)) as Instant,
  flat: false,
  quality: 'full',
  ...over,
});

/** Hourly values from `from`, as slots of 5 minutes. */
export const buildHorizon = (from: Instant, hourly: readonly number[], over: Partial<Horizon> = {}): Horizon => ({
  basis: 'fresh-forecast',
  from,
  period: minutes(5),
  values: hourly.flatMap((value) => Array<number>(12).fill(value)),
  units: 'lbs_co2_per_mwh',
  generatedAt: from,
  validUntil: (from + hourly.length * hours(1)) as Instant,
  ...over,
});

export const buildView = (parts: Omit<SignalView, 'changesAt'>): SignalView => ({
  changesAt: 8e15 as Instant,
  ...parts,
});

export interface SwitchRecord {
  readonly at: Instant;
  readonly load: string;
  readonly level: Level;
  readonly why: string;
  /** The reason as the owner reads it. */
  readonly words: string;
}

/** The core with outputs that confirm `delay` after each command, and a clock that goes from wake to wake. */
export class ControlBench {
  readonly site: Site;
  state: ControlState;
  now: ClockReading;
  wakeAt: Uptime;
  delay: Duration = minutes(0);
  readonly switches: SwitchRecord[] = [];
  readonly decisions: Decision[] = [];
  private pending: { at: Uptime; event: ControlEvent }[] = [];

  constructor(
    site: Site,
    start: Instant,
    options: {
      readonly saved?: ControlState;
      readonly restart?: Restart;
      readonly trusted?: boolean;
      readonly uptime?: Uptime;
    } = {},
  ) {
    this.site = site;
    this.state = createInitialState(site, options.saved, options.restart ?? 'other-boot');
    this.now = {
      wall: start,
      uptime: options.uptime ?? (minutes(1) as number as Uptime),
      trusted: options.trusted ?? true,
    };
    this.wakeAt = this.now.uptime;
  }

  /** One event now. */
  send(event: ControlEvent): readonly LoadCommand[] {
    const next = step(this.site, this.state, event, this.now);
    this.state = next.state;
    this.wakeAt = next.wakeAt;
    this.decisions.push(...next.decisions);
    for (const { load, level } of next.commands) {
      const decision = next.decisions.find((one) => one.load === load) ?? this.decision(load);
      const words = explainDecision(decision, this.site.timezone);
      this.switches.push({ at: this.now.wall, load, level, why: decision.why, words });
      const confirmed: ControlEvent = { kind: 'confirmed', load, level };
      this.pending.push({ at: (this.now.uptime + this.delay) as Uptime, event: confirmed });
    }
    this.deliverConfirmation();
    return next.commands;
  }

  /** One event now whose commands nobody answers. */
  sendUnanswered(event: ControlEvent): readonly LoadCommand[] {
    const next = step(this.site, this.state, event, this.now);
    this.state = next.state;
    this.wakeAt = next.wakeAt;
    return next.commands;
  }

  /** Time passes and nobody wakes the core. */
  skip(length: Duration) {
    this.advanceClock(length);
  }

  private deliverConfirmation() {
    const due = this.pending.find(({ at }) => at <= this.now.uptime);
    if (due === undefined) return;
    this.pending = this.pending.filter((one) => one !== due);
    this.send(due.event);
  }

  /** Lets time pass until `until`, stopping at each wake-up and confirmation. */
  runUntil(until: Instant) {
    for (;;) {
      const next = Math.min(this.wakeAt, ...this.pending.map(({ at }) => at));
      const wall = this.now.wall + (next - this.now.uptime);
      if (wall > until) break;
      this.advanceClock((next - this.now.uptime) as Duration);
      if (this.pending.some(({ at }) => at <= this.now.uptime)) this.deliverConfirmation();
      else this.send({ kind: 'tick' });
    }
    this.advanceClock((until - this.now.wall) as Duration);
  }

  runFor(length: Duration) {
    this.runUntil((this.now.wall + length) as Instant);
  }

  private advanceClock(length: Duration) {
    this.now = {
      ...this.now,
      wall: (this.now.wall + length) as Instant,
      uptime: (this.now.uptime + length) as Uptime,
    };
  }

  sendSignal(parts: Omit<SignalView, 'changesAt'>) {
    this.send({ kind: 'signal', view: buildView(parts) });
  }

  /** The index of now. */
  index(value: number, over: Partial<CurrentIndex> = {}) {
    this.sendSignal({ index: buildIndex(this.now.wall, value, over) });
  }

  level(name: string): Level | undefined {
    return this.state.loads.find((load) => load.name === name)?.level;
  }

  decision(name: string): Decision {
    const decision = this.state.loads.find((load) => load.name === name)?.decision;
    if (decision === undefined) throw new Error(`nothing has been decided for ${name}`);
    return decision;
  }
}
