/** What the agent is told: the checked configuration, every default filled in. Types only; `options.ts` makes it. */

import type { Duration, Kilowatt, KilowattHour, Percentile, Place } from '../units.ts';
import type { LogLevel } from '../world.ts';

export type SignalType = 'co2_moer' | 'co2_aoer' | 'health_damage';

/** A level a load can be told. Relays and chargers know `off` and `on`, SG-Ready inputs the four states of the label. */
export type Level = 'off' | 'on' | 'block' | 'normal' | 'recommend' | 'force';

export type LoadType = 'ev' | 'heat-pump' | 'tank' | 'generic';

export type OutputConfig =
  | { readonly kind: 'relay'; readonly pin: number; readonly activeLow: boolean }
  /** Lines A and B of the SG-Ready label, in this order. */
  | { readonly kind: 'sg-ready'; readonly pins: readonly [number, number]; readonly activeLow: boolean }
  | MqttOutputConfig
  /** Says what it would do and switches nothing. `levels` are those of the output it stands for. */
  | { readonly kind: 'dry-run'; readonly as: 'relay' | 'sg-ready' };

export interface MqttOutputConfig {
  readonly kind: 'mqtt';
  /** What the payloads mean: a preset fills in what is not said. */
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
}

/** `HH:MM` local times by weekday, 0 = Sunday as in Date; a day without one has no deadline. */
export type WeekTimes = readonly [LocalTime?, LocalTime?, LocalTime?, LocalTime?, LocalTime?, LocalTime?, LocalTime?];

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
  /** `schedule`: each deadline arms its job; `command`: an `arm` message does. */
  readonly armedBy: 'schedule' | 'command';
}

/** Local times of a daily window; it may pass midnight. */
export interface LocalWindow {
  readonly from: LocalTime;
  readonly to: LocalTime;
}

export interface LoadConfig {
  /** Of the safe alphabet [a-z0-9_-]{1,64}. */
  readonly name: string;
  readonly type: LoadType;
  readonly output: OutputConfig;
  readonly power: Kilowatt;
  readonly goal?: Goal;
  /** On at or below. */
  readonly onBelow: Percentile;
  /** Off at or above; never below `onBelow`. */
  readonly offAbove: Percentile;
  /** SG-Ready only: the block contact closes at or above. */
  readonly blockAbove?: Percentile;
  /** SG-Ready only: an ordered start at or below, with the owner's consent. */
  readonly forceBelow?: Percentile;
  readonly minOn: Duration;
  readonly minOff: Duration;
  /** Least time any SG-Ready state is held. */
  readonly hold: Duration;
  readonly maxStartsPerHour: number;
  readonly maxStartsPerDay: number;
  /** Pauses of one job; absent: no limit of its own. */
  readonly maxInterruptions?: number;
  readonly maxBlock: Duration;
  readonly maxBlocksPerDay: number;
  /** Starts caused by the shared signal are spread over this. */
  readonly jitter: Duration;
  readonly window?: LocalWindow;
  /** What the load is told when nothing valid is known. */
  readonly failSafe: Level;
  /** What the load is told at start until something is known. */
  readonly boot: Level;
  /** `failsafe` or leave the level as it is when the agent is stopped. */
  readonly onStop: 'failsafe' | 'hold';
  /** Default length of an override that gives none. */
  readonly overrideFor: Duration;
  /** Decides and reports, never switches. */
  readonly shadow: boolean;
}

export interface ServiceConfig {
  /** Base address without a trailing slash. */
  readonly url: string;
  readonly usernameFile: string;
  readonly passwordFile: string;
  readonly signalType: SignalType;
  /** A pinned data model (specification 9.2); absent: the service's default. */
  readonly model?: string;
  /** File of a certificate authority to trust beside the system's. */
  readonly ca?: string;
  /** How many devices share the account; the request budgets are divided by it. */
  readonly fleet: number;
}

export interface MqttConfig {
  readonly url: string;
  readonly usernameFile?: string;
  readonly passwordFile?: string;
  readonly ca?: string;
  /** `auto`: on when authenticated or on loopback. */
  readonly commands: 'auto' | 'on' | 'off';
  /** Prefix of Home Assistant discovery; absent: none is published. */
  readonly discovery?: string;
}

export interface Config {
  /** Of the safe alphabet; names the MQTT tree. */
  readonly device: string;
  readonly state?: string;
  readonly logLevel: LogLevel;
  readonly place: Place & { readonly timezone: string };
  readonly service: ServiceConfig;
  readonly mqtt?: MqttConfig;
  /** How ties count in the local index. */
  readonly ties: 'mid' | 'strict' | 'weak';
  /** All loads together never draw more. */
  readonly budget?: Kilowatt;
  readonly loads: readonly LoadConfig[];
}
