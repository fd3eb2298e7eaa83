/** The contract of every kind of output: one load's level, commanded and read back. */

import type { Level, LoadCurrent, VehicleState } from '../domain/load-types.ts';
import type { Kilowatt, KilowattHour } from '../domain/units.ts';

export type OutputFailure = {
  /** `busy`, `missing` and `forbidden` need the owner; the others may pass. */
  readonly kind: 'busy' | 'missing' | 'forbidden' | 'io' | 'offline' | 'unconfirmed';
  /** What happened, what it means, what to do. */
  readonly detail: string;
  /** With this the device answered a command that may have started a compressor: it may have run in between. */
  readonly answer?: Level;
};

/** What a device reports: a level, or that it follows neither on nor off. */
export type ConfirmedLevel = Level | 'other';

/** The same compared with its last command: `other-current` of a charger that is on, with another current than commanded. */
export type DeviceReading = ConfirmedLevel | 'other-current';

export const toConfirmedLevel = (reading: DeviceReading | undefined): ConfirmedLevel | undefined =>
  reading === 'other-current' ? 'on' : reading;

/** Undefined where the device follows rules of its own. */
export function toFoundLevel(reading: DeviceReading | undefined): Level | undefined {
  const confirmed = toConfirmedLevel(reading);
  return confirmed === 'other' ? undefined : confirmed;
}

/** The proof there is of a load's level. */
export interface DeviceStatus {
  /** The level sent to the device last; absent before the first and after a release. */
  readonly sent?: Level;
  /** What the device reports itself; absent where it is not known. */
  readonly confirmed?: ConfirmedLevel;
  /** False after the device's last will. */
  readonly available?: boolean;
  /** Of a charger that reports it. */
  readonly vehicle?: VehicleState;
}

/** One report of a device's meter. */
export interface MeterReading {
  readonly power?: Kilowatt;
  /** Of a counter: what it has counted since some time of its own. */
  readonly energy?: KilowattHour;
}

/** In kilowatts and kilowatt-hours; what is undefined was not reported. */
export const buildMeterReading = (power: number | undefined, energy: number | undefined): MeterReading => ({
  ...(power === undefined ? {} : { power: power as Kilowatt }),
  ...(energy === undefined ? {} : { energy: energy as KilowattHour }),
});

export interface DeviceHandlers {
  /** Called after each change of the status. */
  onStatus(status: DeviceStatus): void;
  /** Called when a person switched the device at the device itself; it is left at that until the next `apply`. */
  onPress(level: Level): void;
  /** Called when a person asked for a level at the load's button; nothing is switched yet. */
  onButton?(level: Level): void;
  /** Called when feedback or button of the load cannot be read, and with undefined when both can; the load is switched all the same. */
  onInputs?(failure: OutputFailure | undefined): void;
  /** Called with each report of the device's meter. */
  onMeter(reading: MeterReading): void;
}

/** What a device is found at. */
export interface FoundLevel {
  readonly level?: Level;
  readonly amps?: number;
}

export interface Output {
  /** The level found at start where it can be read, and the amperes that a charger reports to be set to. Never changes them. May be tried again after a failure. */
  open(): Promise<FoundLevel | OutputFailure>;
  /** `current`: of a charger that is lowered. Resolves when the level is in place as far as the output can verify. Calls do not overlap. After `offline` the output sends it by itself once the link is back, unless it gets another, and reports it. */
  apply(level: Level, current?: LoadCurrent): Promise<OutputFailure | undefined>;
  /** The level read back, where the output can. */
  read(): Promise<Level | undefined | OutputFailure>;
  /** `report` gets the level once the device agrees with the one applied, and the failure when it does not keep it. */
  watch(report: (update: Level | OutputFailure) => void): void;
  /** Where the device reports by itself. */
  watchDevice?(handlers: DeviceHandlers): void;
  /** Leaves the device to its own rules. False when it has none, and nothing was sent; a failure when it was not released. */
  release(): Promise<boolean | OutputFailure>;
  /** Ends what waits; an `apply` under way answers with a failure. The level stays. */
  close(): Promise<void>;
}

/** The right of one agent alone to command a device that several could reach. */
export interface DeviceLease {
  /** Claims the device unless a living agent has it; after each start of the link. */
  acquire(): Promise<void>;
  /** The agent that has it, when that is another one. */
  otherHolder(): string | undefined;
  /** `onChange` is called when the device passes from one agent to another between two starts of the link. */
  watchHolder(onChange: () => void): void;
  release(): Promise<void>;
}

export const isOutputFailure = (answer: object | string | undefined): answer is OutputFailure =>
  typeof answer === 'object' && 'kind' in answer && 'detail' in answer;
