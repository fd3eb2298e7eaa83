/** A device that reports nothing by itself: it takes commands, and tells its state when it is asked. */

import type { VehicleState } from '../../domain/load-types.ts';
import type { Duration } from '../../domain/units.ts';
import type { DeviceCommand } from '../command-sender.ts';
import type { DeviceReading, MeterReading, OutputFailure } from '../output.ts';

/** What a device answered. */
export interface PolledState {
  readonly reading?: DeviceReading;
  /** False: the device itself cannot be reached by what answers for it. */
  readonly available?: boolean;
  /** A person has set this state. */
  readonly isByPerson?: boolean;
  readonly meter?: MeterReading;
  readonly vehicle?: VehicleState;
}

export interface PolledDevice {
  readonly canRelease: boolean;
  /** For people: where its state is read. */
  readonly stateSource: string;
  /** For its new state after a command. */
  readonly confirmTimeout: Duration;
  /** Sends a level, or without one the release; `current`: of a charger that is lowered. What `read` answers is compared with it. */
  send(command: DeviceCommand, signal: AbortSignal): Promise<OutputFailure | undefined>;
  /** Absent: the device has no state to read. */
  readonly read?: (signal: AbortSignal) => Promise<PolledState | OutputFailure>;
}
