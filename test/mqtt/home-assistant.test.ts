/** The Home Assistant message against the rules that make it refuse a whole device. */

import { describe, expect, it } from 'vitest';
import { buildMqttOutput } from '../../src/config/presets.ts';
import type { SignalType } from '../../src/domain/load-types.ts';
import { buildDiscovery, buildRemovedEntities } from '../../src/mqtt/home-assistant.ts';
import { buildMonitorConfig } from './monitor-fixture.ts';

type Json = Readonly<Record<string, unknown>>;
const made = (commands: boolean) => {
  const [discovery] = buildDiscovery(buildMonitorConfig('mqtt://127.0.0.1'), '0.1.0', commands);
  if (discovery === undefined) throw new Error('no discovery');
  return { topic: discovery.topic, payload: JSON.parse(discovery.payload) as Json };
};
const components = (commands = true) =>
  Object.entries(made(commands).payload.components as Readonly<Record<string, Json>>);

/** Shared keys that may stand at the root; any other refuses the whole message. */
const ROOT = [
  'device',
  'origin',
  'components',
  'availability',
  'availability_mode',
  'state_topic',
  'command_topic',
  'qos',
  'encoding',
];
const DEVICE = [
  'identifiers',
  'name',
  'manufacturer',
  'model',
  'sw_version',
  'serial_number',
  'hw_version',
  'configuration_url',
];
const ORIGIN = ['name', 'sw_version', 'support_url'];
const COMMON = [
  'platform',
  'unique_id',
  'name',
  'icon',
  'state_topic',
  'value_template',
  'availability',
  'availability_mode',
  'json_attributes_topic',
  'entity_category',
];
const OF_PLATFORM: Readonly<Record<string, readonly string[]>> = {
  sensor: ['unit_of_measurement', 'state_class', 'device_class', 'expire_after'],
  binary_sensor: ['device_class'],
  select: ['options', 'command_topic', 'command_template', 'retain'],
};

describe('the discovery message', () => {
  it('goes to a topic of the allowed alphabet', () =>
    expect(made(true).topic).toMatch(/^homeassistant\/device\/[A-Za-z0-9_-]+\/config$/));

  it('has no key at the root, in device or in origin that makes it refused', () => {
    const { payload } = made(true);
    expect(Object.keys(payload).filter((key) => !ROOT.includes(key))).toEqual([]);
    expect(Object.keys(payload.device as Json).filter((key) => !DEVICE.includes(key))).toEqual([]);
    expect(Object.keys(payload.origin as Json).filter((key) => !ORIGIN.includes(key))).toEqual([]);
    expect((payload.origin as Json).name).toBe('gridtide');
    expect((payload.device as { identifiers: string[] }).identifiers.length).toBeGreaterThan(0);
  });

  it.each(components())('%s has what its platform needs and nothing it does not know', (_, entity) => {
    const platform = `${entity.platform}`;
    const known = [...COMMON, ...(OF_PLATFORM[platform] ?? [])];
    expect(Object.keys(OF_PLATFORM)).toContain(platform);
    expect(Object.keys(entity).filter((key) => !known.includes(key))).toEqual([]);
    expect(entity.unique_id).toMatch(/^gridtide_cellar_[a-z0-9_-]+$/);
    expect(entity.state_topic).toMatch(/^gridtide\/cellar\//);
    expect(entity.entity_category ?? 'diagnostic').toBe('diagnostic');
    expect(JSON.stringify(entity)).not.toMatch(/[#+]"/);
  });

  it('has an id for each entity', () => {
    const ids = components().map(([, { unique_id }]) => unique_id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('lets signal entities expire, and go when the data are not fresh', () => {
    const signal = components().filter(([, { state_topic }]) => state_topic === 'gridtide/cellar/signal');
    expect(signal.length).toBe(3);
    for (const [, { expire_after, availability_mode, availability }] of signal) {
      expect(expire_after).toBe(900);
      expect(availability_mode).toBe('all');
      expect((availability as Json[]).map(({ topic }) => topic)).toEqual([
        'gridtide/cellar/availability',
        'gridtide/cellar/health',
      ]);
    }
  });

  it('shows a rate only where the tree holds one: of CO2', () => {
    const { service } = buildMonitorConfig('mqtt://127.0.0.1');
    const shown = (signalType: SignalType) => {
      const config = buildMonitorConfig('mqtt://127.0.0.1', { service: { ...service, signalType } });
      return JSON.stringify(buildDiscovery(config, '0.1.0', true)).includes('lb/MWh');
    };
    expect([shown('co2_moer'), shown('co2_aoer'), shown('health_damage')]).toEqual([true, true, false]);
  });

  it('offers an override only where commands are taken', () => {
    const selects = (commands: boolean) =>
      components(commands).filter(([, { platform }]) => platform === 'select').length;
    expect([selects(true), selects(false)]).toEqual([2, 0]);
  });

  it('is not sent where none is wanted', () => {
    const mqtt = { url: 'mqtt://127.0.0.1', commands: 'auto' } as const;
    expect(buildDiscovery(buildMonitorConfig(mqtt.url, { mqtt }), '0.1.0', true)).toEqual([]);
  });
});

describe('the entities of 32 loads with the longest names', () => {
  const load = buildMonitorConfig('mqtt://127.0.0.1').loads[0];
  if (load === undefined) throw new Error('no load');
  const loads = Array.from({ length: 32 }, (_, i) => ({ ...load, name: `${i}`.padEnd(64, 'x') }));
  const device = 'd'.repeat(64);
  const messages = buildDiscovery(buildMonitorConfig('mqtt://127.0.0.1', { loads, device }), '0.1.0', true);
  const parsed = messages.map(({ payload }) => JSON.parse(payload) as Json);

  it('are in messages below the limit of a packet, all of one device', () => {
    for (const { topic, payload } of messages) expect(Buffer.byteLength(topic + payload)).toBeLessThan(65_536);
    expect(messages.length).toBeGreaterThan(1);
    expect(new Set(parsed.map((one) => JSON.stringify(one.device))).size).toBe(1);
    expect(new Set(messages.map(({ topic }) => topic)).size).toBe(messages.length);
  });

  it('are each in one of them', () => {
    const names = parsed.flatMap(({ components }) => Object.keys(components as Json));
    expect(names.filter((name) => name.startsWith('load_')).length).toBe(32 * 4);
    expect(new Set(names).size).toBe(names.length);
  });
});

describe('a load whose device says when it is gone', () => {
  it('goes with it, and no other does', () => {
    const [car, heating] = buildMonitorConfig('mqtt://127.0.0.1').loads;
    if (car === undefined || heating === undefined) throw new Error('two loads are wanted');
    const output = buildMqttOutput({ preset: 'tasmota', topic: 'plug' });
    if (typeof output === 'string') throw new Error(output);
    const config = buildMonitorConfig('mqtt://127.0.0.1', { loads: [{ ...car, output }, heating] });
    const [message] = buildDiscovery(config, '0.1.0', true);
    const entities = Object.entries(JSON.parse(message?.payload ?? '').components as Readonly<Record<string, Json>>);
    const topics = (name: string) =>
      entities
        .filter(([key]) => key.startsWith(`load_${name}`))
        .map(([, { availability }]) => ((availability ?? []) as Json[]).map(({ topic }) => topic));
    for (const found of topics(car.name))
      expect(found).toEqual(['gridtide/cellar/availability', `gridtide/cellar/loads/${car.name}`]);
    for (const found of topics(heating.name)) expect(found).toEqual([]);
  });
});

describe('entities that are gone', () => {
  const [now] = buildDiscovery(buildMonitorConfig('mqtt://127.0.0.1'), '0.1.0', false);
  if (now === undefined) throw new Error('no discovery');
  const buildRemoval = (stored: string) => {
    const goodbye = buildRemovedEntities(Buffer.from(stored), now);
    return goodbye === undefined
      ? undefined
      : (JSON.parse(goodbye.payload).components as Readonly<Record<string, Json>>);
  };

  it('are named once more with their platform alone, beside the present ones', () => {
    const components = buildRemoval(
      '{"components":{"index":{"platform":"sensor"},"load_pool_running":{"platform":"binary_sensor","name":"x"}}}',
    );
    expect(components?.load_pool_running).toEqual({ platform: 'binary_sensor' });
    expect(components?.index).toMatchObject({ name: 'Emissions index' });
  });

  it('an override that is no longer offered goes', () => {
    const [before] = buildDiscovery(buildMonitorConfig('mqtt://127.0.0.1'), '0.1.0', true);
    expect(buildRemoval(before?.payload ?? '')?.load_car_override).toEqual({ platform: 'select' });
  });

  //  stored messages that remove nothing
  const rows = [
    now.payload,
    '',
    'no JSON',
    'null',
    '[]',
    '{}',
    '{"components":7}',
    '{"components":{"../x":{"platform":"sensor"}}}',
    `{"x":"${'x'.repeat(65_536)}"}`,
  ];
  it.each(rows.map((row) => [row.slice(0, 40), row]))('%s removes nothing', (_, stored) =>
    expect(buildRemoval(stored)).toBeUndefined(),
  );
});
