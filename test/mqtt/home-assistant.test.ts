/** The Home Assistant message against the rules that make it refuse a whole device. */

import { describe, expect, it } from 'vitest';
import { buildMqttOutput } from '../../src/config/presets.ts';
import type { SignalType } from '../../src/domain/load-types.ts';
import { buildWeekTimes } from '../../src/domain/text-format.ts';
import { hours } from '../../src/domain/units.ts';
import { buildDiscovery, buildRemovedEntities } from '../../src/mqtt/home-assistant.ts';
import { buildMonitorConfig } from './monitor-fixture.ts';

type Json = Readonly<Record<string, unknown>>;
const listMessages = (commands: boolean) =>
  buildDiscovery(buildMonitorConfig('mqtt://127.0.0.1'), '0.1.0', commands).map(({ topic, payload }) => ({
    topic,
    payload: JSON.parse(payload) as Json,
  }));
const components = (commands = true) =>
  listMessages(commands).flatMap(({ payload }) =>
    Object.entries(payload.components as Readonly<Record<string, Json>>).map(
      ([, entity]) => [`${entity.unique_id}`, entity] as const,
    ),
  );

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
  'via_device',
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
  'json_attributes_template',
  'entity_category',
  'default_entity_id',
];
const OF_PLATFORM: Readonly<Record<string, readonly string[]>> = {
  sensor: ['unit_of_measurement', 'state_class', 'device_class', 'expire_after'],
  binary_sensor: ['device_class'],
  select: ['options', 'command_topic', 'command_template', 'retain'],
  button: ['command_topic', 'payload_press', 'retain'],
  event: ['event_types'],
  text: ['command_topic', 'command_template', 'pattern', 'retain'],
  switch: ['command_topic', 'payload_on', 'payload_off', 'state_on', 'state_off', 'retain'],
  number: ['command_topic', 'command_template', 'min', 'max', 'step', 'mode', 'unit_of_measurement', 'retain'],
};
/** Classes with their unit, and whether they may be a total. */
const CLASSES: Readonly<Record<string, readonly [string | undefined, readonly string[]]>> = {
  energy: ['kWh', ['total', 'total_increasing']],
  power: ['kW', ['measurement']],
  timestamp: [undefined, []],
};

describe('the discovery message', () => {
  it('goes to a topic of the allowed alphabet', () =>
    expect(listMessages(true).map(({ topic }) => topic)).toEqual([
      expect.stringMatching(/^homeassistant\/device\/[A-Za-z0-9_-]+\/config$/),
      'homeassistant/device/gridtide_cellar/car/config',
      'homeassistant/device/gridtide_cellar/heating/config',
    ]));

  it('has no key at the root, in device or in origin that makes it refused', () => {
    for (const { payload } of listMessages(true)) {
      expect(Object.keys(payload).filter((key) => !ROOT.includes(key))).toEqual([]);
      expect(Object.keys(payload.device as Json).filter((key) => !DEVICE.includes(key))).toEqual([]);
      expect(Object.keys(payload.origin as Json).filter((key) => !ORIGIN.includes(key))).toEqual([]);
      expect((payload.origin as Json).name).toBe('gridtide');
      expect((payload.device as { identifiers: string[] }).identifiers.length).toBeGreaterThan(0);
    }
  });

  it('shows each load as a device of its own, reached through the agent', () => {
    const [agent, ...loads] = listMessages(true).map(({ payload }) => payload.device as Json);
    expect(loads.map(({ via_device, name }) => [via_device, name])).toEqual([
      ['gridtide_cellar', 'car'],
      ['gridtide_cellar', 'heating'],
    ]);
    expect(agent?.identifiers).toEqual(['gridtide_cellar']);
  });

  it.each(components())('%s has what its platform needs and nothing it does not know', (_, entity) => {
    const platform = `${entity.platform}`;
    const known = [...COMMON, ...(OF_PLATFORM[platform] ?? [])];
    expect(Object.keys(OF_PLATFORM)).toContain(platform);
    expect(Object.keys(entity).filter((key) => !known.includes(key))).toEqual([]);
    expect(entity.unique_id).toMatch(/^gridtide_cellar(\/(car|heating))?\/[a-z_]+$/);
    expect(entity.state_topic ?? entity.command_topic).toMatch(/^gridtide\/cellar\//);
    const words = `${entity.unique_id}`
      .split('/')
      .map((word) => (['car', 'heating'].includes(word) ? `load_${word}` : word));
    expect(entity.default_entity_id).toBe(`${platform}.${words.join('_')}`);
    const [unit, states] = CLASSES[`${platform === 'sensor' ? entity.device_class : ''}`] ?? [
      entity.unit_of_measurement,
    ];
    expect(entity.unit_of_measurement).toBe(unit);
    if (states !== undefined && entity.state_class !== undefined) expect(states).toContain(entity.state_class);
    expect(entity.entity_category ?? 'diagnostic').toBe('diagnostic');
    expect(JSON.stringify(entity)).not.toMatch(/[#+]"/);
  });

  it('has ids of its own for each agent, load and entity, whatever their names', () => {
    const houses = {
      cellar: ['car'],
      'cellar-car': ['car'],
      a: ['b_load_c', 'b', 'config', 'problem'],
      a_load_b: ['c'],
    };
    const ids = Object.entries(houses).flatMap(([device, names]) => {
      const config = buildMonitorConfig('mqtt://127.0.0.1', { device });
      const loads = names.flatMap((name) => config.loads.slice(0, 1).map((load) => ({ ...load, name })));
      return buildDiscovery({ ...config, loads }, '0.1.0', true).flatMap(({ topic, payload }) => {
        const { device: own, components: entities } = JSON.parse(payload);
        const ofEntities = Object.values<Json>(entities).map(({ unique_id }) => `entity ${unique_id}`);
        return [`topic ${topic}`, `device ${own.identifiers}`, ...ofEntities];
      });
    });
    expect(ids.filter((id, i) => ids.indexOf(id) !== i)).toEqual([]);
    expect(ids.length).toBeGreaterThan(100);
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
    expect(components(false).filter(([, { command_topic }]) => command_topic !== undefined)).toEqual([]);
  });

  it("offers the load's own levels, each for a time, and a job where a goal has a deadline", () => {
    const config = buildMonitorConfig('mqtt://127.0.0.1');
    const [car, heating] = config.loads;
    if (car === undefined || heating === undefined) throw new Error('two loads are wanted');
    const goal = {
      ...{ need: { kind: 'time' as const, time: hours(4) }, by: buildWeekTimes(() => 420) },
      armedBy: 'schedule' as const,
    };
    const loads = [{ ...car, goal }, heating];
    const [, ...made] = buildDiscovery({ ...config, loads }, '0.1.0', true).map(
      ({ payload }) => JSON.parse(payload).components as Readonly<Record<string, Json>>,
    );
    expect(made.map(({ arm }) => arm?.payload_press)).toEqual(['{"command":"arm"}', undefined]);
    expect(made.map(({ job }) => job?.platform)).toEqual(['text', undefined]);
    const pattern = new RegExp(`${made[0]?.job?.pattern}`);
    const typed = ['4h by 07:00', '90m by 00:05', '12.5kWh by 23:59', '4h', '4h by 7', '4 h by 07:00', '4h by 24:00'];
    expect(typed.map((text) => pattern.test(text))).toEqual([true, true, true, false, false, false, false]);
    expect(made[0]?.override?.options).toEqual([
      'auto',
      'on',
      'off',
      ...['on', 'off'].flatMap((level) => [`${level} 1h`, `${level} 2h`, `${level} 8h`]),
    ]);
    expect(made[1]?.override?.options).toContain('recommend 2h');
  });

  it('links each device to the page, where its address is known', () => {
    const links = (page?: string) => {
      const mqtt = { url: 'mqtt://127.0.0.1', commands: 'auto', discovery: 'homeassistant' } as const;
      const config = buildMonitorConfig(mqtt.url, { mqtt: { ...mqtt, ...(page === undefined ? {} : { page }) } });
      const messages = buildDiscovery(config, '0.1.0', true).map(({ payload }) => JSON.parse(payload));
      return messages.flatMap(({ device, origin }) => [device.configuration_url, origin.support_url]);
    };
    expect(links('http://cellar.local:7080/')).toEqual(Array(6).fill('http://cellar.local:7080/'));
    expect(links()).toEqual(Array(6).fill(undefined));
  });

  it('pauses a load, and moves its thresholds where no goal decides', () => {
    const number = components().find(([id]) => id === 'gridtide_cellar/heating/on_below')?.[1];
    expect(number).toMatchObject({ min: 0, max: 100, value_template: '{{ value_json.onBelow }}' });
    const send = (template: unknown) => JSON.parse(`${template}`.replace('{{ value }}', '30.0'));
    expect(send(number?.command_template)).toEqual({ command: 'thresholds', onBelow: 30 });
    const pause = components().find(([id]) => id === 'gridtide_cellar/car/pause')?.[1];
    expect([pause?.payload_on, pause?.payload_off]).toEqual(['{"command":"pause"}', '{"command":"resume"}']);
  });

  it('has sums of money with a tariff, in its currency', () => {
    const tariff = { currency: 'EUR', source: { kind: 'file' as const, path: '/none' } };
    const money = (config: ReturnType<typeof buildMonitorConfig>) =>
      buildDiscovery(config, '0.1.0', true)
        .flatMap(({ payload }) => Object.values(JSON.parse(payload).components as Readonly<Record<string, Json>>))
        .filter(({ device_class }) => device_class === 'monetary')
        .map(({ unit_of_measurement, state_class, value_template }) => [
          ...[unit_of_measurement, state_class],
          /value_json\.(\S+) if/.exec(`${value_template}`)?.[1],
        ]);
    expect(money(buildMonitorConfig('mqtt://127.0.0.1', { tariff }))).toEqual([
      ['EUR', 'total', 'today.bill.paid'],
      ['EUR', 'total', 'all.bill.saved'],
      ['EUR', 'total', "loads['car'].all.bill.paid"],
      ['EUR', 'total', "loads['heating'].all.bill.paid"],
    ]);
    expect(money(buildMonitorConfig('mqtt://127.0.0.1'))).toEqual([]);
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

  it('are in messages below the limit of a packet, each of a device of its own', () => {
    for (const { topic, payload } of messages) expect(Buffer.byteLength(topic + payload)).toBeLessThan(65_536);
    expect(messages.length).toBe(33);
    expect(new Set(parsed.map((one) => JSON.stringify(one.device))).size).toBe(33);
    expect(new Set(messages.map(({ topic }) => topic)).size).toBe(33);
  });

  it('have ids of their own', () => {
    const ids = parsed.flatMap(({ components }) =>
      Object.values(components as Readonly<Record<string, Json>>).map(({ unique_id }) => unique_id),
    );
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe('a load whose device says when it is gone', () => {
  it('goes with it, and no other does', () => {
    const [car, heating] = buildMonitorConfig('mqtt://127.0.0.1').loads;
    if (car === undefined || heating === undefined) throw new Error('two loads are wanted');
    const output = buildMqttOutput({ preset: 'tasmota', topic: 'plug' });
    if (typeof output === 'string') throw new Error(output);
    const config = buildMonitorConfig('mqtt://127.0.0.1', { loads: [{ ...car, output }, heating] });
    const messages = buildDiscovery(config, '0.1.0', true);
    const topics = (load: string) => {
      const payload = messages.find(({ topic }) => topic.endsWith(`/${load}/config`))?.payload ?? '';
      const entities = JSON.parse(payload).components as Readonly<Record<string, Json>>;
      return ['running', 'reason', 'next', 'override'].map((name) =>
        ((entities[name]?.availability ?? []) as Json[]).map(({ topic }) => topic),
      );
    };
    for (const found of topics(car.name))
      expect(found).toEqual(['gridtide/cellar/availability', `gridtide/cellar/loads/${car.name}`]);
    for (const found of topics(heating.name)) expect(found).toEqual([]);
  });
});

describe('entities that are gone', () => {
  const [, now] = buildDiscovery(buildMonitorConfig('mqtt://127.0.0.1'), '0.1.0', false);
  if (now === undefined) throw new Error('no discovery');
  const buildRemoval = (stored: string) => {
    const goodbye = buildRemovedEntities(Buffer.from(stored), now);
    return goodbye === undefined
      ? undefined
      : (JSON.parse(goodbye.payload).components as Readonly<Record<string, Json>>);
  };

  it('are named once more with their platform alone, beside the present ones', () => {
    const components = buildRemoval(
      '{"components":{"running":{"platform":"binary_sensor"},"pool":{"platform":"binary_sensor","name":"x"}}}',
    );
    expect(components?.pool).toEqual({ platform: 'binary_sensor' });
    expect(components?.running).toMatchObject({ name: 'Running' });
  });

  it('an override that is no longer offered goes', () => {
    const [, before] = buildDiscovery(buildMonitorConfig('mqtt://127.0.0.1'), '0.1.0', true);
    expect(buildRemoval(before?.payload ?? '')?.override).toEqual({ platform: 'select' });
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
