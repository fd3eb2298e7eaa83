/** What the agent is told: the checked configuration, every default filled in. Types only: plain options take theirs from the rows of `options.ts`. */

import type { Duration, Kilowatt, KilowattHour } from '../domain/units.ts';
import type { ConfigValues, LoadValues, MQTT, SERVICE } from './options.ts';
import type { SectionValues } from './value-type.ts';

export type ServiceConfig = SectionValues<typeof SERVICE>;
export type MqttConfig = SectionValues<typeof MQTT>;
export type SignalType = ServiceConfig['signalType'];

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
  /** `schedule`: each deadline arms its job; `command`: an `arm` message does. */
  readonly armedBy: 'schedule' | 'command';
}

/** Local times of a daily window; it may pass midnight. */
export interface LocalWindow {
  readonly from: LocalTime;
  readonly to: LocalTime;
}

/** The options of a load are the rows `LOAD`. */
export interface LoadConfig extends Omit<LoadValues, 'powerKw'> {
  /** Of the safe alphabet [a-z0-9_-]{1,64}. */
  readonly name: string;
  readonly powerKw: Kilowatt;
}

/** The options at the top are the rows `OPTIONS`. */
export interface Config extends Omit<ConfigValues, 'budgetKw' | 'loads'> {
  /** All loads together never draw more. */
  readonly budgetKw?: Kilowatt;
  readonly loads: readonly LoadConfig[];
}
