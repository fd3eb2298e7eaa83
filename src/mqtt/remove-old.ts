/** Removes what an earlier configuration has left at the broker: documents and Home Assistant entities of loads that are gone. */

import type { Config } from '../config/config.ts';
import { listMqttDevices } from '../domain/levels.ts';
import type { Broker, BrokerMessage } from '../domain/ports.ts';
import { NAME_PATTERN } from '../domain/text-format.ts';
import {
  buildDiscoveryTopic,
  buildRemovedEntities,
  type DiscoveryMessage,
  listDiscoveryTopics,
} from './home-assistant.ts';
import { readStored } from './stored-messages.ts';
import { buildLeaseTopic, buildTopics } from './topics.ts';

/** Takes the entities of an earlier configuration out of Home Assistant, before the present ones are published. */
export async function removeOldEntities(
  broker: Broker,
  config: Config,
  discovery: readonly DiscoveryMessage[],
): Promise<void> {
  for (const topic of listDiscoveryTopics(config)) {
    const stored = (await readStored(broker, topic))?.get(topic);
    if (stored === undefined) continue;
    const now = discovery.find((message) => message.topic === topic);
    const removal = now === undefined ? { topic, payload: '' } : buildRemovedEntities(stored.payload, now);
    if (removal !== undefined) await broker.publish(removal.topic, removal.payload, { retain: true });
  }
}

/** What an earlier configuration had by its `info`: the documents of loads that are gone, and the claims of their devices. */
export async function findOldLoadTopics(broker: Broker, config: Config): Promise<string[]> {
  const { info, load, plan } = buildTopics(config);
  const stored = parseInfo((await readStored(broker, info))?.get(info));
  const names = new Set<unknown>(config.loads.map(({ name }) => name));
  const commandTopics = new Set<unknown>(
    config.loads.flatMap(({ output }) => listMqttDevices(output).map((device) => device.commandTopic)),
  );
  const topics: (string | undefined)[] = [];
  for (const { name, commandTopics: claimed } of stored) {
    if (isLoadName(name) && !names.has(name)) topics.push(load(name), plan(name), buildDiscoveryTopic(config, name));
    for (const commandTopic of Array.isArray(claimed) ? claimed : [])
      if (typeof commandTopic === 'string' && !commandTopics.has(commandTopic))
        topics.push(await findOwnClaim(broker, config, commandTopic));
  }
  return topics.filter((topic) => topic !== undefined);
}

export async function removeOldLoads(broker: Broker, config: Config): Promise<void> {
  for (const topic of await findOldLoadTopics(broker, config)) await broker.publish(topic, '', { retain: true });
}

const isLoadName = (name: unknown): name is string => typeof name === 'string' && NAME_PATTERN.test(name);

/** Another agent's claim of the device stays. */
async function findOwnClaim(broker: Broker, { device }: Config, commandTopic: string): Promise<string | undefined> {
  const topic = buildLeaseTopic(commandTopic);
  const claim = (await readStored(broker, topic))?.get(topic);
  return claim !== undefined && new TextDecoder().decode(claim.payload) === device ? topic : undefined;
}

interface StoredLoad {
  readonly name?: unknown;
  readonly commandTopics?: unknown;
}

/** The loads of a stored `info`; none of anything else. */
function parseInfo(message: BrokerMessage | undefined): readonly StoredLoad[] {
  try {
    const { loads } = JSON.parse(new TextDecoder().decode(message?.payload)) as { readonly loads?: unknown };
    return Array.isArray(loads) ? loads.filter((load) => typeof load === 'object' && load !== null) : [];
  } catch {
    return [];
  }
}
