/** Decides from the reports of a charger whether its vehicle is away, connected or full. */

import type { VehiclePresence } from '../control/control-types.ts';
import type { LoadConfig } from '../domain/load-types.ts';
import type { Cancel, Clock } from '../domain/ports.ts';
import { addDuration, type Kilowatt, minutes } from '../domain/units.ts';
import type { DeviceStatus, MeterReading } from '../outputs/output.ts';

export interface VehicleWatches {
  updateStatus(load: string, status: DeviceStatus): void;
  updateMeter(load: string, reading: MeterReading): void;
  /** What is known by now once more: whoever is to hear it has just started. */
  reportAll(): void;
  stop(): void;
}

/** One for each load. */
export function createVehicleWatches(
  loads: readonly LoadConfig[],
  clock: Clock,
  onChange: (load: string, vehicle: VehiclePresence) => void,
): VehicleWatches {
  const watches = new Map(
    loads.map(({ name, type }) => [
      name,
      createVehicleWatch({
        load: name,
        clock,
        isVehicle: type === 'ev',
        onChange: (vehicle) => onChange(name, vehicle),
      }),
    ]),
  );
  return {
    updateStatus: (load, status) => watches.get(load)?.updateStatus(status),
    updateMeter: (load, reading) => watches.get(load)?.updateMeter(reading),
    reportAll() {
      for (const watch of watches.values()) watch.report();
    },
    stop() {
      for (const watch of watches.values()) watch.stop();
    },
  };
}

interface VehicleWatchParts {
  readonly load: string;
  readonly clock: Clock;
  /** An electric vehicle may also charge at a plug that tells nothing of it. */
  readonly isVehicle: boolean;
  readonly onChange: (vehicle: VehiclePresence) => void;
}

/** A car that may charge takes a while to begin, and a charger shows "complete" after a pause and while it switches phases. */
const FULL_AFTER = minutes(5);
/** What the electronics of a car and a charger draw at most. */
const REST_POWER = 0.1;

function createVehicleWatch({ load, clock, isVehicle, onChange }: VehicleWatchParts) {
  let status: DeviceStatus = {};
  let power: Kilowatt | undefined;
  let presence: VehiclePresence | undefined;
  let fullTimer: Cancel | undefined;

  const setPresence = (next: VehiclePresence): void => {
    if (presence === next) return;
    presence = next;
    onChange(next);
  };
  /** Only while its command is to charge and it has confirmed that: a vehicle that must not charge draws nothing either. */
  const restsThoughOn = (): boolean => {
    const { sent, confirmed, vehicle } = status;
    if (sent !== 'on' || confirmed !== 'on' || vehicle?.connected === false) return false;
    if (vehicle?.charging !== undefined) return !vehicle.charging;
    return (isVehicle || vehicle?.connected === true) && power !== undefined && power <= REST_POWER;
  };
  const judgeFull = (): void => {
    if (!restsThoughOn()) {
      fullTimer?.();
      fullTimer = undefined;
      return;
    }
    fullTimer ??= clock.wakeAt(addDuration(clock.now().uptime, FULL_AFTER), `full vehicle of ${load}`, () => {
      fullTimer = undefined;
      presence = 'full';
      onChange('full');
    });
  };
  const judge = (): void => {
    const { vehicle } = status;
    if (vehicle?.connected === false) setPresence('away');
    // A full one stays full until it charges again or goes.
    else if (vehicle?.charging === true || (vehicle?.connected === true && presence !== 'full'))
      setPresence('connected');
    judgeFull();
  };

  return {
    updateStatus(next: DeviceStatus): void {
      // What the meter reported before the vehicle was allowed to charge tells nothing.
      if (next.sent !== status.sent) power = undefined;
      status = next;
      judge();
    },
    updateMeter(reading: MeterReading): void {
      if (reading.power === undefined) return;
      power = reading.power;
      if (power > REST_POWER && presence === 'full' && status.sent === 'on') setPresence('connected');
      judgeFull();
    },
    report(): void {
      if (presence !== undefined) onChange(presence);
    },
    stop: () => fullTimer?.(),
  };
}
