/** The types of a load: its levels, output, goal and limits. */

import type { Duration, Kilowatt, KilowattHour, Percentile } from './units.ts';

/** Which signal of the service decides (specification 1.1). */
export type SignalType = 'co2_moer' | 'co2_aoer' | 'health_damage';

/** A level of a load. Relays and chargers have `off` and `on`, SG-Ready inputs the four states of the label. */
export type Level = 'off' | 'on' | 'block' | 'normal' | 'recommend' | 'force';

/** What a plan makes small: emissions, the bill, or emissions at a bill that is bounded. */
export type Objective = 'carbon' | 'price' | 'balanced';

export type LoadType = 'ev' | 'heat-pump' | 'tank' | 'generic';

export type OutputConfig =
  | RelayConfig
  /** Lines A and B of the SG-Ready label, in this order. */
  | { readonly kind: 'sg-ready'; readonly pins: readonly [number, number]; readonly activeLow: boolean }
  | SgReadySwitches
  | MqttOutputConfig
  | WebOutputConfig
  /** Logs what it would do and switches nothing. `levels` are those of the output that it replaces. */
  | { readonly kind: 'dry-run'; readonly as: 'relay' | 'sg-ready' };

export interface RelayConfig {
  readonly kind: 'relay';
  readonly pin: number;
  readonly activeLow: boolean;
  /** A contact that moves with the relay's own. */
  readonly feedback?: ContactInput;
  /** A push button for the load. */
  readonly button?: ContactInput;
}

/** A contact on a line of the board; active low: a closed one connects the line to ground. */
export interface ContactInput {
  readonly pin: number;
  readonly activeLow: boolean;
}

/** Two devices on MQTT in place of the contacts A and B. */
export interface SgReadySwitches {
  readonly kind: 'sg-ready';
  readonly switches: readonly [MqttOutputConfig, MqttOutputConfig];
}

interface DeviceMessage {
  readonly topic: string;
  readonly payload: string;
}

/** A current of a charger, of its own one. */
export interface LoadCurrent {
  readonly amps: number;
  readonly of: number;
}

export interface DeviceCurrent extends LoadCurrent {
  readonly onPayload: string;
  /** Where the state of the charger is its current. */
  readonly stateOn?: string;
  readonly beforeOn?: DeviceMessage;
}

export interface MqttOutputConfig {
  readonly kind: 'mqtt';
  /** The meaning of the payloads; a preset fills in what the configuration leaves out. */
  readonly preset: string;
  readonly commandTopic: string;
  readonly onPayload: string;
  readonly offPayload: string;
  /** Hands the decision back to the device (OpenEVSE release, go-e 0); sent at stop and at fail-safe. */
  readonly releasePayload?: string;
  readonly stateTopic?: string;
  /** Dotted path into a JSON state; absent when the payload itself is the state. */
  readonly statePath?: string;
  readonly stateOn?: string;
  readonly stateOff?: string;
  /** The device repeats its state more often than this: an older one is unknown. */
  readonly stateMaxAge?: Duration;
  readonly availability?: DeviceAvailability;
  /**
   * An on or off that was not commanded is a person's press: `always` of a device that falls to neutral by itself, `while-available`
   * of one that says when it restarts.
   */
  readonly press?: 'always' | 'while-available';
  /** A message that the device answers with its state. */
  readonly query?: { readonly topic: string; readonly payload: string };
  /** A message sent before each command "on": the current of a charger that takes it on a topic of its own. */
  readonly beforeOn?: DeviceMessage;
  /** What switches a charger on with less than its own current; ascending. */
  readonly lowerCurrents?: readonly DeviceCurrent[];
  /** Where a charger reports, in amperes, the current that it is set to, when its state does not tell it. */
  readonly current?: DeviceNumber;
  readonly meter?: DeviceMeter;
  /** Where a charger reports its vehicle; each topic may tell a part of it. */
  readonly vehicle?: readonly VehicleReport[];
}

/** A device that is asked for its state over HTTP. */
export type WebOutputConfig = HttpOutputConfig | HomeAssistantOutputConfig;

/** How a device is reached over HTTP. */
export interface HttpAccess {
  /** The file of its token; read again for each request. An installed agent has systemd's copy, made at its start. */
  readonly tokenFile?: string;
  /** Plain HTTP on the network of the house, by the word of its owner. */
  readonly allowsPlainHttp: boolean;
}

export interface HttpOutputConfig extends HttpAccess {
  readonly kind: 'http';
  readonly on: HttpCall;
  readonly off: HttpCall;
  /** Hands the decision back to the device. */
  readonly release?: HttpCall;
  readonly state?: HttpState;
  readonly headers: Readonly<Record<string, string>>;
  /** Carries the token as it stands in its file; absent: `Authorization`, as a bearer token. */
  readonly tokenHeader?: string;
}

export interface HttpCall {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly url: string;
  readonly body?: string;
}

/** The answer that tells the state of a device, and what its meter counts. */
export interface HttpState {
  readonly url: string;
  /** Dotted path into JSON; absent when the whole answer is the state. */
  readonly path?: string;
  readonly on: string;
  readonly off: string;
  readonly power?: JsonNumber;
  readonly energy?: JsonNumber;
}

/** A switch, select or number of Home Assistant. */
export interface HomeAssistantOutputConfig extends HttpAccess {
  readonly kind: 'home-assistant';
  readonly url: string;
  readonly tokenFile: string;
  readonly entity: string;
  /** States of the entity: `on` and `off` of a switch, options of a select, values of a number. */
  readonly onState: string;
  readonly offState: string;
  readonly releaseState?: string;
  /** Of a number that is the current of a charger: its own, at which the number is `onState`. */
  readonly amps?: number;
  /** Sensors, whose units Home Assistant tells. */
  readonly powerEntity?: string;
  readonly energyEntity?: string;
  /** A binary sensor: on while a vehicle is connected. */
  readonly plugEntity?: string;
}

/** Where a device reports what it draws; a device without a meter never does. */
export interface DeviceMeter {
  readonly power?: DeviceNumber;
  /** A counter: it grows, or starts anew. */
  readonly energy?: DeviceNumber;
}

/** A number in what a device reports. */
export interface JsonNumber {
  /** Dotted path into JSON; absent when the payload itself is the number. */
  readonly path?: string;
  /** Times this it is kilowatts or kilowatt-hours. */
  readonly scale: number;
}

export interface DeviceNumber extends JsonNumber {
  readonly topic: string;
}

export interface VehicleReport {
  readonly topic: string;
  readonly path?: string;
  /** What each value means; any other tells nothing. */
  readonly states: Readonly<Record<string, VehicleState>>;
}

/** What is known of the vehicle at a charger. */
export interface VehicleState {
  readonly connected?: boolean;
  readonly charging?: boolean;
}

/** The topic and the payload of a device's last will. */
export interface DeviceAvailability {
  readonly topic: string;
  /** Of the value in a JSON payload; a payload that is no JSON is the value itself. */
  readonly path?: string;
  readonly online: string;
  readonly offline: string;
}

/** Local times by weekday, 0 = Sunday as in Date; a day without one has no deadline. */
export type WeekTimes = readonly [Deadline?, Deadline?, Deadline?, Deadline?, Deadline?, Deadline?, Deadline?];
type Deadline = LocalTime | undefined;

/** Minutes after local midnight, 0 to 1439. */
export type LocalTime = number;

export interface Goal {
  /** Running time, or energy at `powerKw`. */
  readonly need:
    | { readonly kind: 'time'; readonly time: Duration }
    | { readonly kind: 'energy'; readonly energy: KilowattHour };
  readonly by: WeekTimes;
  /** Local time from which the job may run; absent: from the deadline before. */
  readonly from?: LocalTime;
  /** Part of the need that runs right before the deadline. */
  readonly keepLast?: Duration;
  /** `schedule`: each deadline arms its job; `command`: an `arm` message does; `plug`: so does a vehicle that is plugged in. */
  readonly armedBy: 'schedule' | 'command' | 'plug';
}

/** Local times of a daily window; it may pass midnight. */
export interface LocalWindow {
  readonly from: LocalTime;
  readonly to: LocalTime;
}

/** How one load is switched, guarded and planned: the rows `LOAD` of the option table, every default filled in. */
export interface LoadConfig {
  /** Of the safe alphabet [a-z0-9_-]{1,64}. */
  readonly name: string;
  readonly type: LoadType;
  readonly output: OutputConfig;
  /** Electric power while it runs. */
  readonly powerKw: Kilowatt;
  readonly goal?: Goal;
  /** What its plans make small; absent: `carbon`. */
  readonly objective?: Objective;
  /** Of a balanced objective: by what share its bill may exceed the cheapest. */
  readonly maxDearer?: number;
  /** Of a balanced objective: what a tonne is worth in the tariff's currency, in place of a bound. */
  readonly carbonPrice?: number;
  /** On at or below. */
  readonly onBelow: Percentile;
  /** Off at or above; never below `onBelow`. */
  readonly offAbove: Percentile;
  /** SG-Ready only: the block contact closes at or above. */
  readonly blockAbove?: Percentile;
  /** SG-Ready only: an ordered start at or below, with the owner's consent. */
  readonly forceBelow?: Percentile;
  /** Runs on beyond its goal while the index is at or below; absent: the goal only. */
  readonly alsoBelow?: Percentile;
  readonly minOn: Duration;
  readonly minOff: Duration;
  /** Minimum time in any SG-Ready state. */
  readonly minStateTime: Duration;
  readonly maxStartsPerHour: number;
  readonly maxStartsPerDay: number;
  /** Pauses of one job; absent: no limit of its own. */
  readonly maxInterruptions?: number;
  /** Never off for longer: it then runs for its minimum time on. Absent: no limit. */
  readonly maxOff?: Duration;
  readonly maxBlock: Duration;
  readonly maxBlocksPerDay: number;
  /** Starts caused by the shared signal are spread over this. */
  readonly startSpread: Duration;
  /** When it runs with no signal at all. */
  readonly window?: LocalWindow;
  /** The level without valid data and outside every window. */
  readonly failSafe: Level;
  /** The level at start until something is known. */
  readonly initialLevel: Level;
  /** What a stop of the agent leaves: the fail-safe level, or the level as it is. */
  readonly onStop: 'failsafe' | 'hold';
  /** Length of an override that gives none. */
  readonly overrideFor: Duration;
  /** Decides and reports, never switches. */
  readonly observeOnly: boolean;
}
