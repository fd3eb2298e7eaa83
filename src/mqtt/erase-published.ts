/** Erases what an agent has left at the broker: its retained topics and its Home Assistant entities. */

import type { Config } from '../config/config.ts';
import type { Broker } from '../domain/ports.ts';
import { listDiscoveryTopics } from './home-assistant.ts';
import { readStored } from './stored-messages.ts';
import { buildTopics } from './topics.ts';

export type Erasure =
  | { readonly kind: 'erased'; readonly topics: ReadonlySet<string> }
  /** A running agent would publish everything again. */
  | { readonly kind: 'running' }
  | { readonly kind: 'unreadable'; readonly filter: string }
  /** The broker refused, or the link was lost. */
  | { readonly kind: 'refused'; readonly topics: readonly string[] };

/** More topics of the agent that are stored now; a text is the filter that the broker denies reading. */
export type TopicSearch = () => Promise<readonly string[] | string>;

/** The filters under which an agent's retained messages lie. They share no topic. */
function listFilters(config: Config): string[] {
  const { base, load } = buildTopics(config);
  return [`${base}/+`, load('+'), `${load('+')}/+`, ...listDiscoveryTopics(config)];
}

async function findStored(broker: Broker, config: Config): Promise<readonly string[] | Erasure> {
  const { availability } = buildTopics(config);
  const topics: string[] = [];
  for (const filter of listFilters(config)) {
    const stored = await readStored(broker, filter);
    if (stored === undefined) return { kind: 'unreadable', filter };
    for (const message of stored.values()) {
      if (message.topic === availability && new TextDecoder().decode(message.payload) === 'online')
        return { kind: 'running' };
      topics.push(message.topic);
    }
  }
  return topics;
}

/** A broker sends only so many stored messages before it awaits their acknowledgement: asks again until none is left. */
export async function erasePublished(
  broker: Broker,
  config: Config,
  findMore: TopicSearch = async () => [],
): Promise<Erasure> {
  const erased = new Set<string>();
  for (;;) {
    const stored = await findStored(broker, config);
    if ('kind' in stored) return stored;
    const more = await findMore();
    if (typeof more === 'string') return { kind: 'unreadable', filter: more };
    const topics = [...new Set([...stored, ...more])].filter((topic) => !erased.has(topic));
    if (topics.length === 0) return { kind: 'erased', topics: erased };
    const refused: string[] = [];
    for (const topic of topics) {
      if (!(await broker.publish(topic, '', { retain: true }))) refused.push(topic);
      erased.add(topic);
    }
    if (refused.length > 0) return { kind: 'refused', topics: refused };
  }
}
