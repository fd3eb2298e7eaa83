/** An entity of Home Assistant by its REST API: switches, selects and numbers, their state, and sensors beside them. */

import { MIN_AMPS } from '../../domain/currents.ts';
import { hasRelease } from '../../domain/levels.ts';
import type { HomeAssistantOutputConfig, HttpCall, Level } from '../../domain/load-types.ts';
import { toSafeText } from '../../domain/text-format.ts';
import { seconds } from '../../domain/units.ts';
import { buildMeterReading, type DeviceReading, isOutputFailure, type OutputFailure } from '../output.ts';
import { createDeviceHttp, type DeviceHttp, type DeviceHttpParts } from './device-http.ts';
import { parseQuantity } from './parse-device-state.ts';
import type { PolledDevice } from './polled-device.ts';

/** A call is answered when the integration has carried it out, which may ask a cloud. */
const DEADLINE = seconds(20);
const CONFIRM_TIMEOUT = seconds(15);

/** Units of sensors, by the letters that Home Assistant writes, to kilowatts and kilowatt-hours. */
const POWER_SCALES: Readonly<Record<string, number>> = { W: 1e-3, kW: 1, MW: 1e3 };
const ENERGY_SCALES: Readonly<Record<string, number>> = { Wh: 1e-3, kWh: 1, MWh: 1e3 };

interface EntityState {
  readonly state: string;
  readonly unit?: string;
  /** Home Assistant names the user whose action led to a state; automations and devices have none. */
  readonly isByUser: boolean;
}

export function createHomeAssistantDevice(
  config: HomeAssistantOutputConfig,
  parts: Pick<DeviceHttpParts, 'http' | 'secrets' | 'clock'>,
): PolledDevice {
  const { url, entity, powerEntity, energyEntity, plugEntity } = config;
  const http = createDeviceHttp({
    ...parts,
    access: config,
    deadline: DEADLINE,
    explainRefusal: (status, call, body) => explainRefusal(status, call, { url, body }),
  });
  const readSensor = async (sensor: string | undefined, signal: AbortSignal) => {
    const found = sensor === undefined ? undefined : await readEntity(http, url, sensor, signal);
    return isOutputFailure(found) || found === undefined || isUnknown(found) ? undefined : found;
  };

  /** Of the last command; a charger that is lowered has another than the configured one. */
  let { onState } = config;

  return {
    canRelease: hasRelease(config),
    stateSource: `${entity} of ${url}`,
    confirmTimeout: CONFIRM_TIMEOUT,
    async send({ level, current }, signal) {
      onState = current === undefined ? config.onState : `${current.amps}`;
      const state = chooseState({ ...config, onState }, level);
      if (state === undefined) return undefined;
      const answer = await http.request(buildServiceCall(url, entity, state), signal);
      return isOutputFailure(answer) ? answer : undefined;
    },
    async read(signal) {
      const found = await readEntity(http, url, entity, signal);
      if (isOutputFailure(found)) return found;
      if (isUnknown(found)) return { available: found.state !== 'unavailable' };
      const power = parseSensor(await readSensor(powerEntity, signal), POWER_SCALES);
      const energy = parseSensor(await readSensor(energyEntity, signal), ENERGY_SCALES);
      const plug = (await readSensor(plugEntity, signal))?.state;
      return {
        reading: parseReading(found.state, { ...config, onState }),
        available: true,
        isByPerson: found.isByUser,
        meter: buildMeterReading(power, energy),
        ...(plug === undefined ? {} : { vehicle: { connected: plug === 'on' } }),
      };
    },
  };
}

const isUnknown = ({ state }: EntityState) => state === 'unavailable' || state === 'unknown';

const chooseState = ({ onState, offState, releaseState }: HomeAssistantOutputConfig, level: Level | undefined) =>
  level === undefined ? releaseState : level === 'on' ? onState : offState;

/** The action of an entity's domain that brings it to a state. */
function buildServiceCall(url: string, entity: string, state: string): HttpCall {
  const domain = entity.slice(0, entity.indexOf('.'));
  const [service, data] = domain.endsWith('select')
    ? ['select_option', { option: state }]
    : domain.endsWith('number')
      ? ['set_value', { value: Number(state) }]
      : [state === 'on' ? 'turn_on' : 'turn_off', {}];
  const body = JSON.stringify({ entity_id: entity, ...data });
  return { method: 'POST', url: `${url}/api/services/${domain}/${service}`, body };
}

/** A number has decimals of its own: 16 reads as 16.0. */
function parseReading(state: string, { entity, amps, onState, offState }: HomeAssistantOutputConfig): DeviceReading {
  const isNumber = /^(input_)?number\./.test(entity);
  const isAt = (wanted: string) => (isNumber ? Number(state) === Number(wanted) : state === wanted);
  if (isAt(onState)) return 'on';
  if (isAt(offState)) return 'off';
  return amps !== undefined && Number(state) >= MIN_AMPS ? 'other-current' : 'other';
}

const parseSensor = (sensor: EntityState | undefined, scales: Readonly<Record<string, number>>) =>
  sensor?.unit === undefined || !Object.hasOwn(scales, sensor.unit)
    ? undefined
    : parseQuantity(sensor.state, scales[sensor.unit] ?? Number.NaN);

async function readEntity(
  http: DeviceHttp,
  url: string,
  entity: string,
  signal: AbortSignal,
): Promise<EntityState | OutputFailure> {
  const body = await http.request({ method: 'GET', url: `${url}/api/states/${entity}` }, signal);
  return isOutputFailure(body) ? body : (parseEntity(body) ?? { kind: 'io', detail: formatForeign(url) });
}

function parseEntity(body: Uint8Array): EntityState | undefined {
  let node: unknown;
  try {
    node = JSON.parse(new TextDecoder().decode(body));
  } catch {
    return undefined;
  }
  const { state, attributes, context } = (node ?? {}) as Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  if (typeof state !== 'string') return undefined;
  const unit = attributes?.unit_of_measurement;
  return {
    state,
    isByUser: typeof context?.user_id === 'string',
    ...(typeof unit === 'string' ? { unit } : {}),
  };
}

const formatForeign = (url: string) =>
  `what answers at ${url} is not the API of Home Assistant: give its address, such as http://homeassistant.local:8123`;

/** Of 404 and 400; both name the entity or the action. */
function explainRefusal(
  status: number,
  { method, url: address }: HttpCall,
  { url, body }: { readonly url: string; readonly body: Uint8Array },
): string | undefined {
  if (status === 404 && !new TextDecoder().decode(body).includes('"message"')) return formatForeign(url);
  const path = toSafeText(address.slice(url.length), 200);
  if (status === 404 && method === 'GET')
    return `Home Assistant has no entity ${path.slice(path.lastIndexOf('/') + 1)}: correct its name, or wait until its integration has loaded`;
  if (status === 400 || status === 404)
    return `Home Assistant refused ${path.replace('/api/services/', '').replace('/', '.')} (${status}): its entity takes no such state; see its log`;
  return undefined;
}
