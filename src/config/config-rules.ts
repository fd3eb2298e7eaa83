/** The rules between options; a draft may lack options that could not be read. */

import { formatDuration } from '../domain/duration-text.ts';
import { listInputs, listMqttDevices, listOutputLines, listReadTopics } from '../domain/levels.ts';
import type { Goal, OutputConfig } from '../domain/load-types.ts';
import { countMinutesUntil, formatLocalTime } from '../domain/text-format.ts';
import { type Duration, hours, inHours, minutes } from '../domain/units.ts';
import { type ConfigValues, getLevelSet, type LoadDraft } from './options.ts';
import type { ReportMistake } from './value-type.ts';

type ConfigDraft = Partial<ConfigValues>;

function checkThresholds(
  { onBelow, offAbove, blockAbove, forceBelow, output }: LoadDraft,
  report: ReportMistake,
): void {
  if (onBelow !== undefined && offAbove !== undefined && offAbove < onBelow)
    report(`${offAbove} is below onBelow ${onBelow}; it must be at or above`, 'offAbove');
  if (blockAbove !== undefined && offAbove !== undefined && blockAbove < offAbove)
    report(`${blockAbove} is below offAbove ${offAbove}; it must be at or above`, 'blockAbove');
  if (forceBelow !== undefined && onBelow !== undefined && forceBelow > onBelow)
    report(`${forceBelow} is above onBelow ${onBelow}; it must be at or below`, 'forceBelow');
  if (output === undefined || getLevelSet(output) === 'sg-ready') return;
  for (const [key, value] of Object.entries({ blockAbove, forceBelow }))
    if (value !== undefined) report(`${value} needs an output of kind sg-ready; remove it`, key);
}

function checkLevels({ output, failSafe, initialLevel }: LoadDraft, report: ReportMistake): void {
  if (output === undefined) return;
  const known = getLevelSet(output) === 'sg-ready' ? ['normal', 'recommend'] : ['off', 'on'];
  for (const [key, level] of Object.entries({ failSafe, initialLevel }))
    if (level !== undefined && !known.includes(level))
      report(`"${level}" is not a safe level of an output of kind ${output.kind}; expected ${known.join(' or ')}`, key);
}

function checkTimes(
  { output, minOn, minOff, maxOff, minStateTime, maxBlock, window }: LoadDraft,
  report: ReportMistake,
): void {
  if (maxOff !== undefined && minOn === 0)
    report(`${formatDuration(maxOff)} needs a minOn above 0, the time that it then runs; set minOn`, 'maxOff');
  if (maxOff !== undefined && minOff !== undefined && maxOff < minOff)
    report(`${formatDuration(maxOff)} is shorter than minOff ${formatDuration(minOff)}; lengthen it`, 'maxOff');
  if (window !== undefined && minOn !== undefined) {
    const length = minutes(countMinutesUntil(window.from, window.to));
    if (minOn > length)
      report(
        `${formatDuration(minOn)} is longer than the window ${formatLocalTime(window.from)}-${formatLocalTime(window.to)} (${formatDuration(length)}); shorten it or widen the window`,
        'minOn',
      );
  }
  if (
    output !== undefined &&
    getLevelSet(output) === 'sg-ready' &&
    minStateTime !== undefined &&
    maxBlock !== undefined
  )
    if (minStateTime > maxBlock)
      report(
        `${formatDuration(minStateTime)} is longer than maxBlock ${formatDuration(maxBlock)}; a block could not end: shorten it`,
        'minStateTime',
      );
}

/** From `from`, or from the same time a day before, to the earliest deadline. */
function findShortestSpan({ from, by }: Goal): Duration {
  if (from === undefined) return hours(24);
  const spans = by.filter((time) => time !== undefined).map((time) => countMinutesUntil(from, time));
  return minutes(Math.min(1440, ...spans));
}

function checkGoal({ goal, powerKw, minOn }: LoadDraft, report: ReportMistake): void {
  if (goal === undefined || powerKw === undefined) return;
  const time = goal.need.kind === 'time' ? goal.need.time : hours(goal.need.energy / powerKw);
  if (goal.keepLast !== undefined && goal.keepLast > time)
    report(
      `${formatDuration(goal.keepLast)} is longer than the need (${formatDuration(time)}); shorten it`,
      'goal',
      'keepLast',
    );
  const span = findShortestSpan(goal);
  const spanText = goal.from === undefined ? 'a day' : `the time from ${formatLocalTime(goal.from)} to its deadline`;
  if (minOn !== undefined && minOn > span)
    report(
      `${formatDuration(minOn)} is longer than ${spanText} (${formatDuration(span)}); shorten it or widen the goal`,
      'minOn',
    );
  if (time <= span) return;
  const needText =
    goal.need.kind === 'time'
      ? formatDuration(goal.need.time)
      : `${goal.need.energy}kWh at ${powerKw} kW takes ${Math.ceil(inHours(time) * 10) / 10} h, which`;
  report(
    `${needText} is longer than ${spanText} (${formatDuration(span)}); shorten it or widen the goal`,
    'goal',
    'need',
  );
}

/** Only a charger that reports its vehicle shows when one is plugged in. */
function checkPlug({ goal, output }: LoadDraft, report: ReportMistake): void {
  if (goal?.armedBy !== 'plug' || output === undefined) return;
  if (output.kind === 'mqtt' && output.vehicle !== undefined) return;
  if (output.kind === 'home-assistant' && output.plugEntity !== undefined) return;
  report(
    'plug needs a charger that reports its vehicle: an output of kind mqtt with preset go-e, openevse, openevse-claim, evcc or warp, or of kind home-assistant with a plugEntity; else use command',
    'goal',
    'armedBy',
  );
}

/** A line, topic, entity or request that a load uses. */
interface Resource {
  readonly text: string;
  readonly keys: readonly string[];
  /** Where the text does not show all: an address or a body may hold a secret. */
  readonly identity?: string;
}

function listResources({ output }: LoadDraft): readonly Resource[] {
  if (output === undefined) return [];
  const lines = listOutputLines(output).map(
    (line): Resource => ({ text: `GPIO ${line}`, keys: [output.kind === 'relay' ? 'pin' : 'pins'] }),
  );
  const inputs = listInputs(output).map(([key, { pin }]): Resource => ({ text: `GPIO ${pin}`, keys: [key, 'pin'] }));
  const topics = listMqttDevices(output).map(
    ({ commandTopic }): Resource => ({
      text: `the command topic ${commandTopic}`,
      keys: [output.kind === 'mqtt' ? 'topic' : 'switches'],
    }),
  );
  return [...lines, ...inputs, ...topics, ...listWebResources(output)];
}

const listWebResources = (output: OutputConfig): readonly Resource[] => {
  if (output.kind === 'home-assistant')
    return [{ text: `the entity ${output.entity} of ${output.url}`, keys: ['entity'] }];
  if (output.kind !== 'http') return [];
  const { method, url, body = '' } = output.on;
  const text = `a request ${method} to ${new URL(url).origin}`;
  return [{ text, keys: ['on'], identity: `${method} ${url} ${body}` }];
};

function checkSharedResources(loads: readonly LoadDraft[], report: ReportMistake): void {
  const owners = new Map<string, string>();
  for (const load of loads)
    for (const { text, keys, identity = text } of listResources(load)) {
      const owner = owners.get(identity);
      if (owner !== undefined)
        report(`loads.${owner} uses ${text} already; choose another`, 'loads', load.name, 'output', ...keys);
      else owners.set(identity, load.name);
    }
}

/** Topics at which a NATS server ends the link. */
function checkNatsTopics(topics: readonly (string | undefined)[], report: ReportMistake): void {
  for (const topic of topics)
    if (topic !== undefined && /[. ]/.test(topic))
      report(
        `the topic "${topic}" has a point or a space, at which a NATS server ends the link; rename the device, or remove mqtt.nats`,
      );
}

const listTopics = (output: OutputConfig): readonly string[] => [
  ...new Set([...listMqttDevices(output).map(({ commandTopic }) => commandTopic), ...listReadTopics(output)]),
];

function checkRelay(
  { service, mqtt, tariff, loads = [] }: ConfigDraft,
  writtenKeys: ReadonlySet<string>,
  report: ReportMistake,
): void {
  if (service?.relay === true && !writtenKeys.has('mqtt'))
    report('true needs the section mqtt with the url of the broker that the relay publishes to', 'service', 'relay');
  if (mqtt?.nats !== true) return;
  for (const { name, output } of loads)
    if (output !== undefined) checkNatsTopics(listTopics(output), (text) => report(text, 'loads', name, 'output'));
  checkNatsTopics([mqtt.discovery], (text) => report(text, 'mqtt', 'discovery'));
  if (tariff?.source.kind === 'topic')
    checkNatsTopics([tariff.source.topic], (text) => report(text, 'tariff', 'topic'));
}

function checkSite(
  { budgetKw, mqtt, loads = [] }: ConfigDraft,
  writtenKeys: ReadonlySet<string>,
  report: ReportMistake,
): void {
  for (const { name, powerKw, output } of loads) {
    if (budgetKw !== undefined && powerKw !== undefined && powerKw > budgetKw)
      report(
        `${budgetKw} is below loads.${name}.powerKw ${powerKw}; that load could never run: raise budgetKw`,
        'budgetKw',
      );
    if (output !== undefined && listMqttDevices(output).length > 0 && !writtenKeys.has('mqtt'))
      report('an MQTT output needs the section mqtt with the url of a broker', 'loads', name, 'output');
  }
  if (mqtt?.passwordFile !== undefined && mqtt.usernameFile === undefined)
    report('missing; a passwordFile needs it', 'mqtt', 'usernameFile');
  if ((mqtt?.certificate === undefined) !== (mqtt?.key === undefined)) {
    const [lacking, present] = mqtt?.key === undefined ? ['key', 'certificate'] : ['certificate', 'key'];
    report(`missing; a ${present} needs it`, 'mqtt', lacking);
  }
}

/** Prices need a source, and what a tonne is worth matters to a balanced objective alone. */
function checkObjective(
  { tariff, objective, carbonPrice, loads = [] }: ConfigDraft,
  writtenKeys: ReadonlySet<string>,
  report: ReportMistake,
): void {
  const places = [
    { own: objective, worth: carbonPrice, path: [] },
    ...loads.map((load) => ({ own: load.objective, worth: load.carbonPrice, path: ['loads', load.name] })),
  ];
  for (const { own, worth, path } of places) {
    if (own !== undefined && own !== 'carbon' && !writtenKeys.has('tariff'))
      report(`${own} needs the section tariff with prices; add it, or remove objective`, ...path, 'objective');
    if (worth !== undefined && (own ?? objective) !== 'balanced')
      report(`${worth} needs objective: balanced; set it, or remove carbonPrice`, ...path, 'carbonPrice');
  }
  if (tariff?.source.kind === 'topic' && !writtenKeys.has('mqtt'))
    report('a topic needs the section mqtt with the url of a broker', 'tariff', 'topic');
}

/** `writtenKeys`: the top-level keys of the file. */
export function checkRules(draft: ConfigDraft, writtenKeys: ReadonlySet<string>, report: ReportMistake): void {
  for (const load of draft.loads ?? []) {
    const here: ReportMistake = (text, ...under) => report(text, 'loads', load.name, ...under);
    for (const rule of [checkThresholds, checkLevels, checkTimes, checkGoal, checkPlug]) rule(load, here);
  }
  checkSharedResources(draft.loads ?? [], report);
  checkSite(draft, writtenKeys, report);
  checkRelay(draft, writtenKeys, report);
  checkObjective(draft, writtenKeys, report);
}
