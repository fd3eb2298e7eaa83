/** Reads the outputs that are reached over HTTP: addresses for each level, and entities of Home Assistant. */

import { MIN_AMPS } from '../domain/currents.ts';
import type { HomeAssistantOutputConfig, HttpCall, HttpOutputConfig, HttpState } from '../domain/load-types.ts';
import { isLoopback, isPublicAddress } from '../domain/loopback.ts';
import { WATT_HOURS, WATTS } from './preset-sensors.ts';
import { sectionType } from './read-section.ts';
import { deviceUrlType, homeAssistantUrlType } from './url-types.ts';
import { defaulted, optional, required, type SectionValues, type ValueType } from './value-type.ts';
import {
  ampsType,
  booleanType,
  entityType,
  enumType,
  headerNameType,
  headersType,
  pathType,
  payloadType,
  stateTextType,
  textType,
} from './value-types.ts';

const allowPlainHttp = defaulted(
  booleanType,
  false,
  'True allows http:// on the network of the house: whoever listens there reads the token.',
);

const HTTP_CALL = {
  url: required(deviceUrlType, 'Address of the request.'),
  method: optional(enumType('GET', 'POST', 'PUT'), 'Method; default: POST with a body, else GET.'),
  body: optional(payloadType, 'Body; one that begins with { or [ is sent as JSON.'),
};

const httpCallType: ValueType<HttpCall> = sectionType(HTTP_CALL, ({ url, body, method }, report) => {
  if (method === 'GET' && body !== undefined) {
    report('GET carries no body; remove it, or write POST or PUT', 'method');
    return undefined;
  }
  return { url, method: method ?? (body === undefined ? 'GET' : 'POST'), ...(body === undefined ? {} : { body }) };
});

const HTTP_STATE = {
  url: required(deviceUrlType, 'Address that answers with the state.'),
  path: optional(textType, 'Dotted path of the state in a JSON answer; default: the whole answer is the state.'),
  on: defaulted(stateTextType, 'on', 'State that means on.'),
  off: defaulted(stateTextType, 'off', 'State that means off.'),
  powerPath: optional(textType, 'Dotted path of the power in watts, in the same answer.'),
  energyPath: optional(textType, 'Dotted path of a counter of energy, in the same answer.'),
  energyUnit: optional(enumType('kWh', 'Wh'), 'Unit of the counter; default: kWh.'),
};

const httpStateType: ValueType<HttpState> = sectionType(
  HTTP_STATE,
  ({ url, path, on, off, powerPath, energyPath, energyUnit }, report): HttpState | undefined => {
    if (on === off) report(`"${off}" means on already; expected two different states`, 'off');
    if (energyUnit !== undefined && energyPath === undefined)
      report('needs an energyPath; add it or remove energyUnit', 'energyUnit');
    if (on === off || (energyUnit !== undefined && energyPath === undefined)) return undefined;
    return {
      ...{ url, on, off },
      ...(path === undefined ? {} : { path }),
      ...(powerPath === undefined ? {} : { power: { path: powerPath, scale: WATTS } }),
      ...(energyPath === undefined
        ? {}
        : { energy: { path: energyPath, scale: energyUnit === 'Wh' ? WATT_HOURS : 1 } }),
    };
  },
);

const HTTP_OUTPUT = {
  on: required(httpCallType, 'The request that switches the load on.'),
  off: required(httpCallType, 'The request that switches the load off.'),
  release: optional(httpCallType, 'The request that returns control to the device.'),
  state: optional(httpStateType, 'Where the device tells its state; without it no level is confirmed.'),
  headers: optional(headersType, 'Headers of each request, by name; a token belongs into tokenFile.'),
  tokenFile: optional(pathType, 'File of a token, sent as "Authorization: Bearer TOKEN".'),
  tokenHeader: optional(headerNameType, 'Header that carries the text of tokenFile as it stands, in place of that.'),
  allowPlainHttp,
};

export const httpOutputType = sectionType(HTTP_OUTPUT, (values, report): HttpOutputConfig | undefined => {
  const { allowPlainHttp: allowsPlainHttp, headers = {}, ...rest } = values;
  const { on, off, release, state, tokenFile, tokenHeader } = rest;
  const addresses = Object.entries({ 'on.url': on, 'off.url': off, 'release.url': release, 'state.url': state });
  const mistakes = [...findPlainHttp(addresses, allowsPlainHttp)];
  if (tokenHeader !== undefined && tokenFile === undefined)
    mistakes.push(['needs a tokenFile; add it or remove tokenHeader', 'tokenHeader']);
  if (on.url === off.url && on.method === off.method && on.body === off.body)
    mistakes.push(['is the same request as on; expected two different requests', 'off']);
  for (const [text, ...under] of mistakes) report(text, ...under);
  return mistakes.length > 0 ? undefined : { kind: 'http', ...rest, headers, allowsPlainHttp };
});

const HOME_ASSISTANT_OUTPUT = {
  url: required(homeAssistantUrlType, 'Address of Home Assistant, such as http://homeassistant.local:8123.'),
  tokenFile: required(pathType, "File of a long-lived access token, from the user's profile in Home Assistant."),
  entity: required(entityType, 'The switch, select or number that switches the load.'),
  onState: optional(stateTextType, 'Option of a select, or value of a number, that means on.'),
  offState: optional(stateTextType, 'Option of a select, or value of a number, that means off.'),
  releaseState: optional(stateTextType, 'State that returns control to the device.'),
  amps: optional(
    ampsType,
    'Of a number that is the current of a charger in A: its value for on, at powerKw; budgetKw may lower it down to 6.',
  ),
  powerEntity: optional(entityType, 'Sensor of the power; its unit is read.'),
  energyEntity: optional(entityType, 'Sensor of a counter of energy; its unit is read.'),
  plugEntity: optional(entityType, 'Binary sensor that is on while a vehicle is connected.'),
  allowPlainHttp,
};

/** The domains of entities that can be switched: by an action of their own, and by a value. */
const SWITCH_DOMAINS = ['switch', 'input_boolean'];
const VALUE_DOMAINS = ['select', 'input_select', 'number', 'input_number'];

type HomeAssistantValues = SectionValues<typeof HOME_ASSISTANT_OUTPUT>;

export const homeAssistantOutputType = sectionType(
  HOME_ASSISTANT_OUTPUT,
  ({ allowPlainHttp: allowsPlainHttp, ...values }, report): HomeAssistantOutputConfig | undefined => {
    const mistakes = [...findEntityMistakes(values), ...findPlainHttp([['url', values]], allowsPlainHttp)];
    for (const [text, ...under] of mistakes) report(text, ...under);
    const { amps, onState = `${amps ?? 'on'}`, offState = 'off' } = values;
    return mistakes.length > 0 ? undefined : { ...values, kind: 'home-assistant', allowsPlainHttp, onState, offState };
  },
);

/** A text and the key that it is about. */
type Mistake = readonly [string, ...string[]];

function findEntityMistakes(values: Omit<HomeAssistantValues, 'allowPlainHttp'>): readonly Mistake[] {
  const { entity, amps, offState, releaseState } = values;
  const onState = values.onState ?? amps?.toString();
  const domain = entity.slice(0, entity.indexOf('.'));
  if (amps !== undefined && !domain.endsWith('number'))
    return [[`a ${domain} takes no current; remove it, or give the number that is the current`, 'amps']];
  const states = Object.entries({ onState, offState, releaseState }).flatMap(([key, state]) =>
    state === undefined ? [] : [[key, state] as const],
  );
  if (SWITCH_DOMAINS.includes(domain))
    return states
      .filter(([, state]) => state !== 'on' && state !== 'off')
      .map(([key, state]) => [`"${state}" is no state of a ${domain}; expected on or off, or remove it`, key]);
  if (!VALUE_DOMAINS.includes(domain))
    return [
      [`"${entity}" cannot be switched; expected a ${[...SWITCH_DOMAINS, ...VALUE_DOMAINS].join(', ')}`, 'entity'],
    ];
  const missing = Object.entries({ onState, offState })
    .filter(([, state]) => state === undefined)
    .map(([key]): Mistake => [`missing; a ${domain} needs the state that it gets`, key]);
  const noNumbers = states
    .filter(([, state]) => domain.endsWith('number') && !Number.isFinite(Number(state)))
    .map(([key, state]): Mistake => [`"${state}" is not a number, as ${entity} expects`, key]);
  const same: readonly Mistake[] =
    onState !== undefined && onState === offState
      ? [[`"${offState}" means on already; expected another`, 'offState']]
      : [];
  return [...missing, ...noNumbers, ...same, ...findAmpsMistakes(values)];
}

/** A number that is a charger's current is on at `amps`, and off below every current that a charger knows. */
function findAmpsMistakes({
  amps,
  onState,
  offState,
}: Omit<HomeAssistantValues, 'allowPlainHttp'>): readonly Mistake[] {
  if (amps === undefined) return [];
  const mistakes: Mistake[] = [];
  if (onState !== undefined) mistakes.push([`amps: ${amps} is the state already; remove onState`, 'onState']);
  if (Number(offState) >= MIN_AMPS)
    mistakes.push([`${offState} A charges a vehicle; expected less than ${MIN_AMPS}, such as 0`, 'offState']);
  return mistakes;
}

/** Plain HTTP shows everything to the network: it needs the owner's word, and never goes to a public address in digits. */
function findPlainHttp(
  addresses: readonly (readonly [string, { readonly url: string } | undefined])[],
  isAllowed: boolean,
): readonly Mistake[] {
  return addresses.flatMap(([key, address]): readonly Mistake[] => {
    if (address === undefined) return [];
    const { protocol, hostname } = new URL(address.url);
    if (protocol !== 'http:' || isLoopback(hostname)) return [];
    if (!isAllowed)
      return [['is not encrypted; write https://, or allowPlainHttp: true on your own network', ...key.split('.')]];
    return isPublicAddress(hostname)
      ? [[`${hostname} is an address of the internet, where http:// is never sent; write https://`, ...key.split('.')]]
      : [];
  });
}
