/** Waits a moment for the first state of the broker link, so that MQTT devices do not begin with a fault. */

import type { Broker, Clock } from '../domain/ports.ts';
import { seconds } from '../domain/units.ts';
import { waitAtMost, waitForAbort } from '../domain/wait.ts';

/** In the machine's own time: relays wait no longer than this for a broker that does not answer. */
const LONGEST_BROKER_WAIT = seconds(2);

export async function awaitBroker(broker: Broker | undefined, clock: Clock, stop: AbortSignal): Promise<void> {
  if (broker === undefined || broker.state.kind !== 'connecting' || stop.aborted) return;
  const answered = new AbortController();
  const unwatch = broker.watchState(({ kind }) => {
    if (kind !== 'connecting') answered.abort();
  });
  await waitAtMost(LONGEST_BROKER_WAIT, waitForAbort(AbortSignal.any([answered.signal, stop])), {
    clock,
    name: 'broker',
  });
  unwatch();
}
