/** The state of one MQTT device from its own messages: its level, its availability, its meter, its vehicle. */

import type { MqttOutputConfig, VehicleState } from '../domain/load-types.ts';
import type { BrokerMessage, Cancel, Clock } from '../domain/ports.ts';
import { addDuration } from '../domain/units.ts';
import { createDeviceSensors } from './devices/device-sensors.ts';
import { parseAvailability } from './devices/parse-device-state.ts';
import { createReportedLevel, type ReportedLevel } from './devices/reported-level.ts';
import type { DeviceReading, MeterReading } from './output.ts';

export interface DeviceReportsParts {
  readonly load: string;
  readonly config: MqttOutputConfig;
  readonly clock: Clock;
  /** Called with each report of the device's state. */
  readonly onReading: (reading: DeviceReading) => void;
  /** Called when the device goes offline by its last will, and when it is back. */
  readonly onAvailability: (isAvailable: boolean) => void;
  readonly onMeter: (reading: MeterReading) => void;
  /** Called when a device that repeats its state has not done so for too long. */
  readonly onSilence: () => void;
  /** Called after each change of what follows. */
  readonly onChange: () => void;
}

export interface DeviceReports extends Omit<ReportedLevel, 'receive'> {
  /** Each once: one topic may carry several values, and the broker sends its stored message to each subscription. */
  readonly topics: readonly string[];
  receive(message: BrokerMessage): void;
  /** False after the device's last will; undefined where the device leaves none. */
  isAvailable(): boolean | undefined;
  /** The vehicle at a charger that reports it; undefined while it is not known. */
  vehicle(): VehicleState | undefined;
  /** The link is lost: nothing is known any more. */
  forget(): void;
  stop(): void;
}

export function createDeviceReports(parts: DeviceReportsParts): DeviceReports {
  const { load, config, clock, onReading, onAvailability, onMeter, onSilence, onChange } = parts;
  const { availability, stateMaxAge } = config;
  const sensors = createDeviceSensors({ config, onMeter, onVehicle: onChange });
  const reported = createReportedLevel(config);
  let isAvailable: boolean | undefined;
  let ageTimer: Cancel | undefined;

  const forgetLevel = (): void => {
    ageTimer?.();
    reported.forget();
    onChange();
  };

  const setSilent = (): void => {
    forgetLevel();
    onSilence();
  };

  const receiveLevel = (message: BrokerMessage): void => {
    if (!reported.topics.includes(message.topic)) return;
    const { reading, isState } = reported.receive(message);
    if (isState && stateMaxAge !== undefined) {
      ageTimer?.();
      ageTimer = clock.wakeAt(addDuration(clock.now().uptime, stateMaxAge), `age of ${load}`, setSilent);
    }
    // Also the first report of a current, which a command may wait for.
    onChange();
    if (reading !== undefined) onReading(reading);
  };

  const receiveAvailability = ({ payload }: BrokerMessage): void => {
    const found = availability && parseAvailability(payload, availability);
    if (found === undefined || found === isAvailable) return;
    isAvailable = found;
    if (!found) sensors.clear();
    if (!found) forgetLevel();
    else onChange();
    onAvailability(found);
  };

  return {
    ...reported,
    topics: [...new Set([availability?.topic, ...sensors.topics, ...reported.topics])].flatMap((topic) => topic ?? []),
    receive(message) {
      if (message.topic === availability?.topic) receiveAvailability(message);
      // The vehicle first, because the effect of a level may depend on it.
      sensors.receive(message.topic, message.payload);
      receiveLevel(message);
    },
    isAvailable: () => isAvailable,
    vehicle: sensors.vehicle,
    forget() {
      isAvailable = undefined;
      sensors.clear();
      forgetLevel();
    },
    stop: () => ageTimer?.(),
  };
}
