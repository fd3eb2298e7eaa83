/** The state of one MQTT device from its own messages: its level, its availability, its meter, its vehicle. */

import type { MqttOutputConfig, VehicleState } from '../domain/load-types.ts';
import type { BrokerMessage, Cancel, Clock } from '../domain/ports.ts';
import { addDuration } from '../domain/units.ts';
import { createDeviceSensors } from './devices/device-sensors.ts';
import { parseAvailability, parseDeviceState } from './devices/parse-device-state.ts';
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

export interface DeviceReports {
  /** Each once: one topic may carry several values, and the broker sends its stored message to each subscription. */
  readonly topics: readonly string[];
  receive(message: BrokerMessage): void;
  /** The last report of the device, unless it is too old or the device has gone offline since. */
  reading(): DeviceReading | undefined;
  /** Reports so far; a report the same as before counts. */
  reportCount(): number;
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
  const { stateTopic, availability, stateMaxAge } = config;
  const sensors = createDeviceSensors({ config, onMeter, onVehicle: onChange });
  let reading: DeviceReading | undefined;
  let reportCount = 0;
  let isAvailable: boolean | undefined;
  let ageTimer: Cancel | undefined;

  const setReading = (next: DeviceReading | undefined): void => {
    ageTimer?.();
    reading = next;
    if (next !== undefined && stateMaxAge !== undefined)
      ageTimer = clock.wakeAt(addDuration(clock.now().uptime, stateMaxAge), `age of ${load}`, () => setSilent());
    onChange();
  };

  const setSilent = (): void => {
    setReading(undefined);
    onSilence();
  };

  const receiveState = ({ payload }: BrokerMessage): void => {
    const found = parseDeviceState(payload, config);
    if (found === undefined) return;
    reportCount += 1;
    setReading(found);
    onReading(found);
  };

  const receiveAvailability = ({ payload }: BrokerMessage): void => {
    const found = availability && parseAvailability(payload, availability);
    if (found === undefined || found === isAvailable) return;
    isAvailable = found;
    if (!found) sensors.clear();
    if (!found) setReading(undefined);
    else onChange();
    onAvailability(found);
  };

  return {
    topics: [...new Set([availability?.topic, ...sensors.topics, stateTopic])].flatMap((topic) => topic ?? []),
    receive(message) {
      if (message.topic === availability?.topic) receiveAvailability(message);
      // The vehicle first, because the effect of a level may depend on it.
      sensors.receive(message.topic, message.payload);
      if (message.topic === stateTopic) receiveState(message);
    },
    reading: () => reading,
    reportCount: () => reportCount,
    isAvailable: () => isAvailable,
    vehicle: sensors.vehicle,
    forget() {
      isAvailable = undefined;
      sensors.clear();
      setReading(undefined);
    },
    stop: () => ageTimer?.(),
  };
}
