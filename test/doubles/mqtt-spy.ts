/** A second client on the broker, as the owner's tools are: hears what is published and can publish itself. */

import { connectAsync, type IClientOptions } from 'mqtt';

export interface Heard {
  readonly topic: string;
  readonly text: string;
  /** Set on messages that were stored before the spy came. */
  readonly retained: boolean;
}

export interface Spy {
  readonly heard: readonly Heard[];
  /** The first message, of those heard already or to come, that `wanted` says yes to. */
  until(wanted: (message: Heard) => boolean): Promise<Heard>;
  /** The last text of a topic. */
  last(topic: string): string | undefined;
  publish(
    topic: string,
    payload: string | Buffer,
    options?: { readonly retain?: boolean; readonly qos?: 0 | 1 },
  ): Promise<void>;
  /** Called with each message from now on. */
  each(hear: (message: Heard) => void): void;
  /** Forgets what was heard. */
  clear(): void;
  stop(): Promise<void>;
}

export async function startSpy(
  url: string,
  options: IClientOptions = {},
  topics: readonly string[] = ['#'],
): Promise<Spy> {
  const client = await connectAsync(url, { protocolVersion: 4, reconnectPeriod: 200, ...options });
  client.on('error', () => {});
  const heard: Heard[] = [];
  const waiting = new Set<(message: Heard) => void>();
  client.on('message', (topic, payload, { retain }) => {
    const message = { topic, text: payload.toString(), retained: retain };
    heard.push(message);
    for (const look of [...waiting]) look(message);
  });
  for (const topic of topics) await client.subscribeAsync(topic, { qos: 1 });
  return {
    heard,
    until(wanted) {
      const known = heard.find(wanted);
      if (known !== undefined) return Promise.resolve(known);
      return new Promise((resolve) => {
        const look = (message: Heard) => {
          if (!wanted(message)) return;
          waiting.delete(look);
          resolve(message);
        };
        waiting.add(look);
      });
    },
    last: (topic) => heard.findLast((message) => message.topic === topic)?.text,
    async publish(topic, payload, { retain = false, qos = 1 } = {}) {
      await client.publishAsync(topic, payload, { retain, qos });
    },
    each: (hear) => void waiting.add(hear),
    clear: () => void heard.splice(0),
    stop: () => client.endAsync(true),
  };
}
