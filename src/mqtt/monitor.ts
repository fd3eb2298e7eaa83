/** Tells the broker what the agent knows and does, and takes commands from it; decides nothing about loads. */

import type { Config } from '../config/config.ts';
import type { Decision } from '../control/control-types.ts';
import type { Broker, BrokerMessage, BrokerState, BrokerWill, Cancel, Clock, Log, Random } from '../domain/ports.ts';
import { addDuration, type Duration, seconds } from '../domain/units.ts';
import type { SignalView } from '../signal/signal-view.ts';
import { createCommandLimiter } from './command-limiter.ts';
import { type CommandListener, type CommandResult, createCommandListener } from './command-listener.ts';
import { buildHealthPayload, type Health } from './health.ts';
import { buildDiscovery, buildRemovedEntities } from './home-assistant.ts';
import { createOutbox } from './outbox.ts';
import { acceptsCommands, parseCommand, type RemoteCommand, refuseUnknownLoad } from './parse-command.ts';
import { buildInfoPayload, buildLoadPayload, buildSignalPayload, type Info } from './payloads.ts';

export type { Info } from './payloads.ts';

/** Many devices hear Home Assistant's birth at once: each waits a moment of its own. */
const HA_ONLINE_SPREAD = seconds(3);
/** Of a name on the wire, which may be as long as a topic. */
const MAX_UNKNOWN_LOAD_NAME = 40;
/** Version 4 does not tell a live retained command from a plain one; right after subscribing nothing is believed. */
const IGNORE_IN_VERSION_4 = seconds(1);

export interface MonitorParts {
  readonly config: Config;
  readonly broker: Broker;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly version: string;
}

export interface MonitorHandlers {
  /** Called with a command that is well formed, fresh, new and for a load of the configuration. `words` reach the sender. */
  onCommand(load: string, command: RemoteCommand): CommandResult;
}

export interface Monitor {
  /** From here on the device is shown as online and takes commands, whenever there is a link. */
  start(handlers: MonitorHandlers): void;
  publishSignal(view: SignalView, words: string): void;
  publishDecision(decision: Decision, words: string): void;
  publishHealth(health: Health): void;
  publishInfo(info: Info): void;
  /** Says offline and leaves. May be called twice. */
  stop(): Promise<void>;
}

const buildAvailabilityTopic = (device: string) => `gridtide/${device}/availability`;

/** The retained `offline` that the broker publishes when the link dies. */
export const buildWill = ({ device }: Config): BrokerWill => ({
  topic: buildAvailabilityTopic(device),
  payload: 'offline',
});

/** The same for every start of one device, so that a second agent with its name is noticed. */
export const buildClientId = ({ device }: Config) => `gridtide-${device}`;

export function createMonitor({ config, broker, clock, random, log, version }: MonitorParts): Monitor {
  const base = `gridtide/${config.device}`;
  const areCommandsAccepted = config.mqtt !== undefined && acceptsCommands(config.mqtt);
  const outbox = createOutbox(broker);
  const publishRetained = (topic: string, document: object) =>
    outbox.setRetained(`${base}/${topic}`, JSON.stringify(document));
  let handlers: MonitorHandlers | undefined;
  let unwatch: Cancel | undefined;
  let haOnlineTimer: Cancel | undefined;
  let wasOnline = false;
  let hasRemovedOldEntities = false;

  const discovery = buildDiscovery(config, version, areCommandsAccepted);
  if (discovery !== undefined) outbox.setRetained(discovery.topic, discovery.payload);

  const onLinkState = ({ kind }: BrokerState): void => {
    const isOnline = kind === 'online';
    if (isOnline && !wasOnline) void onLinkUp();
    wasOnline = isOnline;
  };

  /** Everything held, then the ears, then `online`: whoever sees that may rely on the state and send commands. */
  const onLinkUp = async (): Promise<void> => {
    await removeOldEntities();
    if (!(await outbox.republish())) return;
    if (areCommandsAccepted) await subscribeToCommands();
    if (config.mqtt?.discovery !== undefined)
      await broker.subscribe(`${config.mqtt.discovery}/status`, receiveHaStatus, { wantsRetained: false });
    await publishOnline();
  };

  /** Entities of an earlier configuration leave Home Assistant; once, before the present ones are told. */
  const removeOldEntities = async (): Promise<void> => {
    if (discovery === undefined || hasRemovedOldEntities) return;
    hasRemovedOldEntities = true;
    let last: BrokerMessage | undefined;
    const receiveDiscovery = (message: BrokerMessage) => {
      if (message.retained) last = message;
    };
    await broker.subscribe(discovery.topic, receiveDiscovery, { wantsRetained: true });
    // The answer to the second comes after the stored message of the first.
    await broker.subscribe(discovery.topic, receiveDiscovery, { wantsRetained: true });
    const found = last as BrokerMessage | undefined;
    const removal = found === undefined ? undefined : buildRemovedEntities(found.payload, discovery);
    if (removal !== undefined) await broker.publish(removal.topic, removal.payload, { retain: true });
  };

  const publishOnline = () => broker.publish(buildAvailabilityTopic(config.device), 'online', { retain: true });

  const republishAll = async (): Promise<void> => {
    if (await outbox.republish()) await publishOnline();
  };

  const receiveHaStatus = ({ payload, retained }: BrokerMessage): void => {
    if (retained || new TextDecoder().decode(payload.subarray(0, 16)) !== 'online') return;
    haOnlineTimer?.();
    const wait = (random.fraction() * HA_ONLINE_SPREAD) as Duration;
    haOnlineTimer = clock.wakeAt(addDuration(clock.now().uptime, wait), 'home assistant', () => void republishAll());
  };

  const clearRetained = (topic: string) => void broker.publish(topic, '', { retain: true });
  const buildResultTopic = (load: string) => `loads/${load}/result`;
  const startingResult = { accepted: false, words: 'the agent is still starting; send it again in a moment' };

  const commandListeners = new Map(
    config.loads.map((load): [string, CommandListener] => [
      load.name,
      createCommandListener({
        load: load.name,
        limiter: createCommandLimiter(),
        parse: (payload, now) => parseCommand(payload, load, now),
        clock,
        log,
        publishAnswer: (document) => publishRetained(buildResultTopic(load.name), document),
        clearRetained,
        onCommand: (command) => handlers?.onCommand(load.name, command) ?? startingResult,
      }),
    ]),
  );

  /** Of all names that no load has: one gate, whatever they are called, and answers that leave nothing behind on the broker. */
  const unknownLoadLimiter = createCommandLimiter<object>();
  const createUnknownLoadListener = (name: string): CommandListener =>
    createCommandListener({
      load: name.slice(0, MAX_UNKNOWN_LOAD_NAME),
      limiter: unknownLoadLimiter,
      parse: (payload) => refuseUnknownLoad(payload, name, config),
      clock,
      log,
      publishAnswer: (document) =>
        void broker.publish(`${base}/${buildResultTopic(name)}`, JSON.stringify(document), { retain: false }),
      clearRetained,
      onCommand: () => startingResult,
    });

  const buildSetTopic = (load: string) => `${base}/loads/${load}/set`;
  const parseLoadName = (topic: string) => topic.slice(`${base}/loads/`.length, -'/set'.length);

  const subscribeToCommands = async (): Promise<void> => {
    // A command somebody left stored would meet every new listener: an empty retained message removes it.
    for (const { name } of config.loads) await broker.publish(buildSetTopic(name), '', { retain: true });
    const ignoreFor = broker.state.kind === 'online' && broker.state.version === 4 ? IGNORE_IN_VERSION_4 : seconds(0);
    const ignoreUntil = addDuration(clock.now().uptime, ignoreFor);
    const receiveCommand = (message: BrokerMessage) => {
      const name = parseLoadName(message.topic);
      (commandListeners.get(name) ?? createUnknownLoadListener(name))(message, ignoreUntil);
    };
    if (await broker.subscribe(buildSetTopic('+'), receiveCommand, { wantsRetained: false })) return;
    // A broker may let its user read the topics of the loads alone: then nobody hears of other names.
    for (const { name } of config.loads)
      await broker.subscribe(buildSetTopic(name), receiveCommand, { wantsRetained: false });
  };

  return {
    start(newHandlers) {
      handlers = newHandlers;
      if (unwatch !== undefined) return;
      unwatch = broker.watchState(onLinkState);
      onLinkState(broker.state);
    },
    publishSignal(view, words) {
      const { wall } = clock.now();
      const isValid = () => view.index === undefined || clock.now().wall < view.index.validUntil;
      outbox.setLive(`${base}/signal`, JSON.stringify(buildSignalPayload(view, words, wall)), isValid);
    },
    publishDecision: (decision, words) => publishRetained(`loads/${decision.load}`, buildLoadPayload(decision, words)),
    publishHealth: (health) => publishRetained('health', buildHealthPayload(health)),
    publishInfo: (info) => publishRetained('info', buildInfoPayload(info, config, version)),
    async stop() {
      haOnlineTimer?.();
      unwatch?.();
      await broker.stop(buildWill(config));
    },
  };
}
