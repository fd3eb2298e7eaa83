/** What each device is told over MQTT: the topics and payloads of its own documentation. */

import { expect, it } from 'vitest';
import { buildMqttOutput, type PresetName, presetNames } from '../../src/config/presets.ts';

//  preset            topic               channel    command topic                              on                      off                       release
const COMMANDS: readonly (readonly [
  PresetName,
  string,
  number | undefined,
  string,
  string,
  string,
  string | undefined,
])[] = [
  ['switch', 'a/set', undefined, 'a/set', 'on', 'off', undefined],
  ['openevse', 'ev', undefined, 'ev/override/set', '{"state":"active"}', '{"state":"disabled"}', 'clear'],
  ['openevse-claim', 'ev', undefined, 'ev/claim/set', '{"state":"active"}', '{"state":"disabled"}', 'release'],
  ['go-e', '/go-eCharger/1', undefined, '/go-eCharger/1/frc/set', '2', '1', '0'],
  ['tasmota', 't', undefined, 'cmnd/t/POWER', 'ON', 'OFF', undefined],
  ['tasmota', 't', 2, 'cmnd/t/POWER2', 'ON', 'OFF', undefined],
  ['shelly-gen1', 'shellies/s', undefined, 'shellies/s/relay/0/command', 'on', 'off', undefined],
  ['shelly-gen2', 's', 1, 's/command/switch:1', 'on', 'off', undefined],
  ['zigbee2mqtt', 'zigbee2mqtt/z', undefined, 'zigbee2mqtt/z/set', '{"state":"ON"}', '{"state":"OFF"}', undefined],
  ['esphome', 'node/switch/relay', undefined, 'node/switch/relay/command', 'ON', 'OFF', undefined],
  ['evcc', 'evcc/loadpoints/1', undefined, 'evcc/loadpoints/1/mode/set', 'now', 'off', 'pv'],
  [
    'warp',
    'warp/a',
    undefined,
    'warp/a/evse/external_current_update',
    '{"current":32000}',
    '{"current":0}',
    '{"current":32000}',
  ],
];
it.each(COMMANDS)('%s at %s, channel %s', (preset, topic, channel, commandTopic, onPayload, offPayload, release) => {
  const made = buildMqttOutput({ preset, topic, ...(channel === undefined ? {} : { channel }) });
  expect(made).toMatchObject({ kind: 'mqtt', preset, commandTopic, onPayload, offPayload });
  expect(typeof made === 'object' && made.releasePayload).toBe(release);
});

//  preset           state topic             path       on        off
const STATES: readonly (readonly [PresetName, string, string | undefined, string, string])[] = [
  ['openevse', 't/override', 'state', 'active', 'disabled'],
  ['openevse-claim', 't/claim', 'state', 'active', 'disabled'],
  ['go-e', 't/frc', undefined, '2', '1'],
  ['tasmota', 'stat/t/POWER', undefined, 'ON', 'OFF'],
  ['shelly-gen1', 't/relay/0', undefined, 'on', 'off'],
  ['shelly-gen2', 't/status/switch:0', 'output', 'true', 'false'],
  ['zigbee2mqtt', 't', 'state', 'ON', 'OFF'],
  ['esphome', 't/state', undefined, 'ON', 'OFF'],
  ['evcc', 't/mode', undefined, 'now', 'off'],
  ['warp', 't/evse/external_current', 'current', '32000', '0'],
];
it.each(STATES)('%s tells its state on %s', (preset, stateTopic, statePath, stateOn, stateOff) => {
  const made = buildMqttOutput({ preset, topic: 't' });
  expect(made).toMatchObject({ stateTopic, stateOn, stateOff });
  expect(typeof made === 'object' && made.statePath).toBe(statePath);
});

//  preset            topic                  availability                    online         offline         question for the state
const PRESENCE: readonly (readonly [PresetName, string, string | undefined, string, string, string | undefined])[] = [
  ['openevse', 'openevse-1a2b', 'openevse/announce/1a2b', 'connected', 'disconnected', undefined],
  ['openevse-claim', 'openevse-1a2b', 'openevse/announce/1a2b', 'connected', 'disconnected', undefined],
  ['openevse', 'garage', undefined, '', '', undefined],
  ['go-e', 'go-eCharger/1', 'go-eCharger/1/mcc', 'true', 'false', undefined],
  ['tasmota', 't', 'tele/t/LWT', 'Online', 'Offline', 'cmnd/t/POWER '],
  ['shelly-gen1', 'shellies/s', 'shellies/s/online', 'true', 'false', undefined],
  ['shelly-gen2', 's', 's/online', 'true', 'false', 's/command/switch:0 status_update'],
  ['zigbee2mqtt', 'zigbee2mqtt/z', 'zigbee2mqtt/z/availability', 'online', 'offline', 'zigbee2mqtt/z/get {"state":""}'],
  ['esphome', 'node/switch/relay', 'node/status', 'online', 'offline', undefined],
  ['evcc', 'evcc/loadpoints/1', 'evcc/status', 'online', 'offline', undefined],
  ['evcc', 'my/evcc/loadpoints/12', 'my/evcc/status', 'online', 'offline', undefined],
  ['warp', 'warp/a', undefined, '', '', undefined],
];
it.each(PRESENCE)('%s at %s is there or not by %s', (preset, topic, where, online, offline, question) => {
  const made = buildMqttOutput({ preset, topic });
  if (typeof made === 'string') throw new Error(made);
  expect(made.availability?.topic).toBe(where);
  if (where !== undefined) expect(made.availability).toMatchObject({ online, offline });
  expect(made.query && `${made.query.topic} ${made.query.payload}`).toBe(question);
});

it.each(['go-e', 'openevse', 'openevse-claim', 'warp'] as const)(
  'lowers %s, and knows where it reports that',
  (preset) => {
    const made = buildMqttOutput({ preset, topic: 'a/1', amps: 8 });
    if (typeof made === 'string') throw new Error(made);
    const lowered = made.lowerCurrents?.map(({ amps, of, onPayload, beforeOn, stateOn }) => [
      ...[amps, of, beforeOn?.payload ?? onPayload],
      stateOn ?? `${made.current?.topic} ${made.current?.path}`,
    ]);
    const messages = {
      'go-e': (amps: number) => [`${amps}`, 'a/1/amp undefined'],
      openevse: (amps: number) => [`{"state":"active","charge_current":${amps}}`, 'a/1/override charge_current'],
      'openevse-claim': (amps: number) => [`{"state":"active","charge_current":${amps}}`, 'a/1/claim charge_current'],
      warp: (amps: number) => [`{"current":${amps}000}`, `${amps}000`],
    };
    expect(lowered).toEqual([6, 7].map((amps) => [amps, 8, ...messages[preset](amps)]));
    const own = buildMqttOutput({ preset, topic: 'a/1', amps: 8, onPayload: 'mine' });
    expect(own).not.toHaveProperty('lowerCurrents');
  },
);

it('is the whole list', () => expect(new Set(COMMANDS.map(([preset]) => preset))).toEqual(new Set(presetNames)));

it('lets what is written win', () =>
  expect(buildMqttOutput({ preset: 'switch', topic: 'a', onPayload: '1', offPayload: '0', stateTopic: 'b' })).toEqual({
    kind: 'mqtt',
    preset: 'switch',
    commandTopic: 'a',
    onPayload: '1',
    offPayload: '0',
    stateTopic: 'b',
    stateOn: '1',
    stateOff: '0',
  }));
