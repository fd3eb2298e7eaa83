/** What a broker stores: the retained messages under a filter, read once. */

import type { Broker, BrokerMessage } from '../domain/ports.ts';

/** By topic; undefined where the broker denies reading them. */
export async function readStored(
  broker: Broker,
  filter: string,
): Promise<ReadonlyMap<string, BrokerMessage> | undefined> {
  const stored = new Map<string, BrokerMessage>();
  const receive = (message: BrokerMessage) => {
    if (message.retained && message.payload.byteLength > 0) stored.set(message.topic, message);
  };
  if (!(await broker.subscribe(filter, receive, { wantsRetained: true }))) return undefined;
  // The broker acknowledges a second subscription after it has sent the stored messages of the first, and sends them again.
  await broker.subscribe(filter, () => {}, { wantsRetained: true });
  return stored;
}
