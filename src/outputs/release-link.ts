/** A link to the broker whose last will releases one device: the broker releases it after a dead agent, and a living agent takes it back. */

import type { Broker, BrokerState, Cancel, Clock } from '../domain/ports.ts';
import { addDuration, type Duration, milliseconds, seconds } from '../domain/units.ts';

/** Long enough for a living agent to come back, short enough for the device of a dead one. */
export const RELEASE_DELAY_SECONDS = 1;
/** Before version 5 the broker sends the will at once, then after the delay, which it counts in whole seconds. */
const RELEASE_MOMENTS = [milliseconds(1), seconds(RELEASE_DELAY_SECONDS), seconds(RELEASE_DELAY_SECONDS + 1.5)];
/** What a device reports after its release may come late. */
const RELEASE_QUIET = seconds(10);

export interface ReleaseLinkParts {
  readonly load: string;
  readonly clock: Clock;
  readonly createBroker: () => Broker;
  /** The link is lost: the broker may release the device within `wait`. */
  readonly onLost: (wait: Duration) => void;
  /** The broker may have released the device although the agent lives. */
  readonly onReleased: () => void;
}

export interface ReleaseLink {
  /** May be called again, also after a stop. */
  start(): void;
  /** Leaves the broker without the will. */
  stop(): Promise<void>;
}

export function createReleaseLink({ load, clock, createBroker, onLost, onReleased }: ReleaseLinkParts): ReleaseLink {
  let broker: Broker | undefined;
  let timers: readonly Cancel[] = [];
  let wasOnline = false;

  const cancelTimers = (): void => {
    for (const cancel of timers) cancel();
    timers = [];
  };
  const wakeAfter = (wait: Duration): Cancel =>
    clock.wakeAt(addDuration(clock.now().uptime, wait), `release of ${load}`, onReleased);

  const onState = ({ kind }: BrokerState): void => {
    const isLost = wasOnline && kind === 'offline';
    wasOnline = kind === 'online';
    if (!isLost) return;
    onLost(RELEASE_QUIET);
    cancelTimers();
    timers = RELEASE_MOMENTS.map(wakeAfter);
  };

  return {
    start() {
      if (broker !== undefined) return;
      broker = createBroker();
      wasOnline = false;
      broker.watchState(onState);
      broker.start();
    },
    async stop() {
      const leaving = broker;
      broker = undefined;
      cancelTimers();
      await leaving?.stop();
    },
  };
}
