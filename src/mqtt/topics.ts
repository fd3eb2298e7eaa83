/** The one table of the agent's MQTT topics, and its names at brokers and in Home Assistant. */

import type { BrokerWill } from '../domain/ports.ts';

const ROOT = 'gridtide';
const LEASE_ROOT = `${ROOT}-owners`;
/** Below these only agents write. */
export const OWN_ROOTS: readonly string[] = [ROOT, LEASE_ROOT];

interface Device {
  readonly device: string;
}

/** How the broker keeps a message: `expiring` is retained for as long as it is valid with MQTT 5, and not at all before. */
type Retention = 'retained' | 'expiring' | 'no';

export interface TopicRow {
  /** Under `gridtide/<device>/`. */
  readonly path: string;
  readonly retention: Retention;
  readonly published: string;
  readonly holds: string;
}

const row = (path: string, retention: Retention, published: string, holds: string): TopicRow => ({
  path,
  retention,
  published,
  holds,
});

/** Every topic of the tree: the code, `docs/topics.md` and the tests read these rows. */
export const TOPICS = {
  availability: row(
    'availability',
    'retained',
    'at the start and the end; `offline` is also the last will, which mosquitto publishes within about 5 s of a kill and 40 s of a power cut or a pulled cable',
    '`online` or `offline`',
  ),
  signal: row(
    'signal',
    'expiring',
    'every five minutes',
    'the signal now: `index` (0 cleanest to 100 dirtiest of the next 24 hours), `rate`, the starts of their periods (`indexTime`, `rateTime`: a new rate may be known minutes before its index), `units`, `basis`, `validUntil`',
  ),
  forecast: row(
    'forecast',
    'retained',
    'with each new forecast',
    'the rates ahead: `values[i]` holds from `from` plus `i` times `periodSeconds`, in `units`; from `profileFrom` on they are the own profile of the agent; `null` where none is known; valid until `validUntil`',
  ),
  history: row(
    'history',
    'retained',
    'every quarter of an hour',
    'the rates seen since yesterday 00:00 local time, in the shape of `forecast`',
  ),
  prices: row(
    'prices',
    'retained',
    'with a tariff, when other prices are known',
    'what a kilowatt-hour costs in `currency`: `spans` with `start`, `end` and `price`; valid until `validUntil`, the end of the last',
  ),
  totals: row(
    'totals',
    'retained',
    'every quarter of an hour while a load runs, every hour of a day with energy, and after midnight',
    'energy, emissions and savings `today`, this `month` and in `all`, of the house and of each load, with a tariff the `bill` too (`paid`, `instead`, `saved`), and of each of the last 30 `days`; valid until `validUntil`, the end of the local day',
  ),
  load: row(
    'loads/<load>',
    'retained',
    'with each change',
    'the decision: `level`, `told` (sent to the device), `confirmed` (reported by the device), `text` (the reason in words), `why` (the reason as a code), `basis`, `priority`, `job`, `override` and `overrideLevel`, `paused`, `onBelow` and `offAbove` (as in use), `powerKw`, `energyTodayKwh`, `index` and `rate` as they were at the decision, at `time` (the present ones stand in `signal`), `nextStart`, `nextEnd`, `nextIsExpected` (true for a load without a goal, whose next run is expected by the forecast and not decided), `money` (price, what the job has cost and will, with a tariff)',
  ),
  plan: row(
    'loads/<load>/plan',
    'retained',
    'with each new plan, and when a forecast moves expected runs',
    'the planned `runs` of the present job with `start`, `end` and `kw`, its deadline `by`, when it was made, and `refused`, a newer plan that was not worth the starts it adds (null: none was); of a load without a goal the next runs `expected` if the rates come as forecast: `start` is null for one that runs already, `end` for one that lasts to the end of what the forecast ranks',
  ),
  health: row(
    'health',
    'retained',
    'with each change',
    'service, broker, map, clock, storage, outputs, tariff: `ok`, or one sentence with problem and fix; `basis`, `fresh`, the last forecast, the plan of the account, warnings of the service',
  ),
  events: row(
    'events',
    'no',
    'when a part of the agent fails, and when it works again',
    '`event` (`problem` or `resolved`), `part`, and the sentence as `text`',
  ),
  counters: row('counters', 'retained', 'with each request to the service', '`requests` and `logins` since the start'),
  info: row('info', 'retained', 'at the start', 'version, region, age of the map, the loads and their limits'),
  command: row(
    'loads/<load>/set',
    'no',
    'by you',
    'a command: `{"command": "override", "level": "on", "for": "2h"}`, `{"command": "arm", "need": "4h", "by": "2026-03-02T15:00:00Z"}`, `{"command": "clear"}`, `{"command": "pause"}`, `{"command": "resume"}` or `{"command": "thresholds", "onBelow": 30, "offAbove": 45}` (either, or none for the configured ones), with an `id` of your own if you like',
  ),
  result: row(
    'loads/<load>/result',
    'no',
    'after each command; with MQTT 5 also on its response topic, with its correlation data',
    'the answer: `ok`, `message`, and the `id` of the command',
  ),
} as const satisfies Readonly<Record<string, TopicRow>>;

/** Of all houses of a region: what `gridtide relay` publishes. */
const SIGNAL_ROOT = `${ROOT}-signal`;

export const buildSignalTopic = (region: string, signalType: string, kind: string) =>
  `${SIGNAL_ROOT}/${region}/${signalType}/${kind}`;

/** Where `gridtide relay` publishes a map: which one it is, and its pieces by their number; `+`: all of them. */
export const buildMapTopic = (signalType: string, part: 'info' | number | '+') =>
  buildSignalTopic('map', signalType, `${part}`);

export function buildTopics({ device }: Device) {
  const base = `${ROOT}/${device}`;
  const one = (topic: TopicRow) => `${base}/${topic.path}`;
  const byLoad = (topic: TopicRow) => (name: string) => one(topic).replace('<load>', name);
  return {
    /** The level above all topics of the agent. */
    base,
    availability: one(TOPICS.availability),
    signal: one(TOPICS.signal),
    forecast: one(TOPICS.forecast),
    history: one(TOPICS.history),
    prices: one(TOPICS.prices),
    totals: one(TOPICS.totals),
    health: one(TOPICS.health),
    events: one(TOPICS.events),
    counters: one(TOPICS.counters),
    info: one(TOPICS.info),
    load: byLoad(TOPICS.load),
    plan: byLoad(TOPICS.plan),
    /** `+` for the commands to any load. */
    command: byLoad(TOPICS.command),
    result: byLoad(TOPICS.result),
    /** The load that a command topic names. */
    parseCommandLoad: (topic: string) => topic.slice(`${base}/loads/`.length, -'/set'.length),
  } as const;
}

/** The retained topics of all agents of a broker that `parseTopic` reads. The filters share no topic. */
export const FLEET_FILTERS: readonly string[] = [
  ...[TOPICS.availability, TOPICS.health, TOPICS.info, TOPICS.totals].map(({ path }) => `${ROOT}/+/${path}`),
  `${ROOT}/+/${TOPICS.load.path.replace('<load>', '+')}`,
];

/** Nobody publishes here: mosquitto accepts a subscription once it has sent the stored messages of those before. */
export const FLEET_END = `${ROOT}/fleet/end`;

export interface ParsedTopic {
  readonly device: string;
  readonly topic: 'availability' | 'health' | 'info' | 'totals' | 'load';
  /** Of `load` alone. */
  readonly load: string;
}

/** What a topic of `FLEET_FILTERS` holds, and of which agent. */
export function parseTopic(topic: string): ParsedTopic | undefined {
  const [root, device, name, load, ...more] = topic.split('/');
  if (root !== ROOT || device === undefined || more.length > 0) return undefined;
  if (load !== undefined) return name === 'loads' ? { device, topic: 'load', load } : undefined;
  const found = (['availability', 'health', 'info', 'totals'] as const).find((key) => TOPICS[key].path === name);
  return found && { device, topic: found, load: '' };
}

/** Where the agent that commands an MQTT device puts its name. */
export const buildLeaseTopic = (commandTopic: string) => `${LEASE_ROOT}/${commandTopic}`;

/** The same for every start of one agent, so that a second agent with its name is noticed. */
export const buildClientId = ({ device }: Device) => `${ROOT}-${device}`;

/** The agent or its load in Home Assistant, and the start of the ids of its entities: no name holds the `/` between two. */
export const buildDiscoveryId = ({ device }: Device, load?: string) =>
  load === undefined ? `${ROOT}_${device}` : `${ROOT}_${device}/${load}`;

/** A broken link that comes back within this is not published as `offline` (MQTT 5). */
const WILL_DELAY_SECONDS = 5;

/** The retained `offline` that the broker publishes when the link dies. */
export const buildWill = (device: Device): BrokerWill => ({
  topic: buildTopics(device).availability,
  payload: 'offline',
  delaySeconds: WILL_DELAY_SECONDS,
});

/** `docs/topics.md`: the table for people. */
export function formatTopicReference(): string {
  const KEPT: Readonly<Record<Retention, string>> = {
    retained: 'yes',
    expiring: 'with MQTT 5, while valid',
    no: 'no',
  };
  const rows = Object.values<TopicRow>(TOPICS).map(
    ({ path, retention, published, holds }) => `| \`${path}\` | ${holds} | ${published} | ${KEPT[retention]} |`,
  );
  return [
    '# MQTT topics',
    '',
    `All of them are under \`${ROOT}/<device>/\`. \`gridtide init --topics\` prints this page. Documents are JSON; times are ISO 8601 in UTC;`,
    'rates carry their `units` (the option `units`), energy is in kWh, power in kW, emissions in kg.',
    '',
    '| topic | holds | published | retained |',
    '|---|---|---|---|',
    ...rows,
    '',
    `\`${buildSignalTopic('<region>', '<signalType>', 'forecast')}\`, \`…/index\` and \`…/history\` are retained messages of \`gridtide relay\` (docs/relay.md): compressed,`,
    `signed, and with MQTT 5 gone from the broker when they are no longer valid. \`${buildSignalTopic('map', '<signalType>', 'info')}\` announces a map, whose`,
    'pieces are on `…/0`, `…/1` and so on.',
    '',
    `\`${LEASE_ROOT}/…\`, beside these topics, names the agent that commands a device. Home Assistant discovers the device under \`homeassistant/device/…\`.`,
    '',
  ].join('\n');
}

/** Whether the agent publishes it about itself: its tree, its claims, and its entities in Home Assistant. */
export const isOwnTopic = (topic: string) =>
  OWN_ROOTS.some((root) => topic.startsWith(`${root}/`)) || topic.includes(`/device/${ROOT}_`);
