/** The questions of `gridtide init`: place, service and account, broker, loads. */

import { access } from 'node:fs/promises';
import { resolve } from 'node:path';
import {
  type ConfigTree,
  type ConfigTreeValue,
  formatCommentedConfig,
  PLACEHOLDER_URL,
} from '../../config/example-config.ts';
import { LOAD, MAX_LOADS, MQTT, OPTIONS, PLACE, SERVICE } from '../../config/options.ts';
import { parseConfig } from '../../config/parse-config.ts';
import { presetNames, presets } from '../../config/presets.ts';
import { type ConfigRows, GENERIC_CONTEXT, loadTypes } from '../../config/value-type.ts';
import { booleanType, enumType, nameType, pathType, textType, timeOfDayType } from '../../config/value-types.ts';
import type { Prompt } from '../shared/prompt.ts';
import { findNearestZone } from './nearest-zone.ts';

type OptionalAnswers = Readonly<Record<string, ConfigTreeValue | undefined>>;
const dropUndefined = (values: OptionalAnswers): ConfigTree =>
  Object.fromEntries(
    Object.entries(values).flatMap(([key, value]) => (value === undefined ? [] : [[key, value] as const])),
  );

const findOutputRows = (kind: string): ConfigRows => LOAD.output.valueType.variants?.[kind] ?? {};

/** The default power of a load of this type. */
const findDefaultPower = (type: string) =>
  LOAD.powerKw.defaultFor?.({ ...GENERIC_CONTEXT, type: loadTypes.find((one) => one === type) ?? 'generic' }) as number;

async function askPlace({ ask }: Prompt): Promise<ConfigTree> {
  const latitude = await ask({ text: 'Latitude of the house, degrees north', kind: PLACE.latitude.valueType });
  const longitude = await ask({ text: 'Longitude, degrees east (west is negative)', kind: PLACE.longitude.valueType });
  const ownZone = new Intl.DateTimeFormat().resolvedOptions().timeZone;
  const fallback = (await findNearestZone(Number(latitude), Number(longitude), ownZone)) ?? ownZone;
  return dropUndefined({
    ...{ latitude, longitude },
    timezone: await ask({ text: 'Time zone', kind: PLACE.timezone.valueType, fallback }),
  });
}

/** A file with one credential; `content` where the file is to be written. */
export interface SecretFile {
  readonly path: string;
  readonly content?: string;
}

export const fileExists = (file: string) =>
  access(file).then(
    () => true,
    () => false,
  );

interface SecretQuestion {
  readonly what: string;
  readonly fallback?: string;
  /** Files whose content was typed before, which will be written. */
  readonly known?: readonly SecretFile[];
}

/** Asks for a file, and for its content where it is not there. Relative paths start at the configuration. */
async function askSecretFile(
  { ask }: Prompt,
  directory: string,
  { what, fallback, known = [] }: SecretQuestion,
): Promise<SecretFile | undefined> {
  const file = await ask({
    text: `File that holds the ${what}`,
    kind: pathType,
    ...(fallback === undefined ? { isOptional: true } : { fallback }),
  });
  if (file === undefined) return undefined;
  const path = String(file);
  if (known.some((one) => one.path === path) || (await fileExists(resolve(directory, path)))) return { path };
  const seen = /password|token/.test(what) ? '; you see what you type' : '';
  const content = await ask({ text: `The ${what} to write into it${seen}`, kind: textType, isOptional: true });
  return content === undefined ? { path } : { path, content: String(content) };
}

const EMAIL_KIND: typeof textType = {
  ...textType,
  read: (raw, report) => {
    if (/^\S+@\S+$/.test(String(raw))) return textType.read(raw, report);
    report(`${JSON.stringify(raw)} is not an e-mail address`);
    return undefined;
  },
};

/** A name without a password may be a new account. */
async function askRegistration(
  { ask }: Prompt,
  directory: string,
  { username, password }: { readonly username: SecretFile; readonly password: SecretFile },
) {
  if (username.content === undefined || password.content !== undefined) return undefined;
  // The password that is made for it would have to replace one that is there.
  if (await fileExists(resolve(directory, password.path))) return undefined;
  const isWanted = await ask({
    text: 'Register this account now, with a password made for it (yes, no)',
    kind: booleanType,
    fallback: false,
  });
  if (isWanted !== true) return undefined;
  return {
    username: username.content,
    email: String(await ask({ text: 'E-mail address for its notices', kind: EMAIL_KIND })),
  };
}

async function askService(prompt: Prompt, directory: string) {
  const text = 'Address of the signal service, if you have an account or want one now';
  const url = await prompt.ask({ text, kind: SERVICE.url.valueType, isOptional: true });
  if (url === undefined) {
    prompt.say(`  ${PLACEHOLDER_URL} stands for it in the file until you know it; gridtide try needs no service\n`);
    const service = { url: PLACEHOLDER_URL, usernameFile: 'username', passwordFile: 'password' };
    return { service, secrets: [], registration: undefined };
  }
  const askFile = async (what: string, fallback: string) =>
    (await askSecretFile(prompt, directory, { what, fallback })) ?? { path: fallback };
  const username = await askFile('account name', 'username');
  const password = await askFile('password of the account', 'password');
  return {
    service: dropUndefined({ url, usernameFile: username.path, passwordFile: password.path }),
    secrets: [username, password],
    registration: await askRegistration(prompt, directory, { username, password }),
  };
}

async function askBroker(prompt: Prompt, directory: string, isOptional = true) {
  const text = 'Address of the MQTT broker, such as mqtt://localhost';
  const url = await prompt.ask({ text, kind: MQTT.url.valueType, isOptional });
  if (url === undefined) return undefined;
  const username = await askSecretFile(prompt, directory, { what: 'broker user name' });
  const password = username && (await askSecretFile(prompt, directory, { what: 'broker password' }));
  return {
    mqtt: dropUndefined({ url, usernameFile: username?.path, passwordFile: password?.path }),
    secrets: [username, password].filter((file) => file !== undefined),
  };
}

/** What an output needs of the house. */
interface HouseQuestions {
  /** Asks for a broker where none was given. */
  requireBroker(): Promise<void>;
  /** Asks for the file of a Home Assistant token. */
  askToken(): Promise<string>;
}

/** The answer that stands for `sg-ready` with two devices on MQTT in place of GPIO lines. */
const SG_READY_BY_MQTT = 'sg-ready-by-mqtt';

/** A device on MQTT; of one with several relays the channel too, where `hasChannel` asks for it. */
async function askDevice(ask: Prompt['ask'], what: string, hasChannel: boolean): Promise<ConfigTree> {
  const rows = findOutputRows('mqtt');
  const text = `${what} (${presetNames.join(', ')})`;
  const preset = await ask({ text, kind: enumType(...presetNames), fallback: 'switch' });
  const known = presetNames.find((one) => one === preset) ?? 'switch';
  const topicText = `Its topic, such as ${presets[known].topic}`;
  const topic = await ask({ text: topicText, kind: rows.topic?.valueType ?? nameType });
  const channelText = 'Its channel, of a device with several relays';
  const channelKind = rows.channel?.valueType ?? nameType;
  const channel = hasChannel ? await ask({ text: channelText, kind: channelKind, isOptional: true }) : undefined;
  return dropUndefined({ preset, topic, channel });
}

async function askOutput({ ask }: Prompt, { requireBroker, askToken }: HouseQuestions): Promise<ConfigTree> {
  const kinds = ['dry-run', 'relay', 'sg-ready', SG_READY_BY_MQTT, 'mqtt', 'home-assistant', 'http'];
  const kind = String(
    await ask({ text: `How is it switched (${kinds.join(', ')})`, kind: enumType(...kinds), fallback: 'dry-run' }),
  );
  const rows = findOutputRows(kind);
  if (kind === 'mqtt' || kind === SG_READY_BY_MQTT) await requireBroker();
  if (kind === 'mqtt') return { kind, ...(await askDevice(ask, 'Device', false)) };
  if (kind === SG_READY_BY_MQTT) {
    const contactA = await askDevice(ask, 'Device at contact A', true);
    return { kind: 'sg-ready', switches: [contactA, await askDevice(ask, 'Device at contact B', true)] };
  }
  if (kind === 'home-assistant') return askEntity(ask, rows, askToken);
  if (kind === 'http') return askAddresses(ask, rows);
  const lines = rows.pin ?? rows.pins;
  if (lines === undefined || rows.activeLow === undefined) return { kind };
  const key = rows.pin === undefined ? 'pins' : 'pin';
  return dropUndefined({
    kind,
    [key]: await ask({ text: lines.help.replace(/\.$/, ''), kind: lines.valueType }),
    activeLow: await ask({
      text: 'Do the relays close at a low line (yes, no)',
      kind: rows.activeLow.valueType,
      fallback: false,
    }),
  });
}

/** Plain HTTP is the owner's word: the address was typed in answer to a question that says so. */
const PLAIN_HINT = '(http:// only on your own network)';
const allowPlain = (...urls: readonly (ConfigTreeValue | undefined)[]): ConfigTree =>
  urls.some((url) => `${url}`.startsWith('http:')) ? { allowPlainHttp: true } : {};

async function askEntity(
  ask: Prompt['ask'],
  rows: ConfigRows,
  askToken: HouseQuestions['askToken'],
): Promise<ConfigTree> {
  const kindOf = (key: string) => rows[key]?.valueType ?? nameType;
  const url = await ask({ text: `Address of Home Assistant ${PLAIN_HINT}`, kind: kindOf('url') });
  const tokenFile = await askToken();
  const entity = await ask({ text: 'Entity, such as switch.car_charger', kind: kindOf('entity') });
  const hasValues = !/^(switch|input_boolean)\./.test(`${entity}`);
  const askState = async (key: string, level: string) =>
    hasValues ? ask({ text: `Its state that means ${level}`, kind: kindOf(key) }) : undefined;
  return dropUndefined({
    ...{ kind: 'home-assistant', url, tokenFile, entity },
    onState: await askState('onState', 'on'),
    offState: await askState('offState', 'off'),
    ...allowPlain(url),
  });
}

async function askAddresses(ask: Prompt['ask'], rows: ConfigRows): Promise<ConfigTree> {
  const kind = rows.on?.valueType.rows?.url?.valueType ?? nameType;
  const on = await ask({ text: `Address that switches it on ${PLAIN_HINT}`, kind });
  const off = await ask({ text: 'Address that switches it off', kind });
  return { kind: 'http', on: dropUndefined({ url: on }), off: dropUndefined({ url: off }), ...allowPlain(on, off) };
}

const NEED_KIND = LOAD.goal.valueType.rows?.need?.valueType ?? nameType;

async function askGoal({ ask }: Prompt, type: string): Promise<ConfigTree | undefined> {
  const need = await ask({ text: 'What each day needs, such as 4h or 12kWh', kind: NEED_KIND, isOptional: true });
  if (need === undefined) return undefined;
  const from = type === 'ev' ? 'Plugged in from, local time' : undefined;
  return dropUndefined({
    need,
    by: await ask({ text: 'Done by, local time', kind: timeOfDayType, fallback: '07:00' }),
    from: from === undefined ? undefined : await ask({ text: from, kind: timeOfDayType, isOptional: true }),
  });
}

async function askLoad(prompt: Prompt, house: HouseQuestions): Promise<ConfigTree> {
  const type = String(await prompt.ask({ text: `What is it (${loadTypes.join(', ')})`, kind: LOAD.type.valueType }));
  return dropUndefined({
    type,
    output: await askOutput(prompt, house),
    powerKw: await prompt.ask({
      text: 'Its power in kW',
      kind: LOAD.powerKw.valueType,
      fallback: findDefaultPower(type),
    }),
    goal: await askGoal(prompt, type),
  });
}

/** Asks for loads until an empty name, and again for a load that does not fit the rest. */
async function askLoads(prompt: Prompt, base: () => ConfigTree, house: HouseQuestions): Promise<ConfigTree> {
  let loads: ConfigTree = {};
  while (Object.keys(loads).length < MAX_LOADS) {
    const isFirst = Object.keys(loads).length === 0;
    const load = await prompt.ask({
      text: isFirst ? 'Name of the first load, such as car' : 'Name of the next load',
      kind: nameType,
      isOptional: !isFirst,
    });
    if (load === undefined) break;
    if (Object.hasOwn(loads, String(load))) {
      prompt.say(`  the load ${String(load)} exists; choose another name\n`);
      continue;
    }
    const more = { ...loads, [String(load)]: await askLoad(prompt, house) };
    const read = parseConfig(formatCommentedConfig({ ...base(), loads: more }));
    if (read.ok) loads = more;
    else for (const mistake of read.mistakes) prompt.say(`  ${mistake}\n`);
  }
  return loads;
}

export interface Interview {
  readonly config: ConfigTree;
  readonly secrets: readonly SecretFile[];
  readonly registration: { readonly username: string; readonly email: string } | undefined;
}

/** All questions about a house whose configuration will lie in `directory`. */
export async function askHouse(prompt: Prompt, directory: string): Promise<Interview> {
  prompt.say('An empty line accepts the value in brackets; < goes back one question.\n');
  const device = await prompt.ask({
    text: 'Name of this agent',
    kind: OPTIONS.device.valueType,
    fallback: 'cellar',
  });
  const place = await askPlace(prompt);
  const { service, secrets, registration } = await askService(prompt, directory);
  let broker = await askBroker(prompt, directory);
  const base = () => dropUndefined({ device, place, service, mqtt: broker?.mqtt });
  const tokens: SecretFile[] = [];
  const loads = await askLoads(prompt, base, {
    async requireBroker() {
      if (broker !== undefined) return;
      prompt.say('  a device on MQTT needs a broker, and none was given\n');
      broker = await askBroker(prompt, directory, false);
    },
    async askToken() {
      const fallback = 'home-assistant-token';
      const question = { what: 'long-lived access token of Home Assistant', fallback, known: tokens };
      const file = (await askSecretFile(prompt, directory, question)) ?? { path: fallback };
      tokens.push(file);
      return file.path;
    },
  });
  const allSecrets = [...secrets, ...(broker?.secrets ?? []), ...tokens];
  return { config: { ...base(), loads }, secrets: allSecrets, registration };
}
