/** A short connection of a command to the configured broker. */

import { createBrokerCredentials } from '../../agent/broker-credentials.ts';
import type { LocatedConfig } from '../../config/config-paths.ts';
import { waitAbortable } from '../../domain/abortable-wait.ts';
import type { Broker, BrokerNames, BrokerOptions, BrokerState, Cancel } from '../../domain/ports.ts';
import { seconds } from '../../domain/units.ts';
import { buildClientId } from '../../mqtt/topics.ts';
import { createBrokerFactory } from '../../platform/mqtt-broker.ts';
import { createSystemRandom } from '../../platform/random.ts';
import { createSecrets } from '../../platform/secret-files.ts';
import { createSystemClock } from '../../platform/system-clock.ts';
import type { Terminal } from '../shared/command.ts';

export interface BrokerLink {
  readonly broker: Broker;
  /** The retained message of a topic, or undefined when there is none. */
  readRetained(topic: string): Promise<string | undefined>;
  close(): Promise<void>;
}

const CONNECT_TIMEOUT = seconds(10);
const MAX_PAYLOAD_BYTES = 65_536;

/** A link that connects once it is started, and again and again; undefined where no broker is configured. */
export function createUnstartedBroker(
  config: LocatedConfig,
  env: Terminal['env'],
  { purpose, names }: { readonly purpose: string; readonly names: BrokerNames },
): Broker | undefined {
  const { mqtt } = config;
  if (mqtt === undefined) return undefined;
  const secrets = createSecrets({ credentials: env.CREDENTIALS_DIRECTORY });
  const { url } = mqtt;
  return createNamedBroker({
    ...{ url, clientId: `${buildClientId(config)}-${purpose}`, names },
    ...createBrokerCredentials({ mqtt }, secrets),
  });
}

/** The client id gets an end of its own, so that it pushes no other client out. */
export function createNamedBroker(options: BrokerOptions): Broker {
  const random = createSystemRandom();
  const unique = Math.floor(random.fraction() * 2 ** 32).toString(36);
  const factory = createBrokerFactory({ clock: createSystemClock(), random });
  return factory({ ...options, clientId: `${options.clientId}-${unique}` });
}

/** A sentence when the broker refuses the connection. `purpose` makes the client id differ from the agent's and from other commands'. */
export async function openBrokerLink(
  config: LocatedConfig,
  env: Terminal['env'],
  { purpose, stop }: { readonly purpose: string; readonly stop: AbortSignal },
): Promise<BrokerLink | string> {
  const { mqtt } = config;
  if (mqtt === undefined) return 'no broker is configured: add mqtt.url';
  const { url } = mqtt;
  const secrets = createSecrets({ credentials: env.CREDENTIALS_DIRECTORY });
  return connectBroker(
    { url, clientId: `${buildClientId(config)}-${purpose}`, ...createBrokerCredentials({ mqtt }, secrets) },
    stop,
  );
}

/** A sentence when the broker refuses the connection. */
export async function connectBroker(options: BrokerOptions, stop: AbortSignal): Promise<BrokerLink | string> {
  const { url } = options;
  const clock = createSystemClock();
  const broker = createNamedBroker(options);
  let stopWatching: Cancel = () => {};
  const request = { clock, wait: CONNECT_TIMEOUT, name: 'broker', signal: stop };
  const answer = await waitAbortable<Extract<BrokerState, { kind: 'online' | 'offline' }>>(request, (finish) => {
    stopWatching = broker.watchState((state) => {
      if (state.kind === 'online' || state.kind === 'offline') finish(state);
    });
    broker.start();
  });
  stopWatching();
  if (typeof answer === 'string' || answer.kind === 'offline') {
    await broker.stop();
    if (answer === 'aborted') return 'stopped before the broker answered';
    return answer === 'late'
      ? `the broker at ${url} accepts the connection and sends nothing: is it an MQTT broker?`
      : answer.cause;
  }
  return {
    broker,
    async readRetained(topic) {
      let text: string | undefined;
      const onMessage = ({ payload }: { readonly payload: Uint8Array }) => {
        if (payload.byteLength > 0 && payload.byteLength <= MAX_PAYLOAD_BYTES) text = new TextDecoder().decode(payload);
      };
      await broker.subscribe(topic, onMessage, { wantsRetained: true });
      // The broker acknowledges a second subscription after it has sent the retained message of the first.
      await broker.subscribe(topic, () => {}, { wantsRetained: true });
      return text;
    },
    close: () => broker.stop(),
  };
}
