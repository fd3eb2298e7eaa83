/** A short link to the configured broker for a command: reads what is stored, sends one message, leaves no trace in the agent's tree. */

import { brokerSecrets } from '../agent/broker-secrets.ts';
import type { Located } from '../config/sources.ts';
import { clientIdOf } from '../monitor/monitor.ts';
import { createBrokers } from '../platform/broker.ts';
import { createSystemClock } from '../platform/clock.ts';
import { createSystemRandom } from '../platform/random.ts';
import { createSecrets } from '../platform/secrets.ts';
import { after, seconds } from '../units.ts';
import type { Broker } from '../world.ts';
import type { Terminal } from './command.ts';

export interface BrokerLink {
  readonly broker: Broker;
  /** The stored message of an exact topic, or undefined when there is none. */
  stored(topic: string): Promise<string | undefined>;
  close(): Promise<void>;
}

const ANSWERS_WITHIN = seconds(10);
const MOST_BYTES = 65_536;

/** A sentence when the broker does not let us in. `purpose` tells this link from the agent's and from others. */
export async function linkToBroker(
  config: Located,
  env: Terminal['env'],
  { purpose, stop }: { readonly purpose: string; readonly stop: AbortSignal },
): Promise<BrokerLink | string> {
  const { mqtt } = config;
  if (mqtt === undefined) return 'no broker is configured: add mqtt.url';
  const clock = createSystemClock();
  const random = createSystemRandom();
  const unique = Math.floor(random.fraction() * 2 ** 32).toString(36);
  const broker = createBrokers({ clock, random })({
    url: mqtt.url,
    clientId: `${clientIdOf(config)}-${purpose}-${unique}`,
    ...brokerSecrets(config, createSecrets({ credentials: env.CREDENTIALS_DIRECTORY })),
  });
  const trouble = await new Promise<string | undefined>((resolve) => {
    const done = (words?: string) => {
      forget();
      late();
      stop.removeEventListener('abort', stopped);
      resolve(words);
    };
    const stopped = () => done('stopped before the broker answered');
    const forget = broker.watch((state) => {
      if (state.kind === 'online') done();
      else if (state.kind === 'offline') done(state.cause);
    });
    const late = clock.wakeAt(after(clock.now().uptime, ANSWERS_WITHIN), 'broker', () =>
      done(`the broker at ${mqtt.url} takes the connection and says nothing: is it an MQTT broker?`),
    );
    stop.addEventListener('abort', stopped, { once: true });
    broker.start();
    if (stop.aborted) stopped();
  });
  if (trouble !== undefined) {
    await broker.stop();
    return trouble;
  }
  return {
    broker,
    async stored(topic) {
      let text: string | undefined;
      const hear = ({ payload }: { readonly payload: Uint8Array }) => {
        if (payload.byteLength > 0 && payload.byteLength <= MOST_BYTES) text = new TextDecoder().decode(payload);
      };
      await broker.subscribe(topic, hear, { stored: true });
      // The broker answers a second subscription after it has sent what the first one asked for.
      await broker.subscribe(topic, () => {}, { stored: true });
      return text;
    },
    close: () => broker.stop(),
  };
}
