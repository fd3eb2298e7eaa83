/** The link to the MQTT broker and its monitor; without a broker in the configuration the monitor is silent. */

import type { Broker, BrokerWill } from '../domain/ports.ts';
import { formatBrokerProblem } from '../mqtt/health.ts';
import { createMonitor, type Monitor } from '../mqtt/monitor.ts';
import { buildClientId, buildWill } from '../mqtt/topics.ts';
import type { AgentContext } from './agent-context.ts';
import { createBrokerCredentials } from './broker-credentials.ts';
import type { DocumentStore } from './document-store.ts';
import { eraseEarlierName } from './earlier-name.ts';

export interface MonitorLink {
  readonly broker: Broker | undefined;
  readonly monitor: Monitor;
  /** Connects in the background. `monitor.stop` leaves the broker. */
  start(): void;
}

const SILENT_MONITOR: Monitor = {
  start() {},
  publishSignal() {},
  publishDecision() {},
  publishDeviceStatus() {},
  publishControl() {},
  publishForecast() {},
  publishHistory() {},
  publishPrices() {},
  publishTotals() {},
  publishCounters() {},
  publishHealth() {},
  publishInfo() {},
  async stop() {},
};

/** A link of its own for each MQTT device, whose last will releases the device should this program die. */
export const createReleaseBrokers =
  ({ config, world }: AgentContext) =>
  (load: string, will: BrokerWill): Broker =>
    world.broker({
      url: config.mqtt?.url ?? '',
      clientId: `${buildClientId(config)}-release-${load}`,
      will,
      ...createBrokerCredentials(config, world.secrets),
    });

/** A link of its own for the time in which the map of a relay is read. */
export const createMapLink = ({ config, world }: Pick<AgentContext, 'config' | 'world'>): Broker =>
  world.broker({
    url: config.mqtt?.url ?? '',
    clientId: `${buildClientId(config)}-map`,
    ...createBrokerCredentials(config, world.secrets),
  });

export function createMonitorLink(context: AgentContext, store: DocumentStore): MonitorLink {
  const { config, world, clock, log, problems, version } = context;
  if (config.mqtt === undefined) return { broker: undefined, monitor: SILENT_MONITOR, start() {} };
  const broker = world.broker({
    url: config.mqtt.url,
    clientId: buildClientId(config),
    will: buildWill(config),
    ...createBrokerCredentials(config, world.secrets),
  });
  return {
    broker,
    monitor: createMonitor({
      ...{ config, broker, clock, random: world.random, log, version },
      eraseEarlierName: () => eraseEarlierName(context, store, broker),
    }),
    start() {
      broker.watchState((state) => {
        const problem = formatBrokerProblem(state);
        if (problem !== undefined) problems.raise('broker', problem);
        else if (state.kind === 'online') problems.resolve('broker');
      });
      broker.start();
    },
  };
}
