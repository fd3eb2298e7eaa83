/** Tells the broker what the agent knows and does, and takes commands from it; decides nothing about loads. */

import type { Config } from '../config/config.ts';
import type { Decision } from '../control/control.ts';
import type { SignalView } from '../signal/view.ts';
import { after, type Duration, seconds } from '../units.ts';
import type { Broker, BrokerMessage, BrokerState, BrokerWill, Cancel, Clock, Log, Random } from '../world.ts';
import { type CommandEar, type CommandResult, createCommandEar } from './command-ear.ts';
import { createCommandGate } from './command-gate.ts';
import { type RemoteCommand, readCommand, readForNobody, takesCommands } from './commands-in.ts';
import { discoveryOf, farewell } from './discovery.ts';
import { type Info, infoJson, loadJson, signalJson } from './documents.ts';
import { type Health, healthJson } from './health.ts';
import { createOutbox } from './outbox.ts';

export type { Info } from './documents.ts';

/** Many devices hear Home Assistant's birth at once: each waits a moment of its own. */
const BIRTH_SPREAD = seconds(3);
/** Of a name on the wire, which may be as long as a topic. */
const LONGEST_NAME_TOLD = 40;
/** Version 4 does not tell a live retained command from a plain one; right after subscribing nothing is believed. */
const DEAF_IN_VERSION_4 = seconds(1);

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
  command(load: string, command: RemoteCommand): CommandResult;
}

export interface Monitor {
  /** From here on the device is shown as online and takes commands, whenever there is a link. */
  start(handlers: MonitorHandlers): void;
  signal(view: SignalView, words: string): void;
  decision(decision: Decision, words: string): void;
  health(health: Health): void;
  info(info: Info): void;
  /** Says offline and leaves. May be called twice. */
  stop(): Promise<void>;
}

const availabilityOf = (device: string) => `gridtide/${device}/availability`;

/** The retained `offline` that the broker publishes when the link dies. */
export const willOf = ({ device }: Config): BrokerWill => ({ topic: availabilityOf(device), payload: 'offline' });

/** The same for every start of one device, so that a second agent with its name is noticed. */
export const clientIdOf = ({ device }: Config) => `gridtide-${device}`;

export function createMonitor({ config, broker, clock, random, log, version }: MonitorParts): Monitor {
  const base = `gridtide/${config.device}`;
  const commands = config.mqtt !== undefined && takesCommands(config.mqtt);
  const outbox = createOutbox(broker);
  const told = (topic: string, document: object) => outbox.hold(`${base}/${topic}`, JSON.stringify(document));
  let handlers: MonitorHandlers | undefined;
  let unwatch: Cancel | undefined;
  let birth: Cancel | undefined;
  let wasOnline = false;
  let wasLookedAt = false;

  const discovery = discoveryOf(config, version, commands);
  if (discovery !== undefined) outbox.hold(discovery.topic, discovery.payload);

  const linkChanged = ({ kind }: BrokerState): void => {
    const isOnline = kind === 'online';
    if (isOnline && !wasOnline) void arrive();
    wasOnline = isOnline;
  };

  /** Everything held, then the ears, then `online`: whoever sees that may rely on the state and send commands. */
  const arrive = async (): Promise<void> => {
    await removeGone();
    if (!(await outbox.republish())) return;
    if (commands) await listen();
    if (config.mqtt?.discovery !== undefined)
      await broker.subscribe(`${config.mqtt.discovery}/status`, hearBirth, { stored: false });
    await sayOnline();
  };

  /** Entities of an earlier configuration leave Home Assistant; once, before the present ones are told. */
  const removeGone = async (): Promise<void> => {
    if (discovery === undefined || wasLookedAt) return;
    wasLookedAt = true;
    let last: BrokerMessage | undefined;
    const hear = (message: BrokerMessage) => {
      if (message.retained) last = message;
    };
    await broker.subscribe(discovery.topic, hear, { stored: true });
    // The answer to the second comes after the stored message of the first.
    await broker.subscribe(discovery.topic, hear, { stored: true });
    const found = last as BrokerMessage | undefined;
    const goodbye = found === undefined ? undefined : farewell(found.payload, discovery);
    if (goodbye !== undefined) await broker.publish(goodbye.topic, goodbye.payload, { retain: true });
  };

  const sayOnline = () => broker.publish(availabilityOf(config.device), 'online', { retain: true });

  const tellAgain = async (): Promise<void> => {
    if (await outbox.republish()) await sayOnline();
  };

  const hearBirth = ({ payload, retained }: BrokerMessage): void => {
    if (retained || new TextDecoder().decode(payload.subarray(0, 16)) !== 'online') return;
    birth?.();
    const wait = (random.fraction() * BIRTH_SPREAD) as Duration;
    birth = clock.wakeAt(after(clock.now().uptime, wait), 'home assistant', () => void tellAgain());
  };

  const forget = (topic: string) => void broker.publish(topic, '', { retain: true });
  const resultTopic = (load: string) => `loads/${load}/result`;
  const starting = { accepted: false, words: 'the agent is still starting; send it again in a moment' };

  const ears = new Map(
    config.loads.map((load): [string, CommandEar] => [
      load.name,
      createCommandEar({
        name: load.name,
        gate: createCommandGate(),
        read: (payload, now) => readCommand(payload, load, now),
        clock,
        log,
        answer: (document) => told(resultTopic(load.name), document),
        forget,
        command: (command) => handlers?.command(load.name, command) ?? starting,
      }),
    ]),
  );

  /** Of all names that no load has: one gate, whatever they are called, and answers that leave nothing behind on the broker. */
  const nobodysGate = createCommandGate<object>();
  const nobodysEar = (name: string): CommandEar =>
    createCommandEar({
      name: name.slice(0, LONGEST_NAME_TOLD),
      gate: nobodysGate,
      read: (payload) => readForNobody(payload, name, config),
      clock,
      log,
      answer: (document) =>
        void broker.publish(`${base}/${resultTopic(name)}`, JSON.stringify(document), { retain: false }),
      forget,
      command: () => starting,
    });

  const setTopic = (load: string) => `${base}/loads/${load}/set`;
  const loadIn = (topic: string) => topic.slice(`${base}/loads/`.length, -'/set'.length);

  const listen = async (): Promise<void> => {
    // A command somebody left stored would meet every new listener: an empty retained message removes it.
    for (const { name } of config.loads) await broker.publish(setTopic(name), '', { retain: true });
    const from = broker.state.kind === 'online' && broker.state.version === 4 ? DEAF_IN_VERSION_4 : seconds(0);
    const deafUntil = after(clock.now().uptime, from);
    const hear = (message: BrokerMessage) => {
      const name = loadIn(message.topic);
      (ears.get(name) ?? nobodysEar(name))(message, deafUntil);
    };
    if (await broker.subscribe(setTopic('+'), hear, { stored: false })) return;
    // A broker may let its user read the topics of the loads alone: then nobody hears of other names.
    for (const { name } of config.loads) await broker.subscribe(setTopic(name), hear, { stored: false });
  };

  return {
    start(given) {
      handlers = given;
      if (unwatch !== undefined) return;
      unwatch = broker.watch(linkChanged);
      linkChanged(broker.state);
    },
    signal(view, words) {
      const { wall } = clock.now();
      const isValid = () => view.index === undefined || clock.now().wall < view.index.validUntil;
      outbox.pass(`${base}/signal`, JSON.stringify(signalJson(view, words, wall)), isValid);
    },
    decision: (decision, words) => told(`loads/${decision.load}`, loadJson(decision, words)),
    health: (health) => told('health', healthJson(health)),
    info: (info) => told('info', infoJson(info, config, version)),
    async stop() {
      birth?.();
      unwatch?.();
      await broker.stop(willOf(config));
    },
  };
}
