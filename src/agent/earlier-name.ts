/** Erases at the broker what this agent published under the name that it had before its `device` was changed. */

import type { Broker } from '../domain/ports.ts';
import { NAME_PATTERN } from '../domain/text-format.ts';
import { formatCount } from '../domain/units.ts';
import { type Erasure, erasePublished } from '../mqtt/erase-published.ts';
import { findOldLoadTopics } from '../mqtt/remove-old.ts';
import type { AgentContext } from './agent-context.ts';
import type { DocumentStore } from './document-store.ts';

/** The document with the name under which the state's agent has published. */
const DOCUMENT = 'device';

/** An earlier name that could not be erased stays in the state, so that the next start tries again. */
export async function eraseEarlierName(
  { config, log }: Pick<AgentContext, 'config' | 'log'>,
  store: DocumentStore,
  broker: Broker,
): Promise<void> {
  const name = new TextDecoder().decode((await store.load(DOCUMENT))?.bytes);
  if (name === config.device) return;
  if (NAME_PATTERN.test(name)) {
    const earlier = { ...config, device: name };
    // The claims of devices that are still in use pass to the new name by themselves.
    const erasure = await erasePublished(broker, earlier, () => findOldLoadTopics(broker, earlier));
    if (erasure.kind !== 'erased') {
      log('warn', `what this agent published as "${name}" stays at the broker: ${explainErasure(erasure)}`);
      return;
    }
    log('info', `${formatCount(erasure.topics.size, 'topic')} of the earlier name "${name}" erased at the broker`);
  }
  await store.save(DOCUMENT, new TextEncoder().encode(config.device));
}

function explainErasure(erasure: Exclude<Erasure, { readonly kind: 'erased' }>): string {
  switch (erasure.kind) {
    case 'running':
      return "an agent of that name is online; unless it is another house's, stop it and restart this one";
    case 'unreadable':
      return `the broker does not let this user read ${erasure.filter}; extend its rights until the next start, which tries again`;
    case 'refused':
      return 'the broker refused to erase it, or the link was lost; the next start tries again';
  }
}
