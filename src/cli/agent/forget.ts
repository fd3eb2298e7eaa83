/** `gridtide forget`: erases what an agent has left at the broker: its retained topics, its claims of devices and its Home Assistant entities. */

import type { LocatedConfig } from '../../config/config-paths.ts';
import { listMqttDevices } from '../../domain/levels.ts';
import type { Broker, BrokerMessage } from '../../domain/ports.ts';
import { formatCount } from '../../domain/units.ts';
import { listDiscoveryTopics } from '../../mqtt/home-assistant.ts';
import { readStored } from '../../mqtt/stored-messages.ts';
import { buildLeaseTopic, buildTopics } from '../../mqtt/topics.ts';
import { type Arguments, type CommandSpec, JobError, type Terminal } from '../shared/command.ts';
import { loadConfigWithPaths } from '../shared/load-configuration.ts';
import { STATE_ROW } from '../shared/state-directory.ts';
import { openBrokerLink } from './broker-link.ts';

type Row = 'config' | 'state' | 'json';

export const spec: CommandSpec<Row> = {
  name: 'forget',
  positionals: '',
  options: {
    config: { value: 'FILE', help: 'configuration the agent ran with' },
    state: STATE_ROW,
    json: { help: 'one JSON document' },
  },
  notes: [
    'Stop the agent first: a running one would publish everything again.',
    'State, configuration and credentials on this machine stay.',
  ],
};

/** The filters under which a device's retained messages lie. They share no topic. */
function listFilters(config: LocatedConfig): string[] {
  const { base, load } = buildTopics(config);
  return [`${base}/+`, load('+'), `${load('+')}/+`, ...listDiscoveryTopics(config)];
}

/** The stored messages under a filter. Throws `JobError` when the broker refuses to let this user read them. */
async function listStored(broker: Broker, filter: string): Promise<BrokerMessage[]> {
  const stored = await readStored(broker, filter);
  if (stored === undefined)
    throw new JobError(
      `the broker does not let this user read ${filter}; use the agent's own user, or extend its rights`,
    );
  return [...stored.values()];
}

const readText = ({ payload }: BrokerMessage) => new TextDecoder().decode(payload);

/** The claims that name this agent; another agent's claim of the same charger stays. */
async function findOwnClaims(broker: Broker, { device, loads }: LocatedConfig): Promise<string[]> {
  const claims: string[] = [];
  for (const { output } of loads) {
    for (const { commandTopic } of listMqttDevices(output)) {
      const stored = await listStored(broker, buildLeaseTopic(commandTopic));
      claims.push(...stored.filter((message) => readText(message) === device).map(({ topic }) => topic));
    }
  }
  return claims;
}

async function findTopics(broker: Broker, config: LocatedConfig): Promise<string[]> {
  const { availability } = buildTopics(config);
  const topics: string[] = [];
  for (const filter of listFilters(config)) {
    for (const message of await listStored(broker, filter)) {
      if (message.topic === availability && readText(message) === 'online')
        throw new JobError(
          `the agent of "${config.device}" is running; stop it first, or it publishes everything again`,
        );
      topics.push(message.topic);
    }
  }
  return [...topics, ...(await findOwnClaims(broker, config))];
}

async function erase(broker: Broker, topics: readonly string[]): Promise<void> {
  const remaining: string[] = [];
  for (const topic of topics) if (!(await broker.publish(topic, '', { retain: true }))) remaining.push(topic);
  if (remaining.length === 0) return;
  throw new JobError(
    `${formatCount(remaining.length, 'topic')} could not be erased (${remaining.slice(0, 3).join(', ')}): the broker refused, or the link was lost; try again as the agent's own user`,
  );
}

/** A broker sends only so many stored messages before it awaits their acknowledgement: asks again until none is left. */
async function eraseAll(broker: Broker, config: LocatedConfig): Promise<Set<string>> {
  const erased = new Set<string>();
  for (;;) {
    const topics = (await findTopics(broker, config)).filter((topic) => !erased.has(topic));
    if (topics.length === 0) return erased;
    await erase(broker, topics);
    for (const topic of topics) erased.add(topic);
  }
}

export async function run(args: Arguments<Row>, terminal: Terminal): Promise<number> {
  const config = await loadConfigWithPaths(args.text('config'), terminal, {
    state: args.text('state'),
    allowsMissingCredentials: true,
  });
  if (config.mqtt === undefined) {
    const document = { device: config.device, erased: [] };
    terminal.out(args.flag('json') ? `${JSON.stringify(document)}\n` : 'no broker is configured: nothing to erase\n');
    return 0;
  }
  const link = await openBrokerLink(config, terminal.env, { purpose: 'forget', stop: terminal.stop });
  if (typeof link === 'string') throw new JobError(link);
  try {
    const topics = await eraseAll(link.broker, config);
    if (args.flag('json')) terminal.out(`${JSON.stringify({ device: config.device, erased: [...topics] })}\n`);
    else terminal.out(`${formatCount(topics.size, 'topic')} of "${config.device}" erased at the broker\n`);
    return 0;
  } finally {
    await link.close();
  }
}
