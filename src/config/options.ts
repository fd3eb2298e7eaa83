/** The table of options: each row gives the check, the default, the help, the JSON schema, the example and the documentation of an option. */

import type { Goal, Level, LoadType, MqttOutputConfig, Objective, OutputConfig } from '../domain/load-types.ts';
import { RATE_UNIT_NAMES } from '../domain/rate-units.ts';
import { buildWeekTimes, NAME_PATTERN } from '../domain/text-format.ts';
import { days, hours, minutes } from '../domain/units.ts';
import { buildMqttOutput, presetNames } from './presets.ts';
import { buildSectionSchema, isRawMap, readSection, sectionType, sectionVariantsType } from './read-section.ts';
import { tariffType } from './tariff-type.ts';
import { brokerUrlType, pageUrlType, serviceUrlType } from './url-types.ts';
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
  ampsType,
  booleanType,
  carbonPriceType,
  dailyWindowType,
  durationType,
  enumType,
  gpioLineType,
  gpioPairType,
  integerType,
  kilowattsType,
  latitudeType,
  longitudeType,
  nameType,
  needType,
  pairType,
  pathType,
  payloadType,
  percentileType,
  percentType,
  publicKeyType,
  regionType,
  textType,
  timeOfDayType,
  timezoneType,
  topicType,
  weekTimesType,
} from './value-types.ts';
import { homeAssistantOutputType, httpOutputType } from './web-outputs.ts';

type ValuesByType = Readonly<Record<LoadType, RawValue>>;
const defaultByType = (by: ValuesByType) => (context: DefaultContext) => by[context.type];
/** SG-Ready inputs are idle at `normal`; the idle level of a relay depends on the load. */
const defaultByLevelSet = (by: ValuesByType) => (context: DefaultContext) =>
  context.levelSet === 'sg-ready' ? 'normal' : by[context.type];

export const PLACE = {
  latitude: required(latitudeType, 'Degrees north of the house; south is negative.'),
  longitude: required(longitudeType, 'Degrees east; west is negative.'),
  timezone: required(timezoneType, 'Deadlines and windows are local times of this zone.'),
};

export const SERVICE = {
  url: optional(serviceUrlType, 'Base address of the signal service; required without a relay.'),
  usernameFile: defaulted(
    pathType,
    '$CREDENTIALS_DIRECTORY/username',
    'File with the user name of the account; a relative path starts at this file.',
  ),
  passwordFile: defaulted(
    pathType,
    '$CREDENTIALS_DIRECTORY/password',
    'File with the password, readable by the agent only.',
  ),
  signalType: defaulted(enumType('co2_moer', 'co2_aoer', 'health_damage'), 'co2_moer', 'The signal that decides.'),
  model: optional(textType, "A pinned data model; default: the service's."),
  ca: optional(pathType, "File of a certificate authority to trust beside the system's."),
  fleet: defaulted(integerType(1, 10_000), 1, 'The number of agents that share the account and its rate limits.'),
  relay: optional(
    booleanType,
    'True: the signal comes from a relay on the MQTT broker; with a url, the account is asked while the relay is silent.',
  ),
  publicKey: optional(
    publicKeyType,
    'With relay: the key that signals are signed with; while it is being replaced, a list of the old and the new one.',
  ),
  region: optional(regionType, 'The region of the house, in place of the one that the map has for it.'),
};

const serviceSchema = buildSectionSchema(SERVICE);
const serviceType: ValueType<SectionValues<typeof SERVICE>> = {
  ...sectionType(SERVICE, (values, report) => {
    if (values.relay === true && values.publicKey === undefined)
      report(`missing; with relay: true expected ${publicKeyType.expects}`, 'publicKey');
    else if (values.relay !== true && values.url === undefined)
      report(`missing; expected ${serviceUrlType.expects}, or relay: true with publicKey`, 'url');
    else if (values.relay !== true && values.publicKey !== undefined)
      report('needs relay: true; set it, or remove publicKey', 'publicKey');
    else return values;
    return undefined;
  }),
  schema: { ...serviceSchema, anyOf: [{ required: ['url'] }, { required: ['relay', 'publicKey'] }] },
};

export const MQTT = {
  url: required(brokerUrlType, 'Address of the broker.'),
  usernameFile: optional(pathType, 'File with the user name at the broker.'),
  passwordFile: optional(pathType, 'File with the password at the broker.'),
  ca: optional(pathType, "File of a certificate authority to trust beside the system's."),
  certificate: optional(pathType, "File of this machine's own certificate, for brokers that require one."),
  key: optional(pathType, 'File of the key of that certificate.'),
  commands: defaulted(
    enumType('auto', 'on', 'off'),
    'auto',
    'Whether the agent accepts commands over MQTT; auto: with a user name, or on loopback.',
  ),
  nats: optional(
    booleanType,
    'True when the broker is a NATS server: it ends the link at a topic with a point or a space.',
  ),
  discovery: optional(
    topicType,
    'Topic prefix of Home Assistant discovery; none: the agent publishes no discovery.',
    () => 'homeassistant',
  ),
  page: optional(pageUrlType, 'Address of gridtide page as browsers reach it; Home Assistant links its devices to it.'),
};

const activeLow = defaulted(booleanType, false, 'True for relay boards that close at a low line.');

const CONTACT = {
  pin: required(gpioLineType, 'GPIO number of the line.'),
  activeLow: defaulted(booleanType, true, 'True where the closed contact connects the line to ground.'),
};
const RELAY = {
  pin: required(gpioLineType, 'GPIO number of the line.'),
  activeLow,
  feedback: optional(sectionType(CONTACT), 'A contact that moves with that of the relay: finds a welded or stuck one.'),
  button: optional(sectionType(CONTACT), 'A push button: a press is an override to the other level.'),
};
const DRY_RUN = { as: defaulted(enumType('relay', 'sg-ready'), 'relay', 'The kind of output that it simulates.') };
const MQTT_OUTPUT = {
  preset: defaulted(enumType(...presetNames), 'switch', 'The kind of device: sets topics and payloads.'),
  topic: required(topicType, "The device's base topic; with the preset switch its command topic."),
  channel: optional(integerType(0, 15), 'The relay of a device with several, as the device counts them.'),
  amps: optional(
    ampsType,
    'Chargers only: the current to charge with, at powerKw; budgetKw may lower it down to 6 A, below which a charger knows none.',
  ),
  commandTopic: optional(topicType, "Command topic, when it differs from the preset's."),
  onPayload: optional(payloadType, 'Message that switches the load on.'),
  offPayload: optional(payloadType, 'Message that switches the load off.'),
  releasePayload: optional(payloadType, 'Message that returns control to the device.'),
  stateTopic: optional(topicType, 'Topic on which the device reports its state.'),
  statePath: optional(textType, 'Dotted path of the state in a JSON message.'),
  stateOn: optional(textType, 'State that means on; default: onPayload.'),
  stateOff: optional(textType, 'State that means off; default: offPayload.'),
  energyTopic: optional(topicType, 'Topic on which the device reports a counter of its energy.'),
  energyPath: optional(textType, 'Dotted path of the counter in a JSON message.'),
  energyUnit: optional(enumType('kWh', 'Wh'), 'Unit of the counter; default: kWh.'),
  powerTopic: optional(topicType, 'Topic on which the device reports its power in watts.'),
  powerPath: optional(textType, 'Dotted path of the power in a JSON message.'),
};

const mqttOutputType = sectionType(MQTT_OUTPUT, (values, report): MqttOutputConfig | undefined => {
  const made = buildMqttOutput(values);
  if (typeof made !== 'string') return made;
  report(made);
  return undefined;
});

const SG_READY = {
  pins: optional(gpioPairType, 'GPIO numbers of the contacts A and B.'),
  switches: optional(pairType(mqttOutputType), 'In place of pins: two devices on MQTT as contacts A and B.'),
  activeLow,
};

const sgReadyType = sectionType(SG_READY, ({ pins, switches, activeLow }, report): OutputConfig | undefined => {
  if (pins !== undefined && switches === undefined) return { kind: 'sg-ready', pins, activeLow };
  if (switches !== undefined && pins === undefined) return { kind: 'sg-ready', switches };
  if (pins === undefined) report(`missing; expected ${gpioPairType.expects}, or switches`, 'pins');
  else report('given beside pins; remove one of them', 'switches');
  return undefined;
});

const outputType = sectionVariantsType<OutputConfig>({
  relay: sectionType(RELAY, (values): OutputConfig => ({ kind: 'relay', ...values })),
  'sg-ready': sgReadyType,
  mqtt: mqttOutputType,
  http: httpOutputType,
  'home-assistant': homeAssistantOutputType,
  'dry-run': sectionType(DRY_RUN, (values): OutputConfig => ({ kind: 'dry-run', ...values })),
});

const GOAL = {
  need: required(needType, 'Running time, or energy at powerKw, that each job needs: 4h or 12kWh.'),
  by: optional(weekTimesType, 'Local time of the deadline, for every day or by days.'),
  from: optional(timeOfDayType, 'Local time from which it may run; default: from the previous deadline.'),
  keepLast: optional(
    durationType(minutes(5), hours(6)),
    'Part of the need that runs right before the deadline, for a warm battery or room; none: wherever it is best.',
  ),
  armedBy: defaulted(
    enumType('schedule', 'command', 'plug'),
    'schedule',
    'Whether each deadline arms a job, an arm command does, or plugging in the vehicle.',
  ),
};

const goalType = sectionType(GOAL, ({ by, ...values }, report): Goal | undefined => {
  if (by === undefined && values.armedBy === 'schedule') {
    report('missing; expected a local time such as "07:00", or armedBy: command', 'by');
    return undefined;
  }
  if (by === undefined && values.armedBy === 'plug') {
    report('missing; expected a local time such as "07:00", by which a vehicle that is plugged in must be done', 'by');
    return undefined;
  }
  return { ...values, by: by ?? buildWeekTimes(() => undefined) };
});

const safeLevelType: ValueType<Level> = enumType('off', 'on', 'normal', 'recommend');

const objectiveType: ValueType<Objective> = enumType('carbon', 'price', 'balanced');

export const LOAD = {
  type: required(enumType('ev', 'heat-pump', 'tank', 'generic'), 'The kind of load: sets the defaults below.'),
  output: required(outputType, 'How the load is switched.'),
  powerKw: defaulted(
    kilowattsType,
    defaultByType({ ev: 7.2, 'heat-pump': 2, tank: 2, generic: 1 }),
    'Electric power while the load runs, for energy, budget and savings.',
  ),
  goal: optional(goalType, 'The need and its deadline; without a goal the thresholds decide.'),
  objective: optional(objectiveType, 'What the plans of this load make small; default: objective of the site.'),
  maxDearer: optional(percentType, 'Of a balanced objective; default: maxDearer of the site.'),
  carbonPrice: optional(carbonPriceType, 'Of a balanced objective; default: carbonPrice of the site.'),
  onBelow: defaulted(
    percentileType,
    33,
    'On when the index (0 cleanest, 100 dirtiest of the next 24 hours) is at or below.',
  ),
  offAbove: defaulted(
    percentileType,
    ({ onBelow }) => Math.min(100, onBelow + 10),
    'Off when the index is at or above.',
    'onBelow + 10',
  ),
  blockAbove: sgReadyOnly(optional(percentileType, 'block when the index is at or above.')),
  forceBelow: sgReadyOnly(optional(percentileType, 'force a start when the index is at or below.')),
  alsoBelow: optional(
    percentileType,
    'Runs beyond a goal that is met while the index is at or below; none: the goal only.',
  ),
  minOn: defaulted(
    durationType(minutes(0), hours(12)),
    defaultByType({ ev: '15m', 'heat-pump': '30m', tank: '5m', generic: '5m' }),
    'Minimum time on.',
  ),
  minOff: defaulted(
    durationType(minutes(0), hours(12)),
    defaultByType({ ev: '15m', 'heat-pump': '15m', tank: '5m', generic: '5m' }),
    'Minimum time off.',
  ),
  maxOff: optional(
    durationType(hours(1), days(14)),
    'Maximum time off, for hygiene or comfort: it then runs for minOn, whatever the signal; none: no limit.',
  ),
  minStateTime: sgReadyOnly(
    defaulted(durationType(minutes(10), hours(2)), '10m', 'minimum time of a state; devices ignore shorter ones.'),
  ),
  maxStartsPerHour: defaulted(
    integerType(1, 60),
    defaultByType({ ev: 6, 'heat-pump': 2, tank: 6, generic: 6 }),
    'Maximum starts in any hour.',
  ),
  maxStartsPerDay: defaulted(
    integerType(1, 1000),
    defaultByType({ ev: 6, 'heat-pump': 6, tank: 24, generic: 24 }),
    'Maximum starts in any 24 hours.',
  ),
  maxInterruptions: optional(
    integerType(0, 100),
    'Maximum pauses in one job; none: no limit.',
    defaultByType({ ev: 3, 'heat-pump': undefined, tank: undefined, generic: undefined }),
  ),
  maxBlock: sgReadyOnly(defaulted(durationType(minutes(10), hours(2)), '2h', 'maximum time of a block.')),
  maxBlocksPerDay: sgReadyOnly(defaulted(integerType(0, 24), 3, 'maximum blocks in any 24 hours.')),
  startSpread: defaulted(
    durationType(minutes(0), hours(1)),
    '5m',
    'Starts are spread over this time, so that homes do not start together.',
  ),
  window: optional(
    dailyWindowType,
    'When it runs without any signal; none: the fail-safe level applies at once.',
    defaultByType({ ev: '01:00-05:00', 'heat-pump': '10:00-15:00', tank: undefined, generic: undefined }),
  ),
  failSafe: defaulted(
    safeLevelType,
    defaultByLevelSet({ ev: 'on', 'heat-pump': 'off', tank: 'on', generic: 'off' }),
    'Level without a valid signal and outside the window.',
  ),
  initialLevel: defaulted(
    safeLevelType,
    defaultByLevelSet({ ev: 'off', 'heat-pump': 'off', tank: 'off', generic: 'off' }),
    'Level at the start until a signal arrives, for 10 minutes at most.',
  ),
  onStop: defaulted(
    enumType('failsafe', 'hold'),
    'failsafe',
    'A stop of the agent sets the fail-safe level, or holds the present level.',
  ),
  overrideFor: defaulted(durationType(minutes(1), hours(24)), '4h', 'Duration of an override that gives none.'),
  observeOnly: defaulted(booleanType, false, 'Decides and reports, never switches.'),
};

type LoadValues = SectionValues<typeof LOAD>;
export type LoadDraft = Partial<LoadValues> & { readonly name: string };

export const getLevelSet = (output: OutputConfig): DefaultContext['levelSet'] =>
  output.kind === 'sg-ready' || (output.kind === 'dry-run' && output.as === 'sg-ready') ? 'sg-ready' : 'relay';

const ignoreMistake: ReportMistake = () => {};

/** The facts for the defaults of a load, as far as the file contains them. */
function buildDefaultContext(raw: ReadonlyMap<string, RawValue>): DefaultContext {
  const outputConfig = outputType.read(raw.get('output'), ignoreMistake);
  const kind = isRawMap(raw.get('output'))
    ? (raw.get('output') as ReadonlyMap<string, RawValue>).get('kind')
    : undefined;
  return {
    type: LOAD.type.valueType.read(raw.get('type'), ignoreMistake) ?? 'generic',
    levelSet: kind === 'sg-ready' ? 'sg-ready' : outputConfig === undefined ? 'relay' : getLevelSet(outputConfig),
    onBelow: percentileType.read(raw.get('onBelow'), ignoreMistake) ?? 33,
  };
}

export const MAX_LOADS = 32;

/** Loads by name, in the order of the file; a load with mistakes has the options that could be read, for the rules. */
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
    if (raw.size > MAX_LOADS) report(`${raw.size} loads are more than ${MAX_LOADS}; move some to a second agent`);
    return [...raw].slice(0, MAX_LOADS).flatMap(([key, part]) => {
      const here: ReportMistake = (text, ...under) => report(text, quoteKey(key), ...under);
      nameType.read(key, here);
      if (isRawMap(part)) return [{ ...readSection(LOAD, part, here, buildDefaultContext(part)), name: key }];
      here(`${quoteValue(part)} is not a section with type, output, …`);
      return [];
    });
  },
};

export const OPTIONS = {
  device: required(nameType, 'Name of this agent, and of its MQTT topics.'),
  state: optional(pathType, 'State directory; default: $STATE_DIRECTORY or ~/.local/state/gridtide.'),
  logLevel: defaulted(enumType('debug', 'info', 'warn', 'error'), 'info', 'The lowest level that is logged.'),
  place: required(sectionType(PLACE), 'Where the loads are.'),
  service: required(serviceType, 'The signal service and its account, or the relay that publishes its signal.'),
  mqtt: optional(sectionType(MQTT), 'The MQTT broker, for monitoring and commands.'),
  units: optional(
    enumType(...RATE_UNIT_NAMES),
    'Unit of rates wherever people read them; default: by the time zone, lb/MWh in the United States, else g/kWh.',
  ),
  gpio: defaulted(
    enumType('auto', 'onoff', 'character-device'),
    'auto',
    'Interface to the GPIO lines; auto: onoff where /sys/class/gpio works, else the character device.',
  ),
  ties: defaulted(
    enumType('mid', 'strict', 'weak'),
    'mid',
    'How equal rates count in the index that the agent computes.',
  ),
  budgetKw: optional(kilowattsType, 'Maximum power of all loads together.'),
  tariff: optional(tariffType, 'What a kilowatt-hour costs.'),
  objective: defaulted(
    objectiveType,
    'carbon',
    'What plans make small: carbon, price, or balanced: the least carbon at a bill of at most maxDearer above the cheapest.',
  ),
  maxDearer: defaulted(
    percentType,
    '2%',
    'Of a balanced objective: how much the bill of a load may exceed the cheapest, over its last jobs.',
  ),
  carbonPrice: optional(
    carbonPriceType,
    'Of a balanced objective: what a tonne of CO2 is worth in the currency of the tariff, in place of maxDearer.',
  ),
  loads: required(loadsType, 'The loads to switch.'),
};

export type ConfigValues = SectionValues<typeof OPTIONS>;
