/** An accepted link to a broker: publishes, subscribes and delivers messages until it ends. */

import { setMaxListeners } from 'node:events';
import type { IClientPublishOptions, IPublishPacket, MqttClient } from 'mqtt';
import { waitAbortable } from '../domain/abortable-wait.ts';
import type { BrokerMessage, Clock, PublishOptions, SubscriptionOptions } from '../domain/ports.ts';
import { seconds, type Uptime } from '../domain/units.ts';
import { getMqttErrorCode, type MqttVersion } from './mqtt-client.ts';
import { isTopic, isTopicFilter, matchesFilter } from './mqtt-topics.ts';

const ANSWER_TIMEOUT = seconds(10);

type Receive = (message: BrokerMessage) => void;

export interface MqttLink {
  readonly client: MqttClient;
  readonly since: Uptime;
  /** True once the broker has accepted it. */
  publish(topic: string, payload: string | Uint8Array, options: PublishOptions): Promise<boolean>;
  subscribe(filter: string, receive: Receive, options: SubscriptionOptions): Promise<boolean>;
  /** True once the broker has answered a ping of now. */
  ping(): Promise<boolean>;
  /** The link has ended: pending requests get no answer. */
  end(): void;
}

export interface MqttLinkParts {
  readonly client: MqttClient;
  readonly clock: Clock;
  readonly version: MqttVersion;
}

function toBrokerMessage(topic: string, payload: Uint8Array, packet: IPublishPacket): BrokerMessage {
  const { retain, dup, properties: { responseTopic, correlationData } = {} } = packet;
  return {
    topic,
    payload,
    retained: retain === true,
    duplicate: dup === true,
    ...(responseTopic === undefined ? {} : { responseTopic }),
    ...(correlationData === undefined ? {} : { correlation: correlationData }),
  };
}

/** Version 4 knows no expiry: a message that must not outlive it is not stored then. */
function toPublishOptions(options: PublishOptions, version: MqttVersion): IClientPublishOptions {
  const { retain, expiresSeconds, correlation } = options;
  if (version === 4) return { qos: 1, retain: retain && expiresSeconds === undefined };
  const properties = {
    ...(expiresSeconds === undefined ? {} : { messageExpiryInterval: expiresSeconds }),
    ...(correlation === undefined ? {} : { correlationData: Buffer.from(correlation) }),
  };
  return { qos: 1, retain, ...(Object.keys(properties).length === 0 ? {} : { properties }) };
}

export function createMqttLink(parts: MqttLinkParts, onDenied: (action: string) => void): MqttLink {
  const { client, clock, version } = parts;
  const receivers = new Map<string, Set<Receive>>();
  const ended = new AbortController();
  // Each answer that is awaited listens; a house has many.
  setMaxListeners(0, ended.signal);
  client.on('message', (topic, payload, packet) => {
    const message = toBrokerMessage(topic, payload, packet);
    const matching = [...receivers].filter(([filter]) => matchesFilter(filter, topic));
    for (const [, all] of matching) for (const receive of all) receive(message);
  });

  const sendPing = createPingSender(client);

  /** Whether the broker agrees in time; a refusal of version 5 is reported as denied. */
  const awaitAgreement = async (action: string, send: (done: (error?: Error | null) => void) => void) => {
    const request = { clock, wait: ANSWER_TIMEOUT, name: `broker ${action}`, signal: ended.signal };
    const answer = await waitAbortable<Error | 'agreed'>(request, (finish) =>
      send((error) => finish(error ?? 'agreed')),
    );
    const code = answer instanceof Error ? getMqttErrorCode(answer) : undefined;
    if (typeof code === 'number' && code >= 128 && !ended.signal.aborted) onDenied(action);
    return answer === 'agreed';
  };

  return {
    client,
    since: clock.now().uptime,
    async publish(topic, payload, options) {
      if (!isTopic(topic)) return false;
      const message = toPublishOptions(options, version);
      return awaitAgreement(`publishing ${topic}`, (done) =>
        client.publish(topic, typeof payload === 'string' ? payload : Buffer.from(payload), message, done),
      );
    },
    async subscribe(filter, receive, { wantsRetained, allowsLoss = false }) {
      if (!isTopicFilter(filter)) return false;
      receivers.set(filter, new Set([...(receivers.get(filter) ?? []), receive]));
      // MQTT 5 section 3.8.3.1: retain handling 2 sends no stored message, retain as published marks live ones.
      const subscription = {
        [filter]: { qos: allowsLoss ? (0 as const) : (1 as const), rap: !wantsRetained, rh: wantsRetained ? 0 : 2 },
      };
      const isAccepted = await awaitAgreement(`reading ${filter}`, (done) => client.subscribe(subscription, done));
      if (!isAccepted) receivers.get(filter)?.delete(receive);
      return isAccepted;
    },
    async ping() {
      const request = { clock, wait: ANSWER_TIMEOUT, name: 'broker answer', signal: ended.signal };
      return (await waitAbortable<'answered'>(request, (finish) => sendPing(() => finish('answered')))) === 'answered';
    },
    end: () => ended.abort(),
  };
}

/** Sends a ping and calls back with its answer; the broker answers in order, also those that keep the link alive. */
function createPingSender(client: MqttClient): (onAnswer: () => void) => void {
  const unanswered: (() => void)[] = [];
  let onNextAnswer = () => {};
  client.on('packetsend', ({ cmd }) => {
    if (cmd === 'pingreq') unanswered.push(onNextAnswer);
  });
  client.on('packetreceive', ({ cmd }) => {
    if (cmd === 'pingresp') unanswered.shift()?.();
  });
  return (onAnswer) => {
    onNextAnswer = onAnswer;
    client.sendPing();
    onNextAnswer = () => {};
  };
}
