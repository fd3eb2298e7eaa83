/** The one table of options. A row makes the check, the default, the help, the JSON schema, the example and the documentation. */

import type { Goal, Level, MqttOutputConfig, OutputConfig } from '../domain/load-types.ts';
import { buildWeekTimes } from '../domain/text-format.ts';
import { hours, minutes } from '../domain/units.ts';
import { buildMqttOutput, presetNames } from './presets.ts';
import { buildSectionSchema, isRawMap, readSection, sectionType, sectionVariantsType } from './read-section.ts';
import { brokerUrlType, serviceUrlType } from './url-types.ts';
import {
  type DefaultContext,
  defaulted,
  optional,
  quoteKey,
  quoteValue,
  type RawValue,
  type ReportMistake,
  required,
  type SectionValues,
  sgReadyOnly,
  type ValueType,
} from './value-type.ts';
import {
  booleanType,
  dailyWindowType,
  durationType,
  enumType,
  gpioLineType,
  gpioPairType,
  integerType,
  kilowattsType,
  latitudeType,
  longitudeType,
  NAME_PATTERN,
  nameType,
  needType,
  pathType,
  payloadType,
  percentileType,
  textType,
  timeOfDayType,
  timezoneType,
  topicType,
  weekTimesType,
} from './value-types.ts';

const defaultByType = (by: Readonly<Record<DefaultContext['type'], RawValue>>) => (about: DefaultContext) =>
  by[about.type];
/** SG-Ready inputs are left alone with `normal`; a relay by what the load is. */
const defaultByLevelSet = (by: Readonly<Record<DefaultContext['type'], RawValue>>) => (about: DefaultContext) =>
  about.levelSet === 'sg-ready' ? 'normal' : by[about.type];

export const PLACE = {
  latitude: required(latitudeType, 'Degrees north of the house; south is negative.'),
  longitude: required(longitudeType, 'Degrees east; west is negative.'),
  timezone: required(timezoneType, 'Deadlines and windows are local times of this zone.'),
};

export const SERVICE = {
  url: required(serviceUrlType, 'Base address of the signal service.'),
  usernameFile: defaulted(
    pathType,
    '$CREDENTIALS_DIRECTORY/username',
    'File that holds the account name; a relative path starts at this file.',
  ),
  passwordFile: defaulted(
    pathType,
    '$CREDENTIALS_DIRECTORY/password',
    'File that holds the password, readable by the agent only.',
  ),
  signalType: defaulted(enumType('co2_moer', 'co2_aoer', 'health_damage'), 'co2_moer', 'Which signal decides.'),
  /** A pinned data model (specification 9.2); absent: the service's default. */
  model: optional(textType, "A pinned data model; the service's default otherwise."),
  /** File of a certificate authority to trust beside the system's. */
  ca: optional(pathType, "File of a certificate authority to trust beside the system's."),
  /** How many devices share the account; the request budgets are divided by it. */
  fleet: defaulted(integerType(1, 10_000), 1, 'How many devices share the account; they share its request limits.'),
};

export const MQTT = {
  url: required(brokerUrlType, 'Address of the broker.'),
  usernameFile: optional(pathType, 'File that holds the broker user name.'),
  passwordFile: optional(pathType, 'File that holds the broker password.'),
  ca: optional(pathType, "File of a certificate authority to trust beside the system's."),
  certificate: optional(pathType, "File of this device's own certificate, for brokers that ask for one."),
  key: optional(pathType, 'File of the key of that certificate.'),
  /** `auto`: on when authenticated or on loopback. */
  commands: defaulted(
    enumType('auto', 'on', 'off'),
    'auto',
    'Whether commands are taken over MQTT; auto: when logged in or on loopback.',
  ),
  /** Prefix of Home Assistant discovery; absent: none is published. */
  discovery: optional(
    topicType,
    'Topic under which Home Assistant finds the device; none: not published.',
    () => 'homeassistant',
  ),
};

const activeLow = defaulted(booleanType, false, 'True for relay boards that close when the line is low.');

const RELAY = { pin: required(gpioLineType, 'GPIO number of the line.'), activeLow };
const SG_READY = { pins: required(gpioPairType, 'GPIO numbers of the contacts A and B.'), activeLow };
const DRY_RUN = { as: defaulted(enumType('relay', 'sg-ready'), 'relay', 'Which kind of output it stands for.') };
const MQTT_OUTPUT = {
  preset: defaulted(enumType(...presetNames), 'switch', 'What the device is: fills in topics and payloads.'),
  topic: required(topicType, "The device's base topic; with the preset switch the command topic itself."),
  channel: optional(integerType(0, 15), 'Which relay of a device with several, as the device counts them.'),
  commandTopic: optional(topicType, "Command topic, where it differs from the preset's."),
  onPayload: optional(payloadType, 'Message that allows the load.'),
  offPayload: optional(payloadType, 'Message that holds the load back.'),
  releasePayload: optional(payloadType, 'Message that hands the decision back to the device.'),
  stateTopic: optional(topicType, 'Topic on which the device tells its state.'),
  statePath: optional(textType, 'Dotted path of the state inside a JSON message.'),
  stateOn: optional(textType, 'State that means on; the payload otherwise.'),
  stateOff: optional(textType, 'State that means off; the payload otherwise.'),
};

export const outputType = sectionVariantsType<OutputConfig>({
  relay: sectionType(RELAY, (said): OutputConfig => ({ kind: 'relay', ...said })),
  'sg-ready': sectionType(SG_READY, (said): OutputConfig => ({ kind: 'sg-ready', ...said })),
  mqtt: sectionType(MQTT_OUTPUT, (said, report): MqttOutputConfig | undefined => {
    const made = buildMqttOutput(said);
    if (typeof made !== 'string') return made;
    report(made);
    return undefined;
  }),
  'dry-run': sectionType(DRY_RUN, (said): OutputConfig => ({ kind: 'dry-run', ...said })),
});

const GOAL = {
  need: required(needType, 'Running time, or energy at powerKw, that each job needs: 4h or 12kWh.'),
  by: optional(weekTimesType, 'Local time it must be done by, every day or by days.'),
  from: optional(timeOfDayType, 'Local time from which it may run; otherwise from the deadline before.'),
  armedBy: defaulted(
    enumType('schedule', 'command'),
    'schedule',
    'Whether every deadline arms a job, or an arm command does.',
  ),
};

const goalType = sectionType(GOAL, ({ by, ...said }, report): Goal | undefined => {
  if (by === undefined && said.armedBy === 'schedule') {
    report('missing; expected a local time such as "07:00", or armedBy: command', 'by');
    return undefined;
  }
  return { ...said, by: by ?? buildWeekTimes(() => undefined) };
});

const safeLevelType: ValueType<Level> = enumType('off', 'on', 'normal', 'recommend');

export const LOAD = {
  type: required(enumType('ev', 'heat-pump', 'tank', 'generic'), 'What it is: sets the defaults below.'),
  output: required(outputType, 'How it is switched.'),
  powerKw: defaulted(
    kilowattsType,
    defaultByType({ ev: 7.2, 'heat-pump': 2, tank: 2, generic: 1 }),
    'Electric power while it runs, for energy, budget and savings.',
  ),
  goal: optional(goalType, 'What must be done by when; without it the thresholds decide.'),
  /** On at or below. */
  onBelow: defaulted(
    percentileType,
    33,
    'On when the index (0 cleanest, 100 dirtiest of the next 24 hours) is at or below.',
  ),
  /** Off at or above; never below `onBelow`. */
  offAbove: defaulted(
    percentileType,
    ({ onBelow }) => Math.min(100, onBelow + 10),
    'Off when the index is at or above.',
    'onBelow + 10',
  ),
  /** SG-Ready only: the block contact closes at or above. */
  blockAbove: sgReadyOnly(optional(percentileType, 'blocked when the index is at or above.')),
  /** SG-Ready only: an ordered start at or below, with the owner's consent. */
  forceBelow: sgReadyOnly(optional(percentileType, 'ordered to start when the index is at or below.')),
  minOn: defaulted(
    durationType(minutes(0), hours(12)),
    defaultByType({ ev: '15m', 'heat-pump': '30m', tank: '5m', generic: '5m' }),
    'Once on, it stays on this long.',
  ),
  minOff: defaulted(
    durationType(minutes(0), hours(12)),
    defaultByType({ ev: '15m', 'heat-pump': '15m', tank: '5m', generic: '5m' }),
    'Once off, it stays off this long.',
  ),
  /** Least time any SG-Ready state is held. */
  minStateTime: sgReadyOnly(
    defaulted(
      durationType(minutes(10), hours(2)),
      '10m',
      'the least time a state is held; devices ignore shorter ones.',
    ),
  ),
  maxStartsPerHour: defaulted(
    integerType(1, 60),
    defaultByType({ ev: 6, 'heat-pump': 2, tank: 6, generic: 6 }),
    'Starts in any hour.',
  ),
  maxStartsPerDay: defaulted(
    integerType(1, 1000),
    defaultByType({ ev: 6, 'heat-pump': 6, tank: 24, generic: 24 }),
    'Starts in any 24 hours.',
  ),
  /** Pauses of one job; absent: no limit of its own. */
  maxInterruptions: optional(
    integerType(0, 100),
    'Pauses in one job; none: no limit of its own.',
    defaultByType({ ev: 3, 'heat-pump': undefined, tank: undefined, generic: undefined }),
  ),
  maxBlock: sgReadyOnly(defaulted(durationType(minutes(10), hours(2)), '2h', 'the longest block.')),
  maxBlocksPerDay: sgReadyOnly(defaulted(integerType(0, 24), 3, 'blocks in any 24 hours.')),
  /** Starts caused by the shared signal are spread over this. */
  startSpread: defaulted(
    durationType(minutes(0), hours(1)),
    '5m',
    'Starts are spread over this, so that homes do not start together.',
  ),
  window: optional(
    dailyWindowType,
    'When it runs with no signal at all; none: the fail-safe level at once.',
    defaultByType({ ev: '01:00-05:00', 'heat-pump': '10:00-15:00', tank: undefined, generic: undefined }),
  ),
  /** What the load is told when nothing valid is known. */
  failSafe: defaulted(
    safeLevelType,
    defaultByLevelSet({ ev: 'on', 'heat-pump': 'off', tank: 'on', generic: 'off' }),
    'Level when nothing valid is known and no window holds.',
  ),
  /** What the load is told at start until something is known. */
  initialLevel: defaulted(
    safeLevelType,
    defaultByLevelSet({ ev: 'off', 'heat-pump': 'off', tank: 'off', generic: 'off' }),
    'Level at start until something is known, for 10 minutes at most.',
  ),
  /** `failsafe` or leave the level as it is when the agent is stopped. */
  onStop: defaulted(
    enumType('failsafe', 'hold'),
    'failsafe',
    'What a stop of the agent leaves: the fail-safe level, or the level as it is.',
  ),
  /** Default length of an override that gives none. */
  overrideFor: defaulted(durationType(minutes(1), hours(24)), '4h', 'Length of an override by hand that gives none.'),
  /** Decides and reports, never switches. */
  observeOnly: defaulted(booleanType, false, 'Decides and reports, never switches.'),
};

export type LoadValues = SectionValues<typeof LOAD>;
export type LoadDraft = Partial<LoadValues> & { readonly name: string };

export const levelSetOf = (output: OutputConfig): DefaultContext['levelSet'] =>
  output.kind === 'sg-ready' || (output.kind === 'dry-run' && output.as === 'sg-ready') ? 'sg-ready' : 'relay';

const ignoreMistake: ReportMistake = () => {};

/** What the defaults of a load depend on, as far as it can be told from what is written. */
function buildDefaultContext(raw: ReadonlyMap<string, RawValue>): DefaultContext {
  const outputConfig = outputType.read(raw.get('output'), ignoreMistake);
  const kind = isRawMap(raw.get('output'))
    ? (raw.get('output') as ReadonlyMap<string, RawValue>).get('kind')
    : undefined;
  return {
    type: LOAD.type.valueType.read(raw.get('type'), ignoreMistake) ?? 'generic',
    levelSet: kind === 'sg-ready' ? 'sg-ready' : outputConfig === undefined ? 'relay' : levelSetOf(outputConfig),
    onBelow: percentileType.read(raw.get('onBelow'), ignoreMistake) ?? 33,
  };
}

export const MAX_LOADS = 32;

/** Loads by name, in the order of the file; a load with a mistake is there with what could be read, so that the rules see it. */
const loadsType = {
  expects: 'a section with one part for each load',
  schema: {
    type: 'object',
    propertyNames: { pattern: NAME_PATTERN.source },
    additionalProperties: buildSectionSchema(LOAD),
    minProperties: 1,
    maxProperties: MAX_LOADS,
  },
  rows: LOAD,
  hasNamedKeys: true as const,
  read(raw: RawValue, report: ReportMistake): readonly LoadDraft[] | undefined {
    if (!isRawMap(raw) || raw.size === 0) {
      report(`${isRawMap(raw) ? 'an empty section' : quoteValue(raw)} is not ${this.expects}`);
      return undefined;
    }
    if (raw.size > MAX_LOADS) report(`${raw.size} loads are more than ${MAX_LOADS}; use a second agent`);
    return [...raw].slice(0, MAX_LOADS).flatMap(([key, part]) => {
      const here: ReportMistake = (says, ...under) => report(says, quoteKey(key), ...under);
      nameType.read(key, here);
      if (isRawMap(part)) return [{ ...readSection(LOAD, part, here, buildDefaultContext(part)), name: key }];
      here(`${quoteValue(part)} is not a section with type, output, …`);
      return [];
    });
  },
};

export const OPTIONS = {
  /** Of the safe alphabet; names the MQTT tree. */
  device: required(nameType, 'Name of this device: names the MQTT tree.'),
  state: optional(pathType, 'State directory; $STATE_DIRECTORY or ~/.local/state/gridtide otherwise.'),
  logLevel: defaulted(enumType('debug', 'info', 'warn', 'error'), 'info', 'The least that is logged.'),
  place: required(sectionType(PLACE), 'Where the loads are.'),
  service: required(sectionType(SERVICE), 'The signal service and its account.'),
  mqtt: optional(sectionType(MQTT), 'The MQTT broker, to be watched and told; without it neither.'),
  /** How ties count in the local index. */
  ties: defaulted(
    enumType('mid', 'strict', 'weak'),
    'mid',
    'How equal rates count in the index computed on the device.',
  ),
  budgetKw: optional(kilowattsType, 'All loads together never draw more.'),
  loads: required(loadsType, 'What is switched.'),
};

export type ConfigValues = SectionValues<typeof OPTIONS>;
