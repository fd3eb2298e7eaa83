/** `gridtide init`: asks what must be known, then writes a commented configuration. Never overwrites unasked, never asks for a password. */

import { access, writeFile } from 'node:fs/promises';
import { commented, example, type Given, type GivenValue } from '../config/example.ts';
import type { Rows } from '../config/kind.ts';
import { name, oneOf, timeOfDay } from '../config/kinds.ts';
import { LOAD, MOST_LOADS, MQTT, OPTIONS, PLACE, SERVICE } from '../config/options.ts';
import { presetNames, presets } from '../config/presets.ts';
import { readConfig } from '../config/read.ts';
import { jsonSchema } from '../config/schema.ts';
import { type Asker, createAsker } from './ask.ts';
import { type Arguments, type CommandSpec, JobError, type Terminal, UsageError } from './command.ts';

type Row = 'output' | 'force' | 'yes' | 'schema';

export const spec: CommandSpec<Row> = {
  name: 'init',
  summary: 'asks, then writes a commented configuration',
  positionals: '',
  options: {
    output: { value: 'FILE', help: 'where to write', short: 'o', default: 'gridtide.yaml' },
    force: { help: 'overwrite a file that is there' },
    yes: { help: 'ask nothing: write the example, to be edited' },
    schema: { help: 'print the JSON schema of the configuration, for editors, and end' },
  },
  notes: ['Passwords are never asked for: the configuration names the files that hold them.'],
};

type Some = Readonly<Record<string, GivenValue | undefined>>;
const said = (values: Some): Given =>
  Object.fromEntries(
    Object.entries(values).flatMap(([key, value]) => (value === undefined ? [] : [[key, value] as const])),
  );

const rowsOf = (kind: string): Rows => LOAD.output.kind.variants?.[kind] ?? {};

/** The default of a row for a load of this type, to be offered. */
const offered = (key: 'powerKw', type: string) => {
  const known = (['ev', 'heat-pump', 'tank', 'generic'] as const).find((one) => one === type) ?? 'generic';
  return LOAD[key].fallback?.({ type: known, levels: 'relay', onBelow: 33 }) as number;
};

async function askPlace({ ask }: Asker): Promise<Given> {
  const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone;
  return said({
    latitude: await ask({ text: 'Latitude of the house, degrees north', kind: PLACE.latitude.kind }),
    longitude: await ask({ text: 'Longitude, degrees east (west is negative)', kind: PLACE.longitude.kind }),
    timezone: await ask({ text: 'Time zone', kind: PLACE.timezone.kind, fallback: zone }),
  });
}

async function askService({ ask }: Asker): Promise<Given> {
  const { url, usernameFile, passwordFile } = SERVICE;
  return said({
    url: await ask({ text: 'Address of the signal service', kind: url.kind }),
    usernameFile: await ask({
      text: 'File that holds the account name',
      kind: usernameFile.kind,
      fallback: '/etc/gridtide/username',
    }),
    passwordFile: await ask({
      text: 'File that holds the password',
      kind: passwordFile.kind,
      fallback: '/etc/gridtide/password',
    }),
  });
}

async function askBroker({ ask }: Asker): Promise<Given | undefined> {
  const url = await ask({
    text: 'Address of the MQTT broker, such as mqtt://localhost',
    kind: MQTT.url.kind,
    mayBeNone: true,
  });
  if (url === undefined) return undefined;
  const usernameFile = await ask({
    text: 'File that holds the broker user name',
    kind: MQTT.usernameFile.kind,
    mayBeNone: true,
  });
  if (usernameFile === undefined) return { url };
  const passwordFile = await ask({
    text: 'File that holds the broker password',
    kind: MQTT.passwordFile.kind,
    mayBeNone: true,
  });
  return said({ url, usernameFile, passwordFile });
}

async function askOutput({ ask }: Asker, hasBroker: boolean): Promise<Given> {
  const kinds = ['dry-run', 'relay', 'sg-ready', ...(hasBroker ? ['mqtt'] : [])];
  const kind = String(
    await ask({ text: `How is it switched (${kinds.join(', ')})`, kind: oneOf(...kinds), fallback: 'dry-run' }),
  );
  const rows = rowsOf(kind);
  if (kind === 'mqtt') {
    const preset = await ask({
      text: `Device (${presetNames.join(', ')})`,
      kind: oneOf(...presetNames),
      fallback: 'switch',
    });
    const known = presetNames.find((one) => one === preset) ?? 'switch';
    const topic = rows.topic?.kind ?? name;
    return said({
      kind,
      preset,
      topic: await ask({ text: `Its topic, such as ${presets[known].topic}`, kind: topic }),
    });
  }
  const lines = rows.pin ?? rows.pins;
  if (lines === undefined || rows.activeLow === undefined) return { kind };
  const key = rows.pin === undefined ? 'pins' : 'pin';
  return said({
    kind,
    [key]: await ask({ text: lines.help.replace(/\.$/, ''), kind: lines.kind }),
    activeLow: await ask({
      text: 'Do the relays close at a low line (yes, no)',
      kind: rows.activeLow.kind,
      fallback: false,
    }),
  });
}

const needKind = LOAD.goal.kind.inside?.need?.kind ?? name;

async function askGoal({ ask }: Asker): Promise<Given | undefined> {
  const need = await ask({ text: 'What each day needs, such as 4h or 12kWh', kind: needKind, mayBeNone: true });
  if (need === undefined) return undefined;
  return said({ need, by: await ask({ text: 'Done by, local time', kind: timeOfDay, fallback: '07:00' }) });
}
async function askLoad(asker: Asker, hasBroker: boolean): Promise<Given> {
  const type = await asker.ask({ text: 'What is it (ev, heat-pump, tank, generic)', kind: LOAD.type.kind });
  return said({
    type,
    output: await askOutput(asker, hasBroker),
    powerKw: await asker.ask({
      text: 'Its power in kW',
      kind: LOAD.powerKw.kind,
      fallback: offered('powerKw', String(type)),
    }),
    goal: await askGoal(asker),
  });
}

/** Loads until an empty name; one that does not fit the rest is asked for again. */
async function askLoads(asker: Asker, base: Given, out: Terminal['out']): Promise<Given> {
  let loads: Given = {};
  while (Object.keys(loads).length < MOST_LOADS) {
    const isFirst = Object.keys(loads).length === 0;
    const end = isFirst ? {} : ({ mayBeNone: true } as const);
    const load = await asker.ask({
      text: isFirst ? 'Name of the first load, such as car' : 'Name of the next load',
      kind: name,
      ...end,
    });
    if (load === undefined) break;
    if (String(load) in loads) {
      out(`  there is a load ${String(load)} already\n`);
      continue;
    }
    const more = { ...loads, [String(load)]: await askLoad(asker, base.mqtt !== undefined) };
    const read = readConfig(commented({ ...base, loads: more }));
    if (read.ok) loads = more;
    else for (const mistake of read.mistakes) out(`  ${mistake}\n`);
  }
  return loads;
}

async function interview(terminal: Terminal): Promise<string> {
  const asker = createAsker(terminal);
  terminal.out('An empty line takes what stands in brackets.\n');
  try {
    const device = await asker.ask({ text: 'Name of this device', kind: OPTIONS.device.kind, fallback: 'cellar' });
    const place = await askPlace(asker);
    const service = await askService(asker);
    const mqtt = await askBroker(asker);
    const base = said({ device, place, service, mqtt });
    return commented({ ...base, loads: await askLoads(asker, base, terminal.out) });
  } finally {
    asker.close();
  }
}

const codeOf = (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : '');
const isThere = (file: string) =>
  access(file).then(
    () => true,
    () => false,
  );

async function write(file: string, text: string, overwrite: boolean): Promise<void> {
  try {
    await writeFile(file, text, { flag: overwrite ? 'w' : 'wx' });
  } catch (error) {
    if (codeOf(error) === 'EEXIST') throw occupied(file);
    throw new JobError(`${file} cannot be written (${codeOf(error)}); choose another place with --output`);
  }
}
const occupied = (file: string) =>
  new UsageError(`${file} is there already and is kept; choose another --output, or overwrite it with --force`);

export async function run(args: Arguments<Row>, terminal: Terminal): Promise<number> {
  if (args.flag('schema')) {
    terminal.out(`${JSON.stringify(jsonSchema(), null, 2)}\n`);
    return 0;
  }
  const file = args.text('output') ?? 'gridtide.yaml';
  const overwrite = args.flag('force');
  if (!overwrite && (await isThere(file))) throw occupied(file);

  const text = args.flag('yes') ? example() : await interview(terminal);
  const read = readConfig(text);
  if (!read.ok) throw new JobError(`the answers do not go together: ${read.mistakes.join('; ')}; nothing was written`);
  await write(file, text, overwrite);
  terminal.out(`${file} is written; next: gridtide check --config ${file}\n`);
  return 0;
}
