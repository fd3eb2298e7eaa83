/** Subscribes to the command topics of all loads and forwards each message to the listener of its load. */

import type { Config } from '../config/config.ts';
import { listMqttDevices } from '../domain/levels.ts';
import type { Broker, BrokerMessage, Clock, Log } from '../domain/ports.ts';
import { addDuration, seconds } from '../domain/units.ts';
import { createCommandLimiter } from './command-limiter.ts';
import { type CommandListener, type CommandResult, createCommandListener } from './command-listener.ts';
import { parseCommand, type RemoteCommand, refuseUnknownLoad } from './parse-command.ts';
import { buildTopics, OWN_ROOTS } from './topics.ts';

/** Of a name on the wire, which may be as long as a topic. */
const MAX_UNKNOWN_LOAD_NAME = 40;
/** Version 4 does not distinguish a stored command from a live one: right after subscribing each is refused. */
const IGNORE_IN_VERSION_4 = seconds(1);

export type CommandHandler = (load: string, command: RemoteCommand) => Promise<CommandResult>;

export interface CommandIntakeParts {
  readonly config: Config;
  readonly broker: Broker;
  readonly clock: Clock;
  readonly log: Log;
  readonly onCommand: CommandHandler;
}

export interface CommandIntake {
  /** After each start of the link. */
  subscribe(): Promise<void>;
}

/** Who may only ask must not make the agent write to its own topics, to a device or to Home Assistant. */
function createResponseTopicCheck({ loads, mqtt }: Config): (topic: string) => boolean {
  const reserved = [...OWN_ROOTS, ...(mqtt?.discovery === undefined ? [] : [mqtt.discovery]), '$SYS'];
  const commandTopics = loads.flatMap(({ output }) => listMqttDevices(output).map((device) => device.commandTopic));
  return (topic) => !commandTopics.includes(topic) && !reserved.some((root) => `${topic}/`.startsWith(`${root}/`));
}

export function createCommandIntake({ config, broker, clock, log, onCommand }: CommandIntakeParts): CommandIntake {
  const topics = buildTopics(config);
  const mayAnswerOn = createResponseTopicCheck(config);
  const publishAnswer = (load: string) => (document: object, to: BrokerMessage) => {
    const { responseTopic, correlation } = to;
    const payload = JSON.stringify(document);
    void broker.publish(topics.result(load), payload, { retain: false });
    if (responseTopic !== undefined && mayAnswerOn(responseTopic))
      void broker.publish(responseTopic, payload, { retain: false, ...(correlation && { correlation }) });
  };
  const clearRetained = (topic: string) => void broker.publish(topic, '', { retain: true });

  const listeners = new Map(
    config.loads.map((load): [string, CommandListener] => [
      load.name,
      createCommandListener({
        load: load.name,
        limiter: createCommandLimiter(),
        parse: (payload, now) => parseCommand(payload, load, now),
        clock,
        log,
        publishAnswer: publishAnswer(load.name),
        clearRetained,
        onCommand: (command) => onCommand(load.name, command),
      }),
    ]),
  );

  /** One limiter for all names that no load has. */
  const unknownLoadLimiter = createCommandLimiter<object>();
  const createUnknownLoadListener = (name: string): CommandListener =>
    createCommandListener({
      load: name.slice(0, MAX_UNKNOWN_LOAD_NAME),
      limiter: unknownLoadLimiter,
      parse: (payload) => refuseUnknownLoad(payload, name, config),
      clock,
      log,
      publishAnswer: publishAnswer(name),
      clearRetained,
      onCommand: (command) => onCommand(name, command),
    });

  return {
    async subscribe() {
      // A command that somebody left stored would reach every new subscriber: an empty retained message removes it.
      for (const { name } of config.loads) await broker.publish(topics.command(name), '', { retain: true });
      const isVersion4 = broker.state.kind === 'online' && broker.state.version === 4;
      const ignoreUntil = addDuration(clock.now().uptime, isVersion4 ? IGNORE_IN_VERSION_4 : seconds(0));
      const receiveCommand = (message: BrokerMessage) => {
        const name = topics.parseCommandLoad(message.topic);
        (listeners.get(name) ?? createUnknownLoadListener(name))(message, ignoreUntil);
      };
      if (await broker.subscribe(topics.command('+'), receiveCommand, { wantsRetained: false })) return;
      // A broker may let its user read the topics of the loads alone: then commands to other names get no answer.
      for (const { name } of config.loads)
        await broker.subscribe(topics.command(name), receiveCommand, { wantsRetained: false });
    },
  };
}
