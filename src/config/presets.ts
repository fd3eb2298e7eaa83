/** The MQTT topics and payloads of common devices, made from one base topic. */

import type { MqttOutputConfig } from '../domain/load-types.ts';

export type MqttDeviceFields = Partial<Omit<MqttOutputConfig, 'kind' | 'preset'>>;

interface Preset {
  /** An example of `topic`. */
  readonly topic: string;
  readonly about: string;
  /** `channel` counts as the device does. */
  readonly make: (topic: string, channel: number | undefined) => MqttDeviceFields;
}

const onOffPayloads = (on: string, off: string): MqttDeviceFields => ({ onPayload: on, offPayload: off });

export const presets = {
  switch: {
    topic: 'home/heater/set',
    about: 'any device that accepts `on` and `off` on the topic itself',
    make: (topic) => ({ commandTopic: topic, ...onOffPayloads('on', 'off') }),
  },
  openevse: {
    topic: 'openevse-1a2b',
    about: 'OpenEVSE by manual override; `clear` returns control to the charger',
    make: (topic) => ({
      commandTopic: `${topic}/override/set`,
      ...onOffPayloads('{"state":"active"}', '{"state":"disabled"}'),
      releasePayload: 'clear',
      stateTopic: `${topic}/override`,
      statePath: 'state',
      stateOn: 'active',
      stateOff: 'disabled',
    }),
  },
  'openevse-claim': {
    topic: 'openevse-1a2b',
    about: 'OpenEVSE by claim (recommended); `release` returns control to the charger',
    make: (topic) => ({
      commandTopic: `${topic}/claim/set`,
      ...onOffPayloads('{"state":"active"}', '{"state":"disabled"}'),
      releasePayload: 'release',
      stateTopic: `${topic}/claim`,
      statePath: 'state',
      stateOn: 'active',
      stateOff: 'disabled',
    }),
  },
  'go-e': {
    topic: 'go-eCharger/123456',
    about: 'go-eCharger, API v2; enable writes in the charger; some firmware needs a leading /',
    make: (topic) => ({
      commandTopic: `${topic}/frc/set`,
      ...onOffPayloads('2', '1'),
      releasePayload: '0',
      stateTopic: `${topic}/frc`,
      stateOn: '2',
      stateOff: '1',
    }),
  },
  tasmota: {
    topic: 'heater',
    about: 'Tasmota with its usual cmnd/ and stat/; `channel` from 1 where there are several relays',
    make: (topic, channel) => ({
      commandTopic: `cmnd/${topic}/POWER${channel ?? ''}`,
      ...onOffPayloads('ON', 'OFF'),
      stateTopic: `stat/${topic}/POWER${channel ?? ''}`,
      stateOn: 'ON',
      stateOff: 'OFF',
    }),
  },
  'shelly-gen1': {
    topic: 'shellies/shelly1-98F4',
    about: 'Shelly of the first generation; `channel` from 0',
    make: (topic, channel = 0) => ({
      commandTopic: `${topic}/relay/${channel}/command`,
      ...onOffPayloads('on', 'off'),
      stateTopic: `${topic}/relay/${channel}`,
      stateOn: 'on',
      stateOff: 'off',
    }),
  },
  'shelly-gen2': {
    topic: 'shellyplus1-a8032a',
    about: 'Shelly Plus and later; enable MQTT control and status; `channel` from 0',
    make: (topic, channel = 0) => ({
      commandTopic: `${topic}/command/switch:${channel}`,
      ...onOffPayloads('on', 'off'),
      stateTopic: `${topic}/status/switch:${channel}`,
      statePath: 'output',
      stateOn: 'true',
      stateOff: 'false',
    }),
  },
  zigbee2mqtt: {
    topic: 'zigbee2mqtt/heater',
    about: 'a Zigbee plug or relay behind zigbee2mqtt',
    make: (topic) => ({
      commandTopic: `${topic}/set`,
      ...onOffPayloads('ON', 'OFF'),
      stateTopic: topic,
      statePath: 'state',
      stateOn: 'ON',
      stateOff: 'OFF',
    }),
  },
  evcc: {
    topic: 'evcc/loadpoints/1',
    about: 'a load point of evcc; `pv` returns control to evcc',
    make: (topic) => ({
      commandTopic: `${topic}/mode/set`,
      ...onOffPayloads('now', 'off'),
      releasePayload: 'pv',
      stateTopic: `${topic}/mode`,
      stateOn: 'now',
      stateOff: 'off',
    }),
  },
  warp: {
    topic: 'warp/Abc',
    about: 'WARP charger by external current (enable it there): 32 A or none',
    make: (topic) => ({
      commandTopic: `${topic}/evse/external_current_update`,
      ...onOffPayloads('{"current":32000}', '{"current":0}'),
      releasePayload: '{"current":32000}',
      stateTopic: `${topic}/evse/external_current`,
      statePath: 'current',
      stateOn: '32000',
      stateOff: '0',
    }),
  },
} as const satisfies Readonly<Record<string, Preset>>;

export type PresetName = keyof typeof presets;
export const presetNames = Object.keys(presets) as readonly PresetName[];
/** The presets of devices with several relays. */
const CHANNEL_PRESETS: readonly PresetName[] = ['tasmota', 'shelly-gen1', 'shelly-gen2'];

export interface MqttOutputOptions extends MqttDeviceFields {
  readonly preset: PresetName;
  readonly topic: string;
  readonly channel?: number;
}

/** What is written wins over the preset. A text is the mistake. */
export function buildMqttOutput(options: MqttOutputOptions): MqttOutputConfig | string {
  const { preset, topic, channel, ...overrides } = options;
  if (channel !== undefined && !CHANNEL_PRESETS.includes(preset))
    return `channel ${channel}: the preset ${preset} has no channels; remove it`;
  const make: Preset['make'] = presets[preset].make;
  const fields = { ...make(topic, channel), ...overrides };
  const { commandTopic = '', onPayload = 'on', offPayload = 'off', ...rest } = fields;
  if (onPayload === offPayload) return 'onPayload and offPayload are the same; expected two different payloads';
  const states = rest.stateTopic === undefined ? {} : { stateOn: onPayload, stateOff: offPayload };
  return { kind: 'mqtt', preset, commandTopic, onPayload, offPayload, ...states, ...rest };
}
