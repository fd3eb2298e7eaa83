/** `gridtide init`: asks questions, then writes a commented configuration; never asks for a password. */

import { access, writeFile } from 'node:fs/promises';
import {
  buildExampleConfig,
  type ConfigTree,
  type ConfigTreeValue,
  formatCommentedConfig,
} from '../../config/example-config.ts';
import { buildConfigSchema } from '../../config/json-schema.ts';
import { buildOptionReference } from '../../config/option-reference.ts';
import { LOAD, MAX_LOADS, MQTT, OPTIONS, PLACE, SERVICE } from '../../config/options.ts';
import { parseConfig } from '../../config/parse-config.ts';
import { presetNames, presets } from '../../config/presets.ts';
import { type ConfigRows, GENERIC_CONTEXT, loadTypes } from '../../config/value-type.ts';

import { enumType, nameType, timeOfDayType } from '../../config/value-types.ts';
import { formatTopicReference } from '../../mqtt/topics.ts';
import { type Arguments, type CommandSpec, JobError, type Terminal, UsageError } from '../shared/command.ts';
import { createPrompt, type Prompt } from '../shared/prompt.ts';

export const spec = {
  name: 'init',
  positionals: '',
  options: {
    output: { value: 'FILE', help: 'where to write', short: 'o', default: 'gridtide.yaml' },
    force: { help: 'overwrite an existing file' },
    yes: { help: 'ask nothing: write an example to edit' },
    'dry-run': { help: 'with --yes: simulated outputs and no broker, to start with' },
    schema: { help: 'print the JSON schema of the configuration, for editors' },
    options: { help: 'print a table of all options, in Markdown' },
    topics: { help: 'print a table of all MQTT topics, in Markdown' },
  },
  notes: ['It asks for no password: the configuration names the files with the passwords.'],
} satisfies CommandSpec;

type Row = keyof typeof spec.options;

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
  const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone;
  return dropUndefined({
    latitude: await ask({ text: 'Latitude of the house, degrees north', kind: PLACE.latitude.valueType }),
    longitude: await ask({ text: 'Longitude, degrees east (west is negative)', kind: PLACE.longitude.valueType }),
    timezone: await ask({ text: 'Time zone', kind: PLACE.timezone.valueType, fallback: zone }),
  });
}

async function askService({ ask }: Prompt): Promise<ConfigTree> {
  const { url, usernameFile, passwordFile } = SERVICE;
  return dropUndefined({
    url: await ask({ text: 'Address of the signal service', kind: url.valueType }),
    usernameFile: await ask({
      text: 'File that holds the account name',
      kind: usernameFile.valueType,
      fallback: '/etc/gridtide/username',
    }),
    passwordFile: await ask({
      text: 'File that holds the password',
      kind: passwordFile.valueType,
      fallback: '/etc/gridtide/password',
    }),
  });
}

async function askBroker({ ask }: Prompt): Promise<ConfigTree | undefined> {
  const url = await ask({
    text: 'Address of the MQTT broker, such as mqtt://localhost',
    kind: MQTT.url.valueType,
    isOptional: true,
  });
  if (url === undefined) return undefined;
  const usernameFile = await ask({
    text: 'File that holds the broker user name',
    kind: MQTT.usernameFile.valueType,
    isOptional: true,
  });
  if (usernameFile === undefined) return { url };
  const passwordFile = await ask({
    text: 'File that holds the broker password',
    kind: MQTT.passwordFile.valueType,
    isOptional: true,
  });
  return dropUndefined({ url, usernameFile, passwordFile });
}

async function askOutput({ ask }: Prompt, hasBroker: boolean): Promise<ConfigTree> {
  const kinds = ['dry-run', 'relay', 'sg-ready', ...(hasBroker ? ['mqtt'] : []), 'home-assistant', 'http'];
  const kind = String(
    await ask({ text: `How is it switched (${kinds.join(', ')})`, kind: enumType(...kinds), fallback: 'dry-run' }),
  );
  const rows = findOutputRows(kind);
  if (kind === 'mqtt') {
    const preset = await ask({
      text: `Device (${presetNames.join(', ')})`,
      kind: enumType(...presetNames),
      fallback: 'switch',
    });
    const known = presetNames.find((one) => one === preset) ?? 'switch';
    const topic = rows.topic?.valueType ?? nameType;
    return dropUndefined({
      kind,
      preset,
      topic: await ask({ text: `Its topic, such as ${presets[known].topic}`, kind: topic }),
    });
  }
  if (kind === 'home-assistant') return askEntity(ask, rows);
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
const allowPlain = (url: ConfigTreeValue | undefined): ConfigTree =>
  `${url}`.startsWith('http:') ? { allowPlainHttp: true } : {};

async function askEntity(ask: Prompt['ask'], rows: ConfigRows): Promise<ConfigTree> {
  const kindOf = (key: string) => rows[key]?.valueType ?? nameType;
  const url = await ask({ text: `Address of Home Assistant ${PLAIN_HINT}`, kind: kindOf('url') });
  const tokenFile = await ask({
    text: 'File that holds its long-lived access token',
    kind: kindOf('tokenFile'),
    fallback: '/etc/gridtide/home-assistant-token',
  });
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
  return { kind: 'http', on: dropUndefined({ url: on }), off: dropUndefined({ url: off }), ...allowPlain(on) };
}

const NEED_KIND = LOAD.goal.valueType.rows?.need?.valueType ?? nameType;

async function askGoal({ ask }: Prompt): Promise<ConfigTree | undefined> {
  const need = await ask({ text: 'What each day needs, such as 4h or 12kWh', kind: NEED_KIND, isOptional: true });
  if (need === undefined) return undefined;
  return dropUndefined({
    need,
    by: await ask({ text: 'Done by, local time', kind: timeOfDayType, fallback: '07:00' }),
  });
}
async function askLoad(asker: Prompt, hasBroker: boolean): Promise<ConfigTree> {
  const type = await asker.ask({ text: `What is it (${loadTypes.join(', ')})`, kind: LOAD.type.valueType });
  return dropUndefined({
    type,
    output: await askOutput(asker, hasBroker),
    powerKw: await asker.ask({
      text: 'Its power in kW',
      kind: LOAD.powerKw.valueType,
      fallback: findDefaultPower(String(type)),
    }),
    goal: await askGoal(asker),
  });
}

/** Asks for loads until an empty name, and again for a load that does not fit the rest. */
async function askLoads(asker: Prompt, base: ConfigTree, out: Terminal['out']): Promise<ConfigTree> {
  let loads: ConfigTree = {};
  while (Object.keys(loads).length < MAX_LOADS) {
    const isFirst = Object.keys(loads).length === 0;
    const load = await asker.ask({
      text: isFirst ? 'Name of the first load, such as car' : 'Name of the next load',
      kind: nameType,
      isOptional: !isFirst,
    });
    if (load === undefined) break;
    if (Object.hasOwn(loads, String(load))) {
      out(`  the load ${String(load)} exists; choose another name\n`);
      continue;
    }
    const more = { ...loads, [String(load)]: await askLoad(asker, base.mqtt !== undefined) };
    const read = parseConfig(formatCommentedConfig({ ...base, loads: more }));
    if (read.ok) loads = more;
    else for (const mistake of read.mistakes) out(`  ${mistake}\n`);
  }
  return loads;
}

async function runInterview(terminal: Terminal): Promise<string> {
  const asker = createPrompt(terminal);
  terminal.out('An empty line accepts the value in brackets.\n');
  try {
    const device = await asker.ask({ text: 'Name of this device', kind: OPTIONS.device.valueType, fallback: 'cellar' });
    const place = await askPlace(asker);
    const service = await askService(asker);
    const mqtt = await askBroker(asker);
    const base = dropUndefined({ device, place, service, mqtt });
    return formatCommentedConfig({ ...base, loads: await askLoads(asker, base, terminal.out) });
  } finally {
    asker.close();
  }
}

const readErrorCode = (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : '');
const fileExists = (file: string) =>
  access(file).then(
    () => true,
    () => false,
  );
const fileExistsError = (file: string) =>
  new UsageError(`${file} exists; choose another --output, or overwrite it with --force`);

async function writeConfigFile(file: string, text: string, overwrite: boolean): Promise<void> {
  try {
    await writeFile(file, text, { flag: overwrite ? 'w' : 'wx' });
  } catch (error) {
    if (readErrorCode(error) === 'EEXIST') throw fileExistsError(file);
    throw new JobError(`${file} cannot be written (${readErrorCode(error)}); choose another file with --output`);
  }
}

export async function run(args: Arguments<Row>, terminal: Terminal): Promise<number> {
  if (args.flag('schema')) terminal.out(`${JSON.stringify(buildConfigSchema(), null, 2)}\n`);
  if (args.flag('options')) terminal.out(buildOptionReference());
  if (args.flag('topics')) terminal.out(formatTopicReference());
  if (args.flag('schema') || args.flag('options') || args.flag('topics')) return 0;
  const isDry = args.flag('dry-run');
  if (isDry && !args.flag('yes')) throw new UsageError('--dry-run goes with --yes; else answer dry-run for each load');
  const file = args.text('output') ?? 'gridtide.yaml';
  const overwrite = args.flag('force');
  if (!overwrite && (await fileExists(file))) throw fileExistsError(file);

  const text = args.flag('yes') ? buildExampleConfig({ isDry }) : await runInterview(terminal);
  const read = parseConfig(text);
  if (!read.ok)
    throw new JobError(`the answers contradict each other: ${read.mistakes.join('; ')}; nothing was written`);
  await writeConfigFile(file, text, overwrite);
  terminal.out(`wrote ${file}; next: gridtide check --config ${file}\n`);
  return 0;
}
