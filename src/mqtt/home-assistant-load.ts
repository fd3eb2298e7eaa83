/** The entities of one load in Home Assistant: what it does and will do, its energy and savings, and the ways to command it. */

import { findWebDevice, listMqttDevices } from '../domain/levels.ts';
import type { LoadConfig } from '../domain/load-types.ts';
import { getThresholdRange, listCommandLevels } from './parse-command.ts';
import type { buildTopics } from './topics.ts';

type Topics = ReturnType<typeof buildTopics>;
export type Entity = Readonly<Record<string, unknown>> & { readonly platform: string };

/** Longest state Home Assistant stores. */
const MAX_STATE_LENGTH = 255;
/** Of an override, beside the length that the configuration gives one. */
const OVERRIDE_LENGTHS = ['1h', '2h', '8h'] as const;

export interface LoadEntityOptions {
  readonly hasCommands: boolean;
  /** Of the tariff. */
  readonly currency?: string;
}

export function buildLoadEntities(
  load: LoadConfig,
  topics: Topics,
  { hasCommands, currency }: LoadEntityOptions,
): Record<string, Entity> {
  return {
    ...buildStateEntities(load, topics),
    ...buildMeterEntities(load, topics),
    ...(currency === undefined
      ? {}
      : { cost: buildBillEntity('Cost', 'paid', { topics, currency, sums: `loads['${load.name}'].all` }) }),
    ...(hasCommands ? buildCommandEntities(load, topics) : {}),
  };
}

function buildStateEntities(load: LoadConfig, topics: Topics): Record<string, Entity> {
  const topic = topics.load(load.name);
  const common = { state_topic: topic, ...buildDeviceAvailability(load, topics) };
  const timestamp = { ...common, platform: 'sensor', device_class: 'timestamp' };
  const nextRun = {
    ...{ ...timestamp, json_attributes_topic: topic },
    json_attributes_template: '{{ {"expected": value_json.nextIsExpected} | tojson }}',
  };
  return {
    running: {
      ...common,
      platform: 'binary_sensor',
      name: 'Running',
      device_class: 'running',
      value_template: "{{ 'ON' if value_json.running else 'OFF' }}",
      json_attributes_topic: topic,
    },
    reason: {
      ...common,
      platform: 'sensor',
      name: 'Reason',
      value_template: `{{ value_json.text[:${MAX_STATE_LENGTH}] }}`,
      json_attributes_topic: topics.plan(load.name),
    },
    next: {
      ...timestamp,
      name: 'Next change',
      value_template: '{{ value_json.next.at if value_json.next else None }}',
    },
    next_start: { ...nextRun, name: 'Next start', value_template: '{{ value_json.nextStart }}' },
    next_end: { ...nextRun, name: 'Next end', value_template: '{{ value_json.nextEnd }}' },
    problem: {
      platform: 'binary_sensor',
      state_topic: topic,
      name: 'Problem',
      device_class: 'problem',
      entity_category: 'diagnostic',
      value_template: "{{ 'ON' if value_json.why == 'output-fault' or value_json.available == false else 'OFF' }}",
    },
  };
}

/** Names are of a safe alphabet, so that none ends a template. */
function buildMeterEntities(load: LoadConfig, topics: Topics): Record<string, Entity> {
  const total = (key: string) => `{{ value_json.loads['${load.name}'].all.${key} }}`;
  const sensor = { platform: 'sensor', state_topic: topics.totals };
  return {
    power: {
      ...{ platform: 'sensor', state_topic: topics.load(load.name), name: 'Power', device_class: 'power' },
      ...{ unit_of_measurement: 'kW', state_class: 'measurement', value_template: '{{ value_json.powerKw }}' },
    },
    energy: {
      ...{ ...sensor, name: 'Energy', device_class: 'energy', unit_of_measurement: 'kWh' },
      ...{ state_class: 'total_increasing', value_template: total('energyKwh') },
    },
    emitted: {
      ...{ ...sensor, name: 'CO2', icon: 'mdi:molecule-co2', unit_of_measurement: 'kg', state_class: 'total' },
      value_template: total('kg'),
    },
    saved: {
      ...{ ...sensor, name: 'CO2 saved', icon: 'mdi:leaf', unit_of_measurement: 'kg', state_class: 'total' },
      value_template: total('savedKg'),
    },
  };
}

interface BillSource {
  readonly topics: Topics;
  readonly currency: string;
  /** Path of the sums in the document `totals`. */
  readonly sums: string;
}

/** A sum of money; unknown until the price of a run is known. */
export function buildBillEntity(name: string, key: string, { topics, currency, sums }: BillSource): Entity {
  const bill = `value_json.${sums}.bill`;
  return {
    ...{ platform: 'sensor', state_topic: topics.totals, name, device_class: 'monetary', state_class: 'total' },
    ...{ unit_of_measurement: currency, value_template: `{{ ${bill}.${key} if ${bill} else None }}` },
  };
}

/** A job in words, such as `4h by 07:00` or `12kWh by 16:30`: the next such time of the clock in Home Assistant. */
const JOB_TEXT = {
  platform: 'text',
  name: 'Start job with',
  icon: 'mdi:calendar-clock',
  pattern: '^[0-9]{1,3}([.][0-9]{1,2})?(m|h|kWh) by ([01][0-9]|2[0-3]):[0-5][0-9]$',
  command_template:
    '{% set words = value.split(" by ") %}{% set by = today_at(words[1]) %}{"command":"arm","need":"{{ words[0] }}","by":"{{ (by if by > now() else by + timedelta(days=1)).isoformat() }}"}',
} as const;

function buildCommandEntities(load: LoadConfig, topics: Topics): Record<string, Entity> {
  const { name, goal } = load;
  const command = { command_topic: topics.command(name), retain: false };
  const levels = listCommandLevels(load);
  const canArm = goal?.by.some((time) => time !== undefined) === true;
  return {
    override: {
      ...{ ...command, ...buildDeviceAvailability(load, topics), platform: 'select', name: 'Override' },
      state_topic: topics.load(name),
      options: [
        'auto',
        ...levels,
        ...levels.flatMap((level) => OVERRIDE_LENGTHS.map((length) => `${level} ${length}`)),
      ],
      value_template: '{{ value_json.overrideLevel }}',
      command_template:
        '{% set words = value.split(" ") %}{"command":"override","level":"{{ words[0] }}"{% if words | length > 1 %},"for":"{{ words[1] }}"{% endif %}}',
    },
    ...(canArm
      ? { arm: { ...command, platform: 'button', name: 'Start job', payload_press: '{"command":"arm"}' } }
      : {}),
    ...(goal !== undefined || load.type === 'ev' ? { job: { ...command, ...JOB_TEXT } } : {}),
    pause: {
      ...{ ...command, platform: 'switch', name: 'Pause', icon: 'mdi:pause', state_topic: topics.load(name) },
      ...{ payload_on: '{"command":"pause"}', payload_off: '{"command":"resume"}', state_on: 'ON', state_off: 'OFF' },
      value_template: "{{ 'ON' if value_json.paused else 'OFF' }}",
    },
    // A goal decides by its plan.
    ...(goal === undefined ? buildThresholdEntities(load, topics) : {}),
    answer: {
      platform: 'event',
      name: 'Answer',
      state_topic: topics.result(name),
      event_types: ['accepted', 'refused'],
      value_template:
        '{"event_type":"{{ \'accepted\' if value_json.ok else \'refused\' }}","message":{{ value_json.message | tojson }}}',
    },
  };
}

function buildThresholdEntities(load: LoadConfig, topics: Topics): Record<string, Entity> {
  const number = {
    ...{ platform: 'number', state_topic: topics.load(load.name), command_topic: topics.command(load.name) },
    ...{ retain: false, unit_of_measurement: '%', mode: 'box', step: 1, ...getThresholdRange(load) },
  };
  const build = (key: string, name: string): Entity => ({
    ...{ ...number, name, value_template: `{{ value_json.${key} }}` },
    command_template: `{"command":"thresholds","${key}":{{ value }}}`,
  });
  return { on_below: build('onBelow', 'On below'), off_above: build('offAbove', 'Off above') };
}

/** A load whose device reports its availability becomes unavailable with it. */
function buildDeviceAvailability({ name, output }: LoadConfig, topics: Topics) {
  const isReported = listMqttDevices(output).some(({ availability }) => availability !== undefined);
  if (!isReported && findWebDevice(output) === undefined) return {};
  const value_template = "{{ 'offline' if value_json.available == false else 'online' }}";
  return {
    availability_mode: 'all',
    availability: [{ topic: topics.availability }, { topic: topics.load(name), value_template }],
  };
}
