/** The one message by which Home Assistant finds the device and its entities; keeps to keys that every release accepts. */

import type { Config } from '../config/config.ts';
import type { LoadConfig, SignalType } from '../domain/load-types.ts';

export interface DiscoveryMessage {
  readonly topic: string;
  readonly payload: string;
}

/** Longest stored message that is looked at. */
const MAX_STORED_BYTES = 65_536;

type Entity = Readonly<Record<string, unknown>> & { readonly platform: string };

/** Signal states are not retained, so Home Assistant is told how long one may stand without the next. */
const SIGNAL_EXPIRES_SECONDS = 900;
/** Longest state Home Assistant stores. */
const MAX_STATE_LENGTH = 255;

const DIAGNOSTIC = { entity_category: 'diagnostic' } as const;

/** `commands`: whether loads may be overridden from there. */
export function buildDiscovery(config: Config, version: string, commands: boolean): DiscoveryMessage | undefined {
  const prefix = config.mqtt?.discovery;
  if (prefix === undefined) return undefined;
  const id = `gridtide_${config.device}`;
  const base = `gridtide/${config.device}`;
  const entities = {
    ...buildSignalEntities(base, config.service.signalType),
    ...buildHealthEntities(base),
    ...buildAllLoadEntities(config.loads, base, commands),
  };
  const components = Object.entries(entities).map(
    ([name, entity]) => [name, { ...entity, unique_id: `${id}_${name}` }] as const,
  );
  const payload = {
    device: { identifiers: [id], name: `gridtide ${config.device}`, manufacturer: 'gridtide', sw_version: version },
    origin: { name: 'gridtide', sw_version: version },
    availability: [{ topic: `${base}/availability` }],
    qos: 1,
    components: Object.fromEntries(components),
  };
  return { topic: `${prefix}/device/${id}/config`, payload: JSON.stringify(payload) };
}

/** Gone when nothing fresh drives the loads, and when no word comes for a while. */
function buildSignalEntities(base: string, signalType: SignalType): Record<string, Entity> {
  const common = {
    platform: 'sensor',
    state_topic: `${base}/signal`,
    expire_after: SIGNAL_EXPIRES_SECONDS,
    availability_mode: 'all',
    availability: [
      { topic: `${base}/availability` },
      { topic: `${base}/health`, value_template: "{{ 'online' if value_json.fresh else 'offline' }}" },
    ],
  } as const;
  const measured = { ...common, state_class: 'measurement' };
  const rate = {
    ...measured,
    name: 'Emissions rate',
    icon: 'mdi:molecule-co2',
    unit_of_measurement: 'lb/MWh',
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

function buildHealthEntities(base: string): Record<string, Entity> {
  const common = { state_topic: `${base}/health`, ...DIAGNOSTIC };
  return {
    problem: {
      ...common,
      platform: 'binary_sensor',
      name: 'Problem',
      device_class: 'problem',
      value_template: "{{ 'OFF' if value_json.ok else 'ON' }}",
      json_attributes_topic: `${base}/health`,
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

const buildAllLoadEntities = (loads: readonly LoadConfig[], base: string, commands: boolean): Record<string, Entity> =>
  Object.assign({}, ...loads.map((load) => buildLoadEntities(load, base, commands)));

function buildLoadEntities({ name }: LoadConfig, base: string, commands: boolean): Record<string, Entity> {
  const topic = `${base}/loads/${name}`;
  const common = { state_topic: topic };
  const override: Record<string, Entity> = {
    [`load_${name}_override`]: {
      ...common,
      platform: 'select',
      name: `${name} override`,
      options: ['auto', 'on', 'off'],
      value_template: '{{ value_json.override }}',
      command_topic: `${topic}/set`,
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
      value_template: `{{ value_json.words[:${MAX_STATE_LENGTH}] }}`,
    },
    [`load_${name}_next`]: {
      ...common,
      platform: 'sensor',
      name: `${name} next change`,
      device_class: 'timestamp',
      value_template: '{{ value_json.next.at if value_json.next else None }}',
    },
    ...(commands ? override : {}),
  };
}

/**
 * The message that removes entities which the stored message of an earlier configuration has and `now` has not: each is named
 * once more with its platform alone. Undefined when there are none.
 */
export function buildRemovedEntities(stored: Uint8Array, now: DiscoveryMessage): DiscoveryMessage | undefined {
  const [before, after] = [parseComponents(stored), parseComponents(Buffer.from(now.payload))];
  const removedEntries = Object.entries(before).filter(([name]) => !Object.hasOwn(after, name));
  if (removedEntries.length === 0) return undefined;
  const removed = Object.fromEntries(removedEntries.map(([name, { platform }]) => [name, { platform }]));
  const payload = JSON.parse(now.payload) as Readonly<Record<string, unknown>>;
  return { topic: now.topic, payload: JSON.stringify({ ...payload, components: { ...after, ...removed } }) };
}

/** Only what has the shape of this program's own message; of anything else nothing. */
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
