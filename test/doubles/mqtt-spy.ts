/** A second client on the broker, as the owner's tools are: hears what is published and can publish itself. */

import { connectAsync, type IClientOptions } from 'mqtt';

export interface SpiedMessage {
  readonly topic: string;
  readonly text: string;
  /** Set on messages that were stored before the spy came. */
  readonly retained: boolean;
}

export interface MqttSpy {
  readonly messages: readonly SpiedMessage[];
  /** The first message, of those heard already or to come, that `wanted` says yes to. */
  waitFor(wanted: (message: SpiedMessage) => boolean): Promise<SpiedMessage>;
  /** The last text of a topic. */
  lastText(topic: string): string | undefined;
  publish(
    topic: string,
    payload: string | Buffer,
    options?: { readonly retain?: boolean; readonly qos?: 0 | 1 },
  ): Promise<void>;
  /** Called with each message from now on. */
  onMessage(hear: (message: SpiedMessage) => void): void;
  /** Forgets what was heard. */
  clear(): void;
  stop(): Promise<void>;
}

export async function startMqttSpy(
  url: string,
  options: IClientOptions = {},
  topics: readonly string[] = ['#'],
): Promise<MqttSpy> {
  const client = await connectAsync(url, { protocolVersion: 4, reconnectPeriod: 200, ...options });
  client.on('error', () => {});
  const messages: SpiedMessage[] = [];
  const waiting = new Set<(message: SpiedMessage) => void>();
  client.on('message', (topic, payload, { retain }) => {
    const message = { topic, text: payload.toString(), retained: retain };
    messages.push(message);
    for (const checkMessage of [...waiting]) checkMessage(message);
  });
  for (const topic of topics) await client.subscribeAsync(topic, { qos: 1 });
  return {
    messages,
    waitFor(wanted) {
      const known = messages.find(wanted);
      if (known !== undefined) return Promise.resolve(known);
      return new Promise((resolve) => {
        const look = (message: SpiedMessage) => {
          if (!wanted(message)) return;
          waiting.delete(look);
          resolve(message);
        };
        waiting.add(look);
      });
    },
    lastText: (topic) => messages.findLast((message) => message.topic === topic)?.text,
    async publish(topic, payload, { retain = false, qos = 1 } = {}) {
      await client.publishAsync(topic, payload, { retain, qos });
    },
    onMessage: (hear) => void waiting.add(hear),
    clear: () => void messages.splice(0),
    stop: () => client.endAsync(true),
  };
}
