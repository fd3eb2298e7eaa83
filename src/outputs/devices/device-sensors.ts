/** What a device reports beside its level: what its meter counts, and the vehicle at a charger. */

import type { DeviceNumber, MqttOutputConfig, VehicleState } from '../../domain/load-types.ts';
import { buildMeterReading, type MeterReading } from '../output.ts';
import { readNumber, readValue } from './parse-device-state.ts';

export interface DeviceSensors {
  /** Each once. */
  readonly topics: readonly string[];
  receive(topic: string, payload: Uint8Array): void;
  /** Undefined until the device has reported one. */
  vehicle(): VehicleState | undefined;
  /** Forgets the vehicle, because the device is offline. */
  clear(): void;
}

export interface DeviceSensorsParts {
  readonly config: Pick<MqttOutputConfig, 'meter' | 'vehicle'>;
  /** Called with the meter reading of a message. */
  readonly onMeter: (reading: MeterReading) => void;
  /** Called when a message changes what is known of the vehicle. */
  readonly onVehicle: () => void;
}

export function createDeviceSensors({ config, onMeter, onVehicle }: DeviceSensorsParts): DeviceSensors {
  const { meter = {}, vehicle: reports = [] } = config;
  let vehicle: VehicleState | undefined;

  const receiveMeter = (topic: string, payload: Uint8Array): void => {
    const readOwn = (source: DeviceNumber | undefined) =>
      source?.topic === topic ? readNumber(payload, source) : undefined;
    const [power, energy] = [readOwn(meter.power), readOwn(meter.energy)];
    if (power === undefined && energy === undefined) return;
    onMeter(buildMeterReading(power, energy));
  };

  return {
    topics: [
      ...new Set([meter.power, meter.energy, ...reports].flatMap((one) => (one === undefined ? [] : [one.topic]))),
    ],
    receive(topic, payload) {
      receiveMeter(topic, payload);
      for (const { topic: reportTopic, path, states } of reports) {
        const value = reportTopic === topic ? readValue(payload, path) : undefined;
        const found = value !== undefined && Object.hasOwn(states, value) ? states[value] : undefined;
        const next = { ...vehicle, ...found };
        if (found === undefined || isSameVehicle(vehicle, next)) continue;
        vehicle = next;
        onVehicle();
      }
    },
    vehicle: () => vehicle,
    clear() {
      vehicle = undefined;
    },
  };
}

const isSameVehicle = (a: VehicleState | undefined, b: VehicleState) =>
  a !== undefined && a.connected === b.connected && a.charging === b.charging;
