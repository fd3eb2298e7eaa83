/** Publishes the agent's state to the broker and forwards the commands that arrive there. */

import type { Config } from '../config/config.ts';
import type { Decision } from '../control/control-types.ts';
import type { Broker, BrokerMessage, BrokerState, Cancel, Clock, Log, Random } from '../domain/ports.ts';
import type { Prices } from '../domain/tariff.ts';
import { addDuration, type Duration, formatInstant, minutes, seconds } from '../domain/units.ts';
import type { DeviceStatus } from '../outputs/output.ts';
import type { Horizon, SignalView } from '../signal/signal-view.ts';
import { type CommandHandler, createCommandIntake } from './command-intake.ts';
import { buildHealthPayload, type Health } from './health.ts';
import { buildDiscovery } from './home-assistant.ts';
import { createOutbox, type Outbox } from './outbox.ts';
import { acceptsCommands } from './parse-command.ts';
import { buildInfoPayload, buildLoadPayload, buildSignalPayload, getRateUnit, type Info } from './payloads.ts';
import { createProblemEvents } from './problem-events.ts';
import { removeOldEntities, removeOldLoads } from './remove-old.ts';
import { buildTopics, buildWill } from './topics.ts';
import {
  buildForecastPayload,
  buildHistoryPayload,
  buildPlanPayload,
  buildPricesPayload,
  buildTotalsPayload,
  type ControlFacts,
  type SeenValues,
  type TotalsFacts,
  type TotalsPayload,
} from './watcher-payloads.ts';

/** Many agents receive Home Assistant's birth message at once: each waits a moment of its own. */
const HA_ONLINE_SPREAD = seconds(3);
/** How long the document of a signal without a valid index stays. */
const EMPTY_SIGNAL_VALID = minutes(15);

export interface MonitorParts {
  readonly config: Config;
  readonly broker: Broker;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly version: string;
  /** Erases what the agent published under an earlier name; called once, before the first document. */
  readonly eraseEarlierName?: () => Promise<void>;
}

export interface MonitorHandlers {
  /** Called with a command that is well formed, fresh, new and for a load of the configuration. */
  readonly onCommand: CommandHandler;
}

export interface Monitor {
  /** From here on the agent is shown as online and accepts commands, whenever there is a link. */
  start(handlers: MonitorHandlers): void;
  publishSignal(view: SignalView, text: string): void;
  publishDecision(decision: Decision, text: string): void;
  /** What is known of the load's device; published with its next decision too. */
  publishDeviceStatus(load: string, status: DeviceStatus): void;
  /** The schedule of the load's present job, and what its owner has set; published with the load too. */
  publishControl(load: string, facts: ControlFacts): void;
  publishForecast(horizon: Horizon, region: string | undefined): void;
  publishHistory(seen: SeenValues): void;
  publishPrices(prices: Prices): void;
  /** The energy of the day is published with each load too. */
  publishTotals(facts: TotalsFacts): void;
  publishCounters(counters: { readonly requests: number; readonly logins: number }): void;
  publishHealth(health: Health): void;
  publishInfo(info: Info): void;
  /** Publishes `offline` and leaves. May be called twice. */
  stop(): Promise<void>;
}

export function createMonitor(parts: MonitorParts): Monitor {
  const { config, broker, clock, random, log, version } = parts;
  const topics = buildTopics(config);
  const hasCommands = config.mqtt !== undefined && acceptsCommands(config.mqtt);
  const outbox = createOutbox(broker);
  let handlers: MonitorHandlers | undefined;
  let unwatch: Cancel | undefined;
  let haOnlineTimer: Cancel | undefined;
  let hasRemovedOldEntities = false;

  const discovery = buildDiscovery(config, version, hasCommands);
  for (const { topic, payload } of discovery) outbox.setRetained(topic, payload);
  const commandIntake = createCommandIntake({
    config,
    broker,
    clock,
    log,
    onCommand: async (load, command) => handlers?.onCommand(load, command) ?? STARTING,
  });

  const publishOnline = () => broker.publish(topics.availability, 'online', { retain: true });
  const receiveHaStatus = ({ payload, retained }: BrokerMessage): void => {
    if (retained || new TextDecoder().decode(payload.subarray(0, 16)) !== 'online') return;
    haOnlineTimer?.();
    const wait = (random.fraction() * HA_ONLINE_SPREAD) as Duration;
    haOnlineTimer = clock.wakeAt(addDuration(clock.now().uptime, wait), 'home assistant', async () => {
      if (await outbox.republish()) await publishOnline();
    });
  };

  /** All documents, then the subscriptions, then `online`: after it a client may rely on the state and send commands. */
  const onLinkUp = async (): Promise<void> => {
    if (!hasRemovedOldEntities) {
      hasRemovedOldEntities = true;
      await parts.eraseEarlierName?.();
      await removeOldEntities(broker, config, discovery);
      await removeOldLoads(broker, config);
    }
    if (!(await outbox.republish())) return;
    if (hasCommands) await commandIntake.subscribe();
    if (config.mqtt?.discovery !== undefined)
      await broker.subscribe(`${config.mqtt.discovery}/status`, receiveHaStatus, { wantsRetained: false });
    await publishOnline();
  };

  return {
    start(newHandlers) {
      handlers = newHandlers;
      unwatch ??= watchLinkUp(broker, () => void onLinkUp());
    },
    ...createPublishers({ config, broker, clock, version }, outbox),
    async stop() {
      haOnlineTimer?.();
      unwatch?.();
      await broker.stop(buildWill(config));
    },
  };
}

const STARTING = { accepted: false, text: 'the agent is still starting; send it again in a moment' };

/** Builds the documents and gives them to the outbox. */
function createPublishers(
  { config, broker, clock, version }: Pick<MonitorParts, 'config' | 'broker' | 'clock' | 'version'>,
  outbox: Outbox,
) {
  const topics = buildTopics(config);
  const unit = getRateUnit(config);
  const publishRetained = (topic: string, document: object) => outbox.setRetained(topic, JSON.stringify(document));
  const publishProblemEvents = createProblemEvents((event) => {
    const payload = JSON.stringify({ time: formatInstant(clock.now().wall), ...event });
    void broker.publish(topics.events, payload, { retain: false });
  });
  const loadDocuments = createLoadDocuments(config, (load, document) => publishRetained(topics.load(load), document));
  return {
    publishSignal(view: SignalView, text: string) {
      const { wall } = clock.now();
      const validUntil = view.index?.validUntil ?? addDuration(wall, EMPTY_SIGNAL_VALID);
      // The broker counts in real time, also while the agent's time is accelerated.
      const secondsLeft = () => (validUntil - clock.now().wall) / (1_000 * (clock.speed ?? 1));
      const document = buildSignalPayload(view, { text, now: wall, unit });
      outbox.setExpiring(topics.signal, JSON.stringify(document), secondsLeft);
    },
    publishDecision: loadDocuments.setDecision,
    publishDeviceStatus: loadDocuments.setStatus,
    publishControl(load: string, facts: ControlFacts) {
      if (isSameControl(loadDocuments.findControl(load), facts)) return;
      const powerKw = config.loads.find(({ name }) => name === load)?.powerKw ?? 0;
      publishRetained(topics.plan(load), buildPlanPayload(load, facts, powerKw));
      loadDocuments.setControl(load, facts);
    },
    publishForecast: (horizon: Horizon, region: string | undefined) =>
      publishRetained(topics.forecast, buildForecastPayload(horizon, region, unit)),
    publishHistory: (seen: SeenValues) => publishRetained(topics.history, buildHistoryPayload(seen, unit)),
    publishPrices: (prices: Prices) => publishRetained(topics.prices, buildPricesPayload(prices)),
    publishTotals(facts: TotalsFacts) {
      const names = config.loads.map(({ name }) => name);
      const document = buildTotalsPayload(facts, names);
      publishRetained(topics.totals, document);
      loadDocuments.setTotals(document);
    },
    publishCounters: (counters: object) => publishRetained(topics.counters, counters),
    publishHealth(health: Health) {
      publishRetained(topics.health, buildHealthPayload(health));
      publishProblemEvents(health);
    },
    publishInfo: (info: Info) => publishRetained(topics.info, buildInfoPayload(info, config, version)),
  } satisfies Partial<Monitor>;
}

/** The core replaces what it changes and keeps the rest; expected runs are found anew each time. */
const isSameControl = (before: ControlFacts | undefined, facts: ControlFacts): boolean =>
  before !== undefined &&
  before.job === facts.job &&
  before.plan === facts.plan &&
  before.paused === facts.paused &&
  before.thresholds === facts.thresholds &&
  JSON.stringify(before.expected) === JSON.stringify(facts.expected);

/** The document of each load, from its last decision, the last status of its device, its plan and the day's energy. */
function createLoadDocuments(config: Config, publish: (load: string, document: object) => void) {
  const decisions = new Map<string, { readonly decision: Decision; readonly text: string }>();
  const statuses = new Map<string, DeviceStatus>();
  const controls = new Map<string, ControlFacts>();
  let totals: TotalsPayload | undefined;
  const unit = getRateUnit(config);

  const publishLoad = (name: string): void => {
    const found = decisions.get(name);
    const load = config.loads.find((one) => one.name === name);
    if (found === undefined || load === undefined) return;
    const control = controls.get(name);
    const ownTotals = totals !== undefined && Object.hasOwn(totals.loads, name) ? totals.loads[name] : undefined;
    const energyTodayKwh = ownTotals?.today.energyKwh;
    const facts = {
      ...{ unit, load },
      ...(control === undefined ? {} : { control }),
      ...(energyTodayKwh === undefined ? {} : { energyTodayKwh }),
    };
    publish(name, buildLoadPayload(found.decision, found.text, facts, statuses.get(name)));
  };
  const setter =
    <Value>(values: Map<string, Value>) =>
    (load: string, value: Value): void => {
      values.set(load, value);
      publishLoad(load);
    };
  return {
    setDecision(decision: Decision, text: string): void {
      decisions.set(decision.load, { decision, text });
      publishLoad(decision.load);
    },
    setStatus: setter(statuses),
    setControl: setter(controls),
    findControl: (load: string) => controls.get(load),
    setTotals(document: TotalsPayload): void {
      totals = document;
      for (const load of decisions.keys()) publishLoad(load);
    },
  };
}

/** Calls `onUp` now when the link is up, and each time it comes up again. */
function watchLinkUp(broker: Broker, onUp: () => void): Cancel {
  let wasOnline = false;
  const onState = ({ kind }: BrokerState): void => {
    const isOnline = kind === 'online';
    if (isOnline && !wasOnline) onUp();
    wasOnline = isOnline;
  };
  const unwatch = broker.watchState(onState);
  onState(broker.state);
  return unwatch;
}
