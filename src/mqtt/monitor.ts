/** Publishes the agent's state to the broker and forwards the commands that arrive there. */

import type { Config } from '../config/config.ts';
import type { Decision } from '../control/control-types.ts';
import type { Broker, BrokerMessage, BrokerState, Cancel, Clock, Log, Random } from '../domain/ports.ts';
import { addDuration, type Duration, seconds } from '../domain/units.ts';
import type { DeviceStatus } from '../outputs/output.ts';
import type { SignalView } from '../signal/signal-view.ts';
import { type CommandHandler, createCommandIntake } from './command-intake.ts';
import { buildHealthPayload, type Health } from './health.ts';
import { buildDiscovery, buildRemovedEntities, type DiscoveryMessage } from './home-assistant.ts';
import { createOutbox } from './outbox.ts';
import { acceptsCommands } from './parse-command.ts';
import { buildInfoPayload, buildLoadPayload, buildSignalPayload, type Info } from './payloads.ts';
import { buildTopics, buildWill } from './topics.ts';

/** Many devices receive Home Assistant's birth message at once: each waits a moment of its own. */
const HA_ONLINE_SPREAD = seconds(3);

export interface MonitorParts {
  readonly config: Config;
  readonly broker: Broker;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly version: string;
}

export interface MonitorHandlers {
  /** Called with a command that is well formed, fresh, new and for a load of the configuration. */
  readonly onCommand: CommandHandler;
}

export interface Monitor {
  /** From here on the device is shown as online and takes commands, whenever there is a link. */
  start(handlers: MonitorHandlers): void;
  publishSignal(view: SignalView, text: string): void;
  publishDecision(decision: Decision, text: string): void;
  /** What is known of the load's device; published with its next decision too. */
  publishDeviceStatus(load: string, status: DeviceStatus): void;
  publishHealth(health: Health): void;
  publishInfo(info: Info): void;
  /** Publishes `offline` and leaves. May be called twice. */
  stop(): Promise<void>;
}

export function createMonitor({ config, broker, clock, random, log, version }: MonitorParts): Monitor {
  const topics = buildTopics(config);
  const takesCommands = config.mqtt !== undefined && acceptsCommands(config.mqtt);
  const outbox = createOutbox(broker);
  const publishRetained = (topic: string, document: object) => outbox.setRetained(topic, JSON.stringify(document));
  const loadDocuments = createLoadDocuments((load, document) => publishRetained(topics.load(load), document));
  let handlers: MonitorHandlers | undefined;
  let unwatch: Cancel | undefined;
  let haOnlineTimer: Cancel | undefined;
  let hasRemovedOldEntities = false;

  const discovery = buildDiscovery(config, version, takesCommands);
  if (discovery !== undefined) outbox.setRetained(discovery.topic, discovery.payload);
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

  /** All documents, then the subscriptions, then `online`: whoever sees that may rely on the state and send commands. */
  const onLinkUp = async (): Promise<void> => {
    if (discovery !== undefined && !hasRemovedOldEntities) {
      hasRemovedOldEntities = true;
      await removeOldEntities(broker, discovery);
    }
    if (!(await outbox.republish())) return;
    if (takesCommands) await commandIntake.subscribe();
    if (config.mqtt?.discovery !== undefined)
      await broker.subscribe(`${config.mqtt.discovery}/status`, receiveHaStatus, { wantsRetained: false });
    await publishOnline();
  };

  return {
    start(newHandlers) {
      handlers = newHandlers;
      unwatch ??= watchLinkUp(broker, () => void onLinkUp());
    },
    publishSignal(view, text) {
      const { wall } = clock.now();
      const isValid = () => view.index === undefined || clock.now().wall < view.index.validUntil;
      outbox.setLive(topics.signal, JSON.stringify(buildSignalPayload(view, text, wall)), isValid);
    },
    publishDecision: loadDocuments.setDecision,
    publishDeviceStatus: loadDocuments.setStatus,
    publishHealth: (health) => publishRetained(topics.health, buildHealthPayload(health)),
    publishInfo: (info) => publishRetained(topics.info, buildInfoPayload(info, config, version)),
    async stop() {
      haOnlineTimer?.();
      unwatch?.();
      await broker.stop(buildWill(config));
    },
  };
}

const STARTING = { accepted: false, text: 'the agent is still starting; send it again in a moment' };

/** The document of each load, from its last decision and the last status of its device. */
function createLoadDocuments(publish: (load: string, document: object) => void) {
  const decisions = new Map<string, { readonly decision: Decision; readonly text: string }>();
  const statuses = new Map<string, DeviceStatus>();
  const publishLoad = (load: string): void => {
    const found = decisions.get(load);
    if (found !== undefined) publish(load, buildLoadPayload(found.decision, found.text, statuses.get(load)));
  };
  return {
    setDecision(decision: Decision, text: string): void {
      decisions.set(decision.load, { decision, text });
      publishLoad(decision.load);
    },
    setStatus(load: string, status: DeviceStatus): void {
      statuses.set(load, status);
      publishLoad(load);
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

/** Takes the entities of an earlier configuration out of Home Assistant, before the present ones are published. */
async function removeOldEntities(broker: Broker, discovery: DiscoveryMessage): Promise<void> {
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
}
