/** Waits briefly for the first state of the broker link, so that MQTT devices do not start with a fault. */

import { waitAbortable } from '../domain/abortable-wait.ts';
import type { Broker, Clock } from '../domain/ports.ts';
import { type Duration, seconds } from '../domain/units.ts';

/** In the machine's own time: relays wait no longer than this for a broker that does not answer. */
const LONGEST_BROKER_WAIT = seconds(2);

export async function awaitBroker(broker: Broker | undefined, clock: Clock, stop: AbortSignal): Promise<void> {
  if (broker === undefined || broker.state.kind !== 'connecting') return;
  let unwatch = () => {};
  const wait = (LONGEST_BROKER_WAIT * (clock.speed ?? 1)) as Duration;
  await waitAbortable<string>({ clock, wait, name: 'broker', signal: stop }, (finish) => {
    unwatch = broker.watchState(({ kind }) => {
      if (kind !== 'connecting') finish(kind);
    });
  });
  unwatch();
}
