/** Waits a moment for the first word of a broker, so that its devices do not begin with a fault. Decides nothing of what follows. */

import { after, type Duration, seconds } from '../units.ts';
import type { Broker, Clock } from '../world.ts';

/** In the machine's own time: relays wait no longer than this for a broker that does not answer. */
const LONGEST = seconds(2);

export function brokerAnswers(broker: Broker | undefined, clock: Clock, stop: AbortSignal): Promise<void> {
  if (broker === undefined || broker.state.kind !== 'connecting' || stop.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      forget();
      late();
      stop.removeEventListener('abort', done);
      resolve();
    };
    const forget = broker.watch(({ kind }) => {
      if (kind !== 'connecting') done();
    });
    const wait = (LONGEST * (clock.speed ?? 1)) as Duration;
    const late = clock.wakeAt(after(clock.now().uptime, wait), 'broker', done);
    stop.addEventListener('abort', done);
  });
}
