/** The MQTT topics and payloads of common devices, made from one base topic. */

import { listCurrentsBelow, MIN_AMPS } from '../domain/currents.ts';
import type { DeviceMeter, MqttOutputConfig } from '../domain/load-types.ts';
import { seconds } from '../domain/units.ts';
import {
  evccSensors,
  goeSensors,
  KILOWATT_HOURS,
  meterNumber,
  openevseSensors,
  shellyGen1Sensors,
  shellyGen2Sensors,
  tasmotaSensors,
  WATT_HOURS,
  WATTS,
  warpSensors,
  zigbeeSensors,
} from './preset-sensors.ts';

export type MqttDeviceFields = Partial<Omit<MqttOutputConfig, 'kind' | 'preset'>>;

interface Preset {
  /** An example of `topic`. */
  readonly topic: string;
  readonly about: string;
  /** `channel` counts as the device does. */
  readonly make: (topic: string, channel: number | undefined) => MqttDeviceFields;
  /** What differs when the charger is to charge with so many amperes; absent: it takes no current. */
  readonly withAmps?: (topic: string, amps: number) => MqttDeviceFields;
}

/** Payloads that switch the device on and off. */
const onOff = (onPayload: string, offPayload: string) => ({ onPayload, offPayload });
/** A state that is the payload itself, or with `statePath` a value in its JSON. */
const state = (stateTopic: string, stateOn: string, stateOff: string, statePath?: string) => ({
  stateTopic,
  stateOn,
  stateOff,
  ...(statePath === undefined ? {} : { statePath }),
});
/** The current that a charger is set to, in A. */
const reportedCurrent = (topic: string, path?: string) => ({ current: meterNumber(topic, 1, path) });
const availability = (topic: string, online: string, offline: string, path?: string) => ({
  availability: { topic, online, offline, ...(path === undefined ? {} : { path }) },
});

/** OpenEVSE announces itself by the end of its own base topic (ESP32_WiFi_V4.x, docs/mqtt.md); another base topic reveals nothing. */
function openevseAvailability(topic: string): MqttDeviceFields {
  const id = /^openevse-([0-9a-z]+)$/i.exec(topic)?.[1];
  return id === undefined ? {} : availability(`openevse/announce/${id}`, 'connected', 'disconnected', 'state');
}

/** evcc publishes `online` beside its load points (server/mqtt.go). */
function evccAvailability(topic: string): MqttDeviceFields {
  const root = /^(.+)\/loadpoints\/\d+$/.exec(topic)?.[1];
  return root === undefined ? {} : availability(`${root}/status`, 'online', 'offline');
}

/** The node of an ESPHome entity, which leaves `status` (its MQTT client component). */
function esphomeAvailability(topic: string): MqttDeviceFields {
  const node = /^(.+)\/switch\/[^/]+$/.exec(topic)?.[1];
  return node === undefined ? {} : availability(`${node}/status`, 'online', 'offline');
}

/** OpenEVSE's properties schema: `charge_current` in A, beside `state`. */
const openevseAmps = (_topic: string, amps: number) => ({ onPayload: `{"state":"active","charge_current":${amps}}` });

const OPENEVSE_PAYLOADS = onOff('{"state":"active"}', '{"state":"disabled"}');

export const presets = {
  switch: {
    topic: 'home/heater/set',
    about: 'any device that accepts `on` and `off` on the topic itself',
    make: (topic) => ({ commandTopic: topic, ...onOff('on', 'off') }),
  },
  openevse: {
    topic: 'openevse-1a2b',
    about: 'OpenEVSE by manual override; `clear` returns control to the charger',
    make: (topic) => ({
      commandTopic: `${topic}/override/set`,
      ...OPENEVSE_PAYLOADS,
      releasePayload: 'clear',
      ...state(`${topic}/override`, 'active', 'disabled', 'state'),
      press: 'always',
      ...reportedCurrent(`${topic}/override`, 'charge_current'),
      ...openevseAvailability(topic),
      ...openevseSensors(topic),
    }),
    withAmps: openevseAmps,
  },
  'openevse-claim': {
    topic: 'openevse-1a2b',
    about: 'OpenEVSE by claim (recommended); `release` returns control to the charger',
    make: (topic) => ({
      commandTopic: `${topic}/claim/set`,
      ...OPENEVSE_PAYLOADS,
      releasePayload: 'release',
      ...state(`${topic}/claim`, 'active', 'disabled', 'state'),
      ...reportedCurrent(`${topic}/claim`, 'charge_current'),
      ...openevseAvailability(topic),
      ...openevseSensors(topic),
    }),
    withAmps: openevseAmps,
  },
  'go-e': {
    topic: 'go-eCharger/123456',
    about: 'go-eCharger, API v2; enable writes in the charger; some firmware needs a leading /',
    make: (topic) => ({
      commandTopic: `${topic}/frc/set`,
      ...onOff('2', '1'),
      releasePayload: '0',
      ...state(`${topic}/frc`, '2', '1'),
      ...reportedCurrent(`${topic}/amp`),
      // Its last will (mqtt-en.md); older firmware leaves it at true.
      ...availability(`${topic}/mcc`, 'true', 'false'),
      press: 'always',
      ...goeSensors(topic),
    }),
    // `amp` requestedCurrent in A (apikeys-en.md).
    withAmps: (topic, amps) => ({ beforeOn: { topic: `${topic}/amp/set`, payload: `${amps}` } }),
  },
  tasmota: {
    topic: 'heater',
    about: 'Tasmota with its usual cmnd/ and stat/; `channel` from 1 where there are several relays',
    make: (topic, channel) => ({
      commandTopic: `cmnd/${topic}/POWER${channel ?? ''}`,
      ...onOff('ON', 'OFF'),
      ...state(`stat/${topic}/POWER${channel ?? ''}`, 'ON', 'OFF'),
      ...availability(`tele/${topic}/LWT`, 'Online', 'Offline'),
      press: 'while-available',
      // An empty command is the question for the state (docs/MQTT.md).
      query: { topic: `cmnd/${topic}/POWER${channel ?? ''}`, payload: '' },
      ...tasmotaSensors(topic),
    }),
  },
  'shelly-gen1': {
    topic: 'shellies/shelly1-98F4',
    about: 'Shelly of the first generation; `channel` from 0',
    make: (topic, channel = 0) => ({
      commandTopic: `${topic}/relay/${channel}/command`,
      ...onOff('on', 'off'),
      ...state(`${topic}/relay/${channel}`, 'on', 'off'),
      ...availability(`${topic}/online`, 'true', 'false'),
      press: 'while-available',
      // Its default update period is 30 s.
      stateMaxAge: seconds(120),
      ...shellyGen1Sensors(topic, channel),
    }),
  },
  'shelly-gen2': {
    topic: 'shellyplus1-a8032a',
    about: 'Shelly Plus and later; enable MQTT control and status; `channel` from 0',
    make: (topic, channel = 0) => ({
      commandTopic: `${topic}/command/switch:${channel}`,
      ...onOff('on', 'off'),
      ...state(`${topic}/status/switch:${channel}`, 'true', 'false', 'output'),
      ...availability(`${topic}/online`, 'true', 'false'),
      press: 'while-available',
      // The status comes on a change only, and the broker does not store it.
      query: { topic: `${topic}/command/switch:${channel}`, payload: 'status_update' },
      ...shellyGen2Sensors(topic, channel),
    }),
  },
  zigbee2mqtt: {
    topic: 'zigbee2mqtt/heater',
    about: 'a Zigbee plug or relay behind zigbee2mqtt; enable availability there, so that its loss is noticed',
    make: (topic) => ({
      commandTopic: `${topic}/set`,
      // `set` takes JSON (its page on topics and messages).
      ...onOff('{"state":"ON"}', '{"state":"OFF"}'),
      ...state(topic, 'ON', 'OFF', 'state'),
      // JSON, or plain text in older releases (its page on device availability).
      ...availability([topic, 'availability'].join('/'), 'online', 'offline', 'state'),
      press: 'while-available',
      query: { topic: `${topic}/get`, payload: '{"state":""}' },
      ...zigbeeSensors(topic),
    }),
  },
  esphome: {
    topic: 'heater-node/switch/relay',
    about: 'a switch of an ESPHome node with the MQTT client component',
    make: (topic) => ({
      commandTopic: `${topic}/command`,
      ...onOff('ON', 'OFF'),
      ...state(`${topic}/state`, 'ON', 'OFF'),
      ...esphomeAvailability(topic),
      press: 'while-available',
    }),
  },
  evcc: {
    topic: 'evcc/loadpoints/1',
    about: 'a load point of evcc; `pv` returns control to evcc',
    make: (topic) => ({
      commandTopic: `${topic}/mode/set`,
      ...onOff('now', 'off'),
      releasePayload: 'pv',
      ...state(`${topic}/mode`, 'now', 'off'),
      ...evccAvailability(topic),
      ...evccSensors(topic),
    }),
  },
  warp: {
    topic: 'warp/Abc',
    about: 'WARP charger by external current (enable it there): 32 A, or `amps`, or none',
    make: (topic) => ({
      commandTopic: `${topic}/evse/external_current_update`,
      ...onOff('{"current":32000}', '{"current":0}'),
      releasePayload: '{"current":32000}',
      ...state(`${topic}/evse/external_current`, '32000', '0', 'current'),
      ...warpSensors(topic),
    }),
    withAmps: (_topic, amps) => ({ onPayload: `{"current":${amps * 1_000}}`, stateOn: `${amps * 1_000}` }),
  },
} as const satisfies Readonly<Record<string, Preset>>;

export type PresetName = keyof typeof presets;
export const presetNames = Object.keys(presets) as readonly PresetName[];
/** The presets of devices with several relays. */
const CHANNEL_PRESETS: readonly PresetName[] = ['tasmota', 'shelly-gen1', 'shelly-gen2'];

/** A meter that the preset does not know, or knows elsewhere. */
interface MeterOptions {
  readonly energyTopic?: string;
  readonly energyPath?: string;
  readonly energyUnit?: 'kWh' | 'Wh';
  readonly powerTopic?: string;
  readonly powerPath?: string;
}

function buildMeter(options: MeterOptions, preset: DeviceMeter | undefined): Pick<MqttDeviceFields, 'meter'> | string {
  const { energyTopic, energyPath, energyUnit, powerTopic, powerPath } = options;
  if (energyTopic === undefined && (energyPath ?? energyUnit) !== undefined)
    return 'energyPath and energyUnit need an energyTopic; add it or remove them';
  if (powerTopic === undefined && powerPath !== undefined) return 'powerPath needs a powerTopic; add it or remove it';
  const energyScale = energyUnit === 'Wh' ? WATT_HOURS : KILOWATT_HOURS;
  const energy = energyTopic === undefined ? preset?.energy : meterNumber(energyTopic, energyScale, energyPath);
  const power = powerTopic === undefined ? preset?.power : meterNumber(powerTopic, WATTS, powerPath);
  if (energy === undefined && power === undefined) return {};
  return { meter: { ...(energy === undefined ? {} : { energy }), ...(power === undefined ? {} : { power }) } };
}

export interface MqttOutputOptions extends Omit<MqttDeviceFields, 'meter'>, MeterOptions {
  readonly preset: PresetName;
  readonly topic: string;
  readonly channel?: number;
  readonly amps?: number;
}

/** The currents that a power budget may lower a charger to; none where the message is the owner's. */
function buildLowerCurrents(
  { withAmps }: Preset,
  { topic, amps = MIN_AMPS, onPayload: ownPayload }: MqttOutputOptions,
  onPayload: string,
): Pick<MqttOutputConfig, 'lowerCurrents'> {
  const lowered = listCurrentsBelow(amps).map((current) => ({
    ...current,
    onPayload,
    ...withAmps?.(topic, current.amps),
  }));
  return lowered.length === 0 || ownPayload !== undefined ? {} : { lowerCurrents: lowered };
}

/** What is written wins over the preset. A text is the mistake. */
export function buildMqttOutput(options: MqttOutputOptions): MqttOutputConfig | string {
  const { preset, topic, channel, amps, energyTopic, energyPath, energyUnit, powerTopic, powerPath, ...overrides } =
    options;
  // `go-eCharger` without the serial number is the topic of no device.
  if (preset !== 'switch' && presets[preset].topic.startsWith(`${topic.replace(/^\/|\/+$/g, '')}/`))
    return `the topic "${topic}" names no device; the preset ${preset} expects one such as ${presets[preset].topic}`;
  if (channel !== undefined && !CHANNEL_PRESETS.includes(preset))
    return `channel ${channel}: the preset ${preset} has no channels; remove it`;
  const { make, withAmps }: Preset = presets[preset];
  if (amps !== undefined && withAmps === undefined)
    return `amps ${amps}: the preset ${preset} takes no current; remove it`;
  const made = { ...make(topic, channel), ...(amps === undefined ? {} : withAmps?.(topic, amps)) };
  const written = { energyTopic, energyPath, energyUnit, powerTopic, powerPath };
  const meter = buildMeter(written as MeterOptions, made.meter);
  if (typeof meter === 'string') return meter;
  const fields = { ...made, ...meter, ...overrides };
  const { commandTopic = '', onPayload = 'on', offPayload = 'off', ...rest } = fields;
  if (onPayload === offPayload) return 'onPayload and offPayload are the same; expected two different payloads';
  const states = rest.stateTopic === undefined ? {} : { stateOn: onPayload, stateOff: offPayload };
  const lower = buildLowerCurrents(presets[preset], options, onPayload);
  return { kind: 'mqtt', preset, commandTopic, onPayload, offPayload, ...states, ...rest, ...lower };
}
