/** The discovery messages of Home Assistant: the device and its entities, in keys that every release accepts. */

import type { Config } from '../config/config.ts';
import { listMqttDevices } from '../domain/levels.ts';
import type { LoadConfig, SignalType } from '../domain/load-types.ts';
import type { RateUnit } from '../domain/rate-units.ts';
import { getRateUnit } from './payloads.ts';
import { buildDiscoveryId, buildTopics } from './topics.ts';

export interface DiscoveryMessage {
  readonly topic: string;
  readonly payload: string;
}

/** Longest stored message that is read: the limit of the agent's own link. */
const MAX_STORED_BYTES = 65_536;
/** What a message holds at most: the limit, less its topic and what removes old entities. */
const MAX_MESSAGE_BYTES = 56_000;
/** Messages that the longest names of the most loads need, and one more. */
const MAX_MESSAGES = 4;

type Topics = ReturnType<typeof buildTopics>;
type Entity = Readonly<Record<string, unknown>> & { readonly platform: string };

/** Signal states are not retained: Home Assistant drops one after this without the next. */
const SIGNAL_EXPIRES_SECONDS = 900;
/** Longest state Home Assistant stores. */
const MAX_STATE_LENGTH = 255;

const DIAGNOSTIC = { entity_category: 'diagnostic' } as const;

/** All topics that discovery messages may be on; none when the configuration wants no discovery. */
export function listDiscoveryTopics(config: Config): readonly string[] {
  const prefix = config.mqtt?.discovery;
  if (prefix === undefined) return [];
  const id = buildDiscoveryId(config);
  const ids = Array.from({ length: MAX_MESSAGES }, (_, i) => (i === 0 ? id : `${id}_${i + 1}`));
  return ids.map((one) => `${prefix}/device/${one}/config`);
}

/** One message, or several of the same device where one would be too long; `takesCommands`: whether Home Assistant may override loads. */
export function buildDiscovery(config: Config, version: string, takesCommands: boolean): readonly DiscoveryMessage[] {
  const id = buildDiscoveryId(config);
  const topics = buildTopics(config);
  const entities = {
    ...buildSignalEntities(topics, config.service.signalType, getRateUnit(config)),
    ...buildHealthEntities(topics),
    ...Object.assign({}, ...config.loads.map((load) => buildLoadEntities(load, topics, takesCommands))),
  };
  const components = Object.entries<Entity>(entities).map(
    ([name, entity]): NamedEntity => [name, { ...entity, unique_id: `${id}_${name}` }],
  );
  const common = {
    device: { identifiers: [id], name: `gridtide ${config.device}`, manufacturer: 'gridtide', sw_version: version },
    origin: { name: 'gridtide', sw_version: version },
    availability: [{ topic: topics.availability }],
    qos: 1,
  };
  const parts = splitComponents(components);
  return listDiscoveryTopics(config).flatMap((topic, i) => {
    const part = parts[i];
    if (part === undefined) return [];
    return [{ topic, payload: JSON.stringify({ ...common, components: Object.fromEntries(part) }) }];
  });
}

type NamedEntity = readonly [string, Entity];

/** In their order, as many as fit into a message. */
function splitComponents(components: readonly NamedEntity[]): readonly (readonly NamedEntity[])[] {
  const parts: NamedEntity[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const component of components) {
    const size = Buffer.byteLength(JSON.stringify(component));
    if (bytes + size > MAX_MESSAGE_BYTES) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)?.push(component);
    bytes += size;
  }
  return parts;
}

/** Unavailable when no fresh data drives the loads, and after `expire_after` without a message. */
function buildSignalEntities(topics: Topics, signalType: SignalType, unit: RateUnit): Record<string, Entity> {
  const common = {
    platform: 'sensor',
    state_topic: topics.signal,
    expire_after: SIGNAL_EXPIRES_SECONDS,
    availability_mode: 'all',
    availability: [
      { topic: topics.availability },
      { topic: topics.health, value_template: "{{ 'online' if value_json.fresh else 'offline' }}" },
    ],
  } as const;
  const measured = { ...common, state_class: 'measurement' };
  const rate = {
    ...measured,
    name: 'Emissions rate',
    icon: 'mdi:molecule-co2',
    unit_of_measurement: unit,
    value_template: '{{ value_json.rate }}',
  };
  return {
    index: {
      ...measured,
      name: 'Emissions index',
      icon: 'mdi:percent-circle',
      unit_of_measurement: '%',
      value_template: '{{ value_json.index }}',
    },
    // Damage to health is no mass of CO2: the tree holds no rate of it.
    ...(signalType === 'health_damage' ? {} : { rate }),
    basis: { ...common, ...DIAGNOSTIC, name: 'Signal basis', value_template: '{{ value_json.basis }}' },
  };
}

function buildHealthEntities(topics: Topics): Record<string, Entity> {
  const common = { state_topic: topics.health, ...DIAGNOSTIC };
  return {
    problem: {
      ...common,
      platform: 'binary_sensor',
      name: 'Problem',
      device_class: 'problem',
      value_template: "{{ 'OFF' if value_json.ok else 'ON' }}",
      json_attributes_topic: topics.health,
    },
    region: { ...common, platform: 'sensor', name: 'Grid region', value_template: '{{ value_json.region }}' },
    last_forecast: {
      ...common,
      platform: 'sensor',
      name: 'Last forecast',
      device_class: 'timestamp',
      value_template: '{{ value_json.lastForecast }}',
    },
  };
}

function buildLoadEntities(load: LoadConfig, topics: Topics, takesCommands: boolean): Record<string, Entity> {
  const { name } = load;
  const topic = topics.load(name);
  const common = { state_topic: topic, ...buildDeviceAvailability(load, topics) };
  const override: Record<string, Entity> = {
    [`load_${name}_override`]: {
      ...common,
      platform: 'select',
      name: `${name} override`,
      options: ['auto', 'on', 'off'],
      value_template: '{{ value_json.override }}',
      command_topic: topics.command(name),
      command_template: '{"command":"override","level":"{{ value }}"}',
      retain: false,
    },
  };
  return {
    [`load_${name}_running`]: {
      ...common,
      platform: 'binary_sensor',
      name: `${name} running`,
      device_class: 'running',
      value_template: "{{ 'ON' if value_json.running else 'OFF' }}",
      json_attributes_topic: topic,
    },
    [`load_${name}_reason`]: {
      ...common,
      platform: 'sensor',
      name: `${name} reason`,
      value_template: `{{ value_json.text[:${MAX_STATE_LENGTH}] }}`,
    },
    [`load_${name}_next`]: {
      ...common,
      platform: 'sensor',
      name: `${name} next change`,
      device_class: 'timestamp',
      value_template: '{{ value_json.next.at if value_json.next else None }}',
    },
    ...(takesCommands ? override : {}),
  };
}

/** A load whose device reports its availability becomes unavailable with it. */
function buildDeviceAvailability({ name, output }: LoadConfig, topics: Topics) {
  if (listMqttDevices(output).every(({ availability }) => availability === undefined)) return {};
  const value_template = "{{ 'offline' if value_json.available == false else 'online' }}";
  return {
    availability_mode: 'all',
    availability: [{ topic: topics.availability }, { topic: topics.load(name), value_template }],
  };
}

/**
 * The message that removes the entities of an earlier configuration's stored message which `now` has not: Home Assistant removes
 * an entity that comes with its platform alone. Undefined when there are none.
 */
export function buildRemovedEntities(stored: Uint8Array, now: DiscoveryMessage): DiscoveryMessage | undefined {
  const [before, after] = [parseComponents(stored), parseComponents(Buffer.from(now.payload))];
  const removedEntries = Object.entries(before).filter(([name]) => !Object.hasOwn(after, name));
  if (removedEntries.length === 0) return undefined;
  const removed = Object.fromEntries(removedEntries.map(([name, { platform }]) => [name, { platform }]));
  const payload = JSON.parse(now.payload) as Readonly<Record<string, unknown>>;
  return { topic: now.topic, payload: JSON.stringify({ ...payload, components: { ...after, ...removed } }) };
}

/** The components of this program's own message; none of any other. */
function parseComponents(bytes: Uint8Array): Readonly<Record<string, Entity>> {
  if (bytes.byteLength > MAX_STORED_BYTES) return {};
  try {
    const { components } = JSON.parse(new TextDecoder().decode(bytes)) as { components?: Record<string, Entity> };
    const entries = Object.entries(components ?? {}).filter(
      ([name, entity]) => /^[a-z0-9_-]{1,96}$/.test(name) && typeof entity?.platform === 'string',
    );
    return Object.fromEntries(entries);
  } catch {
    return {};
  }
}
