/** `gridtide forget`: erases what an agent has left at the broker: its retained topics, its claims of devices and its Home Assistant entities. */

import type { LocatedConfig } from '../../config/config-paths.ts';
import { listMqttDevices } from '../../domain/levels.ts';
import type { Broker } from '../../domain/ports.ts';
import { formatCount } from '../../domain/units.ts';
import { erasePublished } from '../../mqtt/erase-published.ts';
import { readStored } from '../../mqtt/stored-messages.ts';
import { buildLeaseTopic } from '../../mqtt/topics.ts';
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

/** The claims that name this agent; another agent's claim of the same charger stays. */
async function findOwnClaims(broker: Broker, { device, loads }: LocatedConfig): Promise<readonly string[] | string> {
  const claims: string[] = [];
  for (const { output } of loads) {
    for (const { commandTopic } of listMqttDevices(output)) {
      const filter = buildLeaseTopic(commandTopic);
      const stored = await readStored(broker, filter);
      if (stored === undefined) return filter;
      for (const { topic, payload } of stored.values())
        if (new TextDecoder().decode(payload) === device) claims.push(topic);
    }
  }
  return claims;
}

/** Throws `JobError` for what could not be erased. */
async function erase(broker: Broker, config: LocatedConfig): Promise<ReadonlySet<string>> {
  const erasure = await erasePublished(broker, config, () => findOwnClaims(broker, config));
  switch (erasure.kind) {
    case 'erased':
      return erasure.topics;
    case 'running':
      throw new JobError(`the agent of "${config.device}" is running; stop it first, or it publishes everything again`);
    case 'unreadable':
      throw new JobError(
        `the broker does not let this user read ${erasure.filter}; use the agent's own user, or extend its rights`,
      );
    case 'refused':
      throw new JobError(
        `${formatCount(erasure.topics.length, 'topic')} could not be erased (${erasure.topics.slice(0, 3).join(', ')}): the broker refused, or the link was lost; try again as the agent's own user`,
      );
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
    const topics = await erase(link.broker, config);
    if (args.flag('json')) terminal.out(`${JSON.stringify({ device: config.device, erased: [...topics] })}\n`);
    else terminal.out(`${formatCount(topics.size, 'topic')} of "${config.device}" erased at the broker\n`);
    return 0;
  } finally {
    await link.close();
  }
}
