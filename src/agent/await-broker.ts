/** Waits a moment for the first word of a broker, so that its devices do not begin with a fault. Decides nothing of what follows. */

import type { Broker, Clock } from '../domain/ports.ts';
import { addDuration, type Duration, seconds } from '../domain/units.ts';

/** In the machine's own time: relays wait no longer than this for a broker that does not answer. */
const LONGEST_BROKER_WAIT = seconds(2);

export function awaitBroker(broker: Broker | undefined, clock: Clock, stop: AbortSignal): Promise<void> {
  if (broker === undefined || broker.state.kind !== 'connecting' || stop.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const finish = () => {
      unwatch();
      cancelTimeout();
      stop.removeEventListener('abort', finish);
      resolve();
    };
    const unwatch = broker.watchState(({ kind }) => {
      if (kind !== 'connecting') finish();
    });
    const wait = (LONGEST_BROKER_WAIT * (clock.speed ?? 1)) as Duration;
    const cancelTimeout = clock.wakeAt(addDuration(clock.now().uptime, wait), 'broker', finish);
    stop.addEventListener('abort', finish);
  });
}
