/** Where the devices of the presets report their meters and vehicles; each name as the vendor's own document has it. */

import type { DeviceNumber, MqttOutputConfig, VehicleReport, VehicleState } from '../domain/load-types.ts';

export type PresetSensors = Pick<MqttOutputConfig, 'meter' | 'vehicle'>;

export const WATTS = 1 / 1_000;
export const WATT_HOURS = 1 / 1_000;
export const KILOWATT_HOURS = 1;
const WATT_MINUTES = 1 / 60_000;

export const meterNumber = (topic: string, scale: number, path?: string): DeviceNumber => ({
  topic,
  scale,
  ...(path === undefined ? {} : { path }),
});
const meter = (power: DeviceNumber, energy: DeviceNumber) => ({ meter: { power, energy } });
const report = (topic: string, states: Readonly<Record<string, VehicleState>>, path?: string): VehicleReport => ({
  topic,
  states,
  ...(path === undefined ? {} : { path }),
});

const AWAY: VehicleState = { connected: false, charging: false };
const WAITING: VehicleState = { connected: true, charging: false };
const CHARGING: VehicleState = { connected: true, charging: true };

/**
 * goecharger/go-eCharger-API-v2, apikeys-en.md: `nrg` lists U (4), I (3), P (L1, L2, L3, N, Total) …, so P total is item 11, in watts;
 * `eto` energy_total in Wh; `car` Idle=1, Charging=2, WaitCar=3, Complete=4.
 */
export const goeSensors = (topic: string): PresetSensors => ({
  ...meter(meterNumber(`${topic}/nrg`, WATTS, '11'), meterNumber(`${topic}/eto`, WATT_HOURS)),
  vehicle: [report(`${topic}/car`, { 1: AWAY, 2: CHARGING, 3: WAITING, 4: WAITING })],
});

/** OpenEVSE/openevse_esp32_firmware, docs/Developers_Guide_MQTT.md: `power` W, `total_energy` kWh, `vehicle` 1 or 0, `state` 3 = charging. */
export const openevseSensors = (topic: string): PresetSensors => ({
  ...meter(meterNumber(`${topic}/power`, WATTS), meterNumber(`${topic}/total_energy`, KILOWATT_HOURS)),
  vehicle: [
    report(`${topic}/vehicle`, { 0: AWAY, 1: { connected: true } }),
    report(`${topic}/state`, {
      1: AWAY,
      2: WAITING,
      3: CHARGING,
      // Asleep or disabled: `vehicle` alone tells whether one is there.
      254: { charging: false },
      255: { charging: false },
    }),
  ],
});

/** docs.evcc.io, integrations/mqtt-api: `chargePower` W, `chargedEnergy` Wh of the session, `connected`, `charging`. */
export const evccSensors = (topic: string): PresetSensors => ({
  ...meter(meterNumber(`${topic}/chargePower`, WATTS), meterNumber(`${topic}/chargedEnergy`, WATT_HOURS)),
  vehicle: [
    report(`${topic}/connected`, { true: { connected: true }, false: AWAY }),
    report(`${topic}/charging`, { true: CHARGING, false: { charging: false } }),
  ],
});

/** docs.warp-charger.com, mqtt_http/api_reference: meter.mdx `power` W and `energy_abs` kWh; evse.mdx `charger_state` 0 not connected, 1 and 2 wait, 3 charges. */
export const warpSensors = (topic: string): PresetSensors => ({
  ...meter(
    meterNumber(`${topic}/meter/values`, WATTS, 'power'),
    meterNumber(`${topic}/meter/values`, KILOWATT_HOURS, 'energy_abs'),
  ),
  vehicle: [report(`${topic}/evse/state`, { 0: AWAY, 1: WAITING, 2: WAITING, 3: CHARGING }, 'charger_state')],
});

/** Tasmota publishes ENERGY.Power (W) and ENERGY.Total (kWh) each TelePeriod; its own discovery message names both (`tele/…/SENSOR`). */
export const tasmotaSensors = (topic: string): PresetSensors =>
  meter(
    meterNumber(`tele/${topic}/SENSOR`, WATTS, 'ENERGY.Power'),
    meterNumber(`tele/${topic}/SENSOR`, KILOWATT_HOURS, 'ENERGY.Total'),
  );

/** shelly-api-docs.shelly.cloud, gen1: `relay/0/power` in W, `relay/0/energy` in watt-minutes. */
export const shellyGen1Sensors = (topic: string, channel: number): PresetSensors =>
  meter(
    meterNumber(`${topic}/relay/${channel}/power`, WATTS),
    meterNumber(`${topic}/relay/${channel}/energy`, WATT_MINUTES),
  );

/** shelly-api-docs.shelly.cloud, gen2, Switch status: `apower` in W, `aenergy.total` in Wh. */
export const shellyGen2Sensors = (topic: string, channel: number): PresetSensors =>
  meter(
    meterNumber(`${topic}/status/switch:${channel}`, WATTS, 'apower'),
    meterNumber(`${topic}/status/switch:${channel}`, WATT_HOURS, 'aenergy.total'),
  );

/** zigbee2mqtt.io, pages of metering plugs: `power` in W, `energy` in kWh, in the device's state. */
export const zigbeeSensors = (topic: string): PresetSensors =>
  meter(meterNumber(topic, WATTS, 'power'), meterNumber(topic, KILOWATT_HOURS, 'energy'));
