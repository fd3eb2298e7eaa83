/** The discovery messages of Home Assistant: the device and its entities, in keys that every release accepts. */

import type { Config } from '../config/config.ts';
import type { SignalType } from '../domain/load-types.ts';
import type { RateUnit } from '../domain/rate-units.ts';
import { buildBillEntity, buildLoadEntities, type Entity } from './home-assistant-load.ts';
import { getRateUnit } from './payloads.ts';
import { buildDiscoveryId, buildTopics } from './topics.ts';

export interface DiscoveryMessage {
  readonly topic: string;
  readonly payload: string;
}

/** Longest stored message that is read: the limit of the agent's own link. */
const MAX_STORED_BYTES = 65_536;

type Topics = ReturnType<typeof buildTopics>;

/** Signal states are not retained: Home Assistant drops one after this without the next. */
const SIGNAL_EXPIRES_SECONDS = 900;
const DIAGNOSTIC = { entity_category: 'diagnostic' } as const;

/** Where Home Assistant finds the agent; with a load, where it finds that load. Undefined when the configuration wants no discovery. */
export function buildDiscoveryTopic(config: Config, load?: string): string | undefined {
  const prefix = config.mqtt?.discovery;
  return prefix === undefined ? undefined : `${prefix}/device/${buildDiscoveryId(config, load)}/config`;
}

/** The topics of all discovery messages: the agent's, then one a load. */
export const listDiscoveryTopics = (config: Config): readonly string[] =>
  [undefined, ...config.loads.map(({ name }) => name)].flatMap((load) => buildDiscoveryTopic(config, load) ?? []);

/** The agent as a device, and each load as a device of its own reached through it; `hasCommands`: whether Home Assistant may command loads. */
export function buildDiscovery(config: Config, version: string, hasCommands: boolean): readonly DiscoveryMessage[] {
  const topics = buildTopics(config);
  const currency = config.tariff?.currency;
  const agent = {
    identifiers: [buildDiscoveryId(config)],
    ...{ name: `gridtide ${config.device}`, manufacturer: 'gridtide', model: 'Agent', sw_version: version },
  };
  const entities = {
    ...buildSignalEntities(topics, config.service.signalType, getRateUnit(config)),
    ...buildHealthEntities(topics),
    ...buildSavedEntities(topics, currency),
  };
  const messages = [
    buildMessage(config, version, { device: agent, entities }),
    ...config.loads.map((load) => {
      const device = {
        identifiers: [buildDiscoveryId(config, load.name)],
        ...{ name: load.name, manufacturer: 'gridtide', model: `Load (${load.type})` },
        via_device: buildDiscoveryId(config),
      };
      const own = buildLoadEntities(load, topics, { hasCommands, ...(currency === undefined ? {} : { currency }) });
      return buildMessage(config, version, { device, entities: own, load: load.name });
    }),
  ];
  return messages.flatMap((message) => message ?? []);
}

interface DiscoveredDevice {
  readonly device: object;
  readonly entities: Readonly<Record<string, Entity>>;
  readonly load?: string;
}

function buildMessage(config: Config, version: string, { device, entities, load }: DiscoveredDevice) {
  const topic = buildDiscoveryTopic(config, load);
  if (topic === undefined) return undefined;
  const start = load === undefined ? buildDiscoveryId(config) : `${buildDiscoveryId(config)}_load_${load}`;
  const components = Object.entries(entities).map(([name, entity]) => {
    const ids = {
      unique_id: `${buildDiscoveryId(config, load)}/${name}`,
      // Two may be equal: Home Assistant numbers them. Releases before 2025.10 drop it without a word.
      default_entity_id: `${entity.platform}.${start}_${name}`.replaceAll('-', '_'),
    };
    return [name, { ...entity, ...ids }];
  });
  const pageUrl = config.mqtt?.page;
  const payload = {
    device: { ...device, ...(pageUrl === undefined ? {} : { configuration_url: pageUrl }) },
    origin: { name: 'gridtide', sw_version: version, ...(pageUrl === undefined ? {} : { support_url: pageUrl }) },
    availability: [{ topic: buildTopics(config).availability }],
    qos: 1,
    components: Object.fromEntries(components),
  };
  return { topic, payload: JSON.stringify(payload) };
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
    problem_event: {
      ...DIAGNOSTIC,
      platform: 'event',
      name: 'Problem event',
      state_topic: topics.events,
      event_types: ['problem', 'resolved'],
      value_template:
        '{"event_type":"{{ value_json.event }}","part":"{{ value_json.part }}","message":{{ value_json.text | tojson }}}',
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

/** What the house has saved and paid, and the rates ahead as an attribute for charts. */
function buildSavedEntities(topics: Topics, currency: string | undefined): Record<string, Entity> {
  const saved = {
    ...{ platform: 'sensor', state_topic: topics.totals, unit_of_measurement: 'kg', icon: 'mdi:leaf' },
  };
  return {
    saved_today: { ...saved, name: 'CO2 saved today', value_template: '{{ value_json.today.savedKg }}' },
    saved: { ...saved, name: 'CO2 saved', state_class: 'total', value_template: '{{ value_json.all.savedKg }}' },
    ...(currency === undefined
      ? {}
      : {
          cost_today: buildBillEntity('Cost today', 'paid', { topics, currency, sums: 'today' }),
          saved_cost: buildBillEntity('Cost saved', 'saved', { topics, currency, sums: 'all' }),
        }),
    forecast: {
      ...DIAGNOSTIC,
      platform: 'sensor',
      name: 'Forecast',
      device_class: 'timestamp',
      state_topic: topics.forecast,
      value_template: '{{ value_json.generatedAt }}',
      json_attributes_topic: topics.forecast,
    },
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
