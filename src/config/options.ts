/** The one table of options. A row makes the check, the default, the help, the JSON schema, the example and the documentation. */

import { hours, minutes } from '../units.ts';
import { brokerUrl, serviceUrl } from './addresses.ts';
import type { Goal, Level, MqttOutputConfig, OutputConfig } from './config.ts';
import {
  type About,
  filled,
  type Kind,
  optional,
  type Raw,
  type Report,
  required,
  sgReadyOnly,
  shown,
  shownKey,
  type Values,
} from './kind.ts';
import {
  count,
  dailyWindow,
  degreesEast,
  degreesNorth,
  duration,
  flag,
  index,
  kilowatts,
  NAME,
  name,
  need,
  oneOf,
  path,
  payload,
  pin,
  pinPair,
  timeOfDay,
  timezone,
  topic,
  week,
  word,
} from './kinds.ts';
import { mqttOutput, presetNames } from './presets.ts';
import { isMap, oneOfSections, readRows, schemaOf, section } from './sections.ts';
import { weekOf } from './written.ts';

const byType = (by: Readonly<Record<About['type'], Raw>>) => (about: About) => by[about.type];
/** SG-Ready inputs are left alone with `normal`; a relay by what the load is. */
const byLevels = (by: Readonly<Record<About['type'], Raw>>) => (about: About) =>
  about.levels === 'sg-ready' ? 'normal' : by[about.type];

export const PLACE = {
  latitude: required(degreesNorth, 'Degrees north of the house; south is negative.'),
  longitude: required(degreesEast, 'Degrees east; west is negative.'),
  timezone: required(timezone, 'Deadlines and windows are local times of this zone.'),
};

export const SERVICE = {
  url: required(serviceUrl, 'Base address of the signal service.'),
  usernameFile: filled(
    path,
    '$CREDENTIALS_DIRECTORY/username',
    'File that holds the account name; a relative path starts at this file.',
  ),
  passwordFile: filled(
    path,
    '$CREDENTIALS_DIRECTORY/password',
    'File that holds the password, readable by the agent only.',
  ),
  signalType: filled(oneOf('co2_moer', 'co2_aoer', 'health_damage'), 'co2_moer', 'Which signal decides.'),
  /** A pinned data model (specification 9.2); absent: the service's default. */
  model: optional(word, "A pinned data model; the service's default otherwise."),
  /** File of a certificate authority to trust beside the system's. */
  ca: optional(path, "File of a certificate authority to trust beside the system's."),
  /** How many devices share the account; the request budgets are divided by it. */
  fleet: filled(count(1, 10_000), 1, 'How many devices share the account; they share its request limits.'),
};

export const MQTT = {
  url: required(brokerUrl, 'Address of the broker.'),
  usernameFile: optional(path, 'File that holds the broker user name.'),
  passwordFile: optional(path, 'File that holds the broker password.'),
  ca: optional(path, "File of a certificate authority to trust beside the system's."),
  certificate: optional(path, "File of this device's own certificate, for brokers that ask for one."),
  key: optional(path, 'File of the key of that certificate.'),
  /** `auto`: on when authenticated or on loopback. */
  commands: filled(
    oneOf('auto', 'on', 'off'),
    'auto',
    'Whether commands are taken over MQTT; auto: when logged in or on loopback.',
  ),
  /** Prefix of Home Assistant discovery; absent: none is published. */
  discovery: optional(
    topic,
    'Topic under which Home Assistant finds the device; none: not published.',
    () => 'homeassistant',
  ),
};

const activeLow = filled(flag, false, 'True for relay boards that close when the line is low.');

const RELAY = { pin: required(pin, 'GPIO number of the line.'), activeLow };
const SG_READY = { pins: required(pinPair, 'GPIO numbers of the contacts A and B.'), activeLow };
const DRY_RUN = { as: filled(oneOf('relay', 'sg-ready'), 'relay', 'Which kind of output it stands for.') };
const MQTT_OUTPUT = {
  preset: filled(oneOf(...presetNames), 'switch', 'What the device is: fills in topics and payloads.'),
  topic: required(topic, "The device's base topic; with the preset switch the command topic itself."),
  channel: optional(count(0, 15), 'Which relay of a device with several, as the device counts them.'),
  commandTopic: optional(topic, "Command topic, where it differs from the preset's."),
  onPayload: optional(payload, 'Message that allows the load.'),
  offPayload: optional(payload, 'Message that holds the load back.'),
  releasePayload: optional(payload, 'Message that hands the decision back to the device.'),
  stateTopic: optional(topic, 'Topic on which the device tells its state.'),
  statePath: optional(word, 'Dotted path of the state inside a JSON message.'),
  stateOn: optional(word, 'State that means on; the payload otherwise.'),
  stateOff: optional(word, 'State that means off; the payload otherwise.'),
};

export const output = oneOfSections<OutputConfig>({
  relay: section(RELAY, (said): OutputConfig => ({ kind: 'relay', ...said })),
  'sg-ready': section(SG_READY, (said): OutputConfig => ({ kind: 'sg-ready', ...said })),
  mqtt: section(MQTT_OUTPUT, (said, report): MqttOutputConfig | undefined => {
    const made = mqttOutput(said);
    if (typeof made !== 'string') return made;
    report(made);
    return undefined;
  }),
  'dry-run': section(DRY_RUN, (said): OutputConfig => ({ kind: 'dry-run', ...said })),
});

const GOAL = {
  need: required(need, 'Running time, or energy at powerKw, that each job needs: 4h or 12kWh.'),
  by: optional(week, 'Local time it must be done by, every day or by days.'),
  from: optional(timeOfDay, 'Local time from which it may run; otherwise from the deadline before.'),
  armedBy: filled(
    oneOf('schedule', 'command'),
    'schedule',
    'Whether every deadline arms a job, or an arm command does.',
  ),
};

const goal = section(GOAL, ({ by, ...said }, report): Goal | undefined => {
  if (by === undefined && said.armedBy === 'schedule') {
    report('missing; expected a local time such as "07:00", or armedBy: command', 'by');
    return undefined;
  }
  return { ...said, by: by ?? weekOf(() => undefined) };
});

const levels: Kind<Level> = oneOf('off', 'on', 'normal', 'recommend');

export const LOAD = {
  type: required(oneOf('ev', 'heat-pump', 'tank', 'generic'), 'What it is: sets the defaults below.'),
  output: required(output, 'How it is switched.'),
  powerKw: filled(
    kilowatts,
    byType({ ev: 7.2, 'heat-pump': 2, tank: 2, generic: 1 }),
    'Electric power while it runs, for energy, budget and savings.',
  ),
  goal: optional(goal, 'What must be done by when; without it the thresholds decide.'),
  /** On at or below. */
  onBelow: filled(index, 33, 'On when the index (0 cleanest, 100 dirtiest of the next 24 hours) is at or below.'),
  /** Off at or above; never below `onBelow`. */
  offAbove: filled(
    index,
    ({ onBelow }) => Math.min(100, onBelow + 10),
    'Off when the index is at or above.',
    'onBelow + 10',
  ),
  /** SG-Ready only: the block contact closes at or above. */
  blockAbove: sgReadyOnly(optional(index, 'blocked when the index is at or above.')),
  /** SG-Ready only: an ordered start at or below, with the owner's consent. */
  forceBelow: sgReadyOnly(optional(index, 'ordered to start when the index is at or below.')),
  minOn: filled(
    duration(minutes(0), hours(12)),
    byType({ ev: '15m', 'heat-pump': '30m', tank: '5m', generic: '5m' }),
    'Once on, it stays on this long.',
  ),
  minOff: filled(
    duration(minutes(0), hours(12)),
    byType({ ev: '15m', 'heat-pump': '15m', tank: '5m', generic: '5m' }),
    'Once off, it stays off this long.',
  ),
  /** Least time any SG-Ready state is held. */
  hold: sgReadyOnly(
    filled(duration(minutes(10), hours(2)), '10m', 'the least time a state is held; devices ignore shorter ones.'),
  ),
  maxStartsPerHour: filled(count(1, 60), byType({ ev: 6, 'heat-pump': 2, tank: 6, generic: 6 }), 'Starts in any hour.'),
  maxStartsPerDay: filled(
    count(1, 1000),
    byType({ ev: 6, 'heat-pump': 6, tank: 24, generic: 24 }),
    'Starts in any 24 hours.',
  ),
  /** Pauses of one job; absent: no limit of its own. */
  maxInterruptions: optional(
    count(0, 100),
    'Pauses in one job; none: no limit of its own.',
    byType({ ev: 3, 'heat-pump': undefined, tank: undefined, generic: undefined }),
  ),
  maxBlock: sgReadyOnly(filled(duration(minutes(10), hours(2)), '2h', 'the longest block.')),
  maxBlocksPerDay: sgReadyOnly(filled(count(0, 24), 3, 'blocks in any 24 hours.')),
  /** Starts caused by the shared signal are spread over this. */
  jitter: filled(
    duration(minutes(0), hours(1)),
    '5m',
    'Starts are spread over this, so that homes do not start together.',
  ),
  window: optional(
    dailyWindow,
    'When it runs with no signal at all; none: the fail-safe level at once.',
    byType({ ev: '01:00-05:00', 'heat-pump': '10:00-15:00', tank: undefined, generic: undefined }),
  ),
  /** What the load is told when nothing valid is known. */
  failSafe: filled(
    levels,
    byLevels({ ev: 'on', 'heat-pump': 'off', tank: 'on', generic: 'off' }),
    'Level when nothing valid is known and no window holds.',
  ),
  /** What the load is told at start until something is known. */
  boot: filled(
    levels,
    byLevels({ ev: 'off', 'heat-pump': 'off', tank: 'off', generic: 'off' }),
    'Level at start until something is known, for 10 minutes at most.',
  ),
  /** `failsafe` or leave the level as it is when the agent is stopped. */
  onStop: filled(
    oneOf('failsafe', 'hold'),
    'failsafe',
    'What a stop of the agent leaves: the fail-safe level, or the level as it is.',
  ),
  /** Default length of an override that gives none. */
  overrideFor: filled(duration(minutes(1), hours(24)), '4h', 'Length of an override by hand that gives none.'),
  /** Decides and reports, never switches. */
  shadow: filled(flag, false, 'Decides and reports, never switches.'),
};

export type LoadValues = Values<typeof LOAD>;
export type LoadDraft = Partial<LoadValues> & { readonly name: string };

export const levelsOf = (output: OutputConfig): About['levels'] =>
  output.kind === 'sg-ready' || (output.kind === 'dry-run' && output.as === 'sg-ready') ? 'sg-ready' : 'relay';

const quiet: Report = () => {};

/** What the defaults of a load depend on, as far as it can be told from what is written. */
function aboutOf(raw: ReadonlyMap<string, Raw>): About {
  const written = output.read(raw.get('output'), quiet);
  const kind = isMap(raw.get('output')) ? (raw.get('output') as ReadonlyMap<string, Raw>).get('kind') : undefined;
  return {
    type: LOAD.type.kind.read(raw.get('type'), quiet) ?? 'generic',
    levels: kind === 'sg-ready' ? 'sg-ready' : written === undefined ? 'relay' : levelsOf(written),
    onBelow: index.read(raw.get('onBelow'), quiet) ?? 33,
  };
}

export const MOST_LOADS = 32;

/** Loads by name, in the order of the file; a load with a mistake is there with what could be read, so that the rules see it. */
const loads = {
  expects: 'a section with one part for each load',
  schema: {
    type: 'object',
    propertyNames: { pattern: NAME.source },
    additionalProperties: schemaOf(LOAD),
    minProperties: 1,
    maxProperties: MOST_LOADS,
  },
  inside: LOAD,
  named: true as const,
  read(raw: Raw, report: Report): readonly LoadDraft[] | undefined {
    if (!isMap(raw) || raw.size === 0) {
      report(`${isMap(raw) ? 'an empty section' : shown(raw)} is not ${this.expects}`);
      return undefined;
    }
    if (raw.size > MOST_LOADS) report(`${raw.size} loads are more than ${MOST_LOADS}; use a second agent`);
    return [...raw].slice(0, MOST_LOADS).flatMap(([key, part]) => {
      const here: Report = (says, ...under) => report(says, shownKey(key), ...under);
      name.read(key, here);
      if (isMap(part)) return [{ ...readRows(LOAD, part, here, aboutOf(part)), name: key }];
      here(`${shown(part)} is not a section with type, output, …`);
      return [];
    });
  },
};

export const OPTIONS = {
  /** Of the safe alphabet; names the MQTT tree. */
  device: required(name, 'Name of this device: names the MQTT tree.'),
  state: optional(path, 'State directory; $STATE_DIRECTORY or ~/.local/state/gridtide otherwise.'),
  logLevel: filled(oneOf('debug', 'info', 'warn', 'error'), 'info', 'The least that is logged.'),
  place: required(section(PLACE), 'Where the loads are.'),
  service: required(section(SERVICE), 'The signal service and its account.'),
  mqtt: optional(section(MQTT), 'The MQTT broker, to be watched and told; without it neither.'),
  /** How ties count in the local index. */
  ties: filled(oneOf('mid', 'strict', 'weak'), 'mid', 'How equal rates count in the index computed on the device.'),
  budgetKw: optional(kilowatts, 'All loads together never draw more.'),
  loads: required(loads, 'What is switched.'),
};

export type ConfigValues = Values<typeof OPTIONS>;
