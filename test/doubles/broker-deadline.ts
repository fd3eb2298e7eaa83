/** A deadline by the broker's own clock: the last will of a bare client, which the broker sends so many seconds after that client has gone. */

import { connectAsync } from 'mqtt';

export const DEADLINE_TOPIC = 'test/deadline';

interface BrokerDeadline {
  /** From now on the broker counts. */
  begin(): void;
}

/** The machine may stop this process, the agent or the broker meanwhile: what the broker sends before the deadline was in time. */
export async function setBrokerDeadline(url: string, seconds: number): Promise<BrokerDeadline> {
  const client = await connectAsync(url, {
    protocolVersion: 5,
    reconnectPeriod: 0,
    keepalive: 0,
    properties: { sessionExpiryInterval: seconds + 60 },
    will: {
      ...{ topic: DEADLINE_TOPIC, payload: Buffer.from('over'), qos: 0, retain: false },
      properties: { willDelayInterval: seconds },
    },
  });
  client.on('error', () => {});
  return { begin: () => void client.stream.destroy() };
}
