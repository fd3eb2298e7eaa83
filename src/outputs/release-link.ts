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
  /** The link is lost, or back after that: the broker may release the device within `wait`. */
  readonly expectRelease: (wait: Duration) => void;
  /** The broker may have released the device although the agent lives. */
  readonly onReleased: () => void;
}

export interface ReleaseLink {
  /** May be called again, also after a stop. */
  start(): void;
  /** Leaves the broker without the will. */
  stop(): Promise<void>;
  /** False once the broker has answered on this link, which it then has not given up before the call; or when it was never up. */
  mayHaveReleased(): Promise<boolean>;
}

export function createReleaseLink(parts: ReleaseLinkParts): ReleaseLink {
  const { load, clock, createBroker, expectRelease, onReleased } = parts;
  let broker: Broker | undefined;
  let timers: readonly Cancel[] = [];
  let phase: 'new' | 'online' | 'lost' = 'new';

  const cancelTimers = (): void => {
    for (const cancel of timers) cancel();
    timers = [];
  };
  const wakeAfter = (wait: Duration): Cancel =>
    clock.wakeAt(addDuration(clock.now().uptime, wait), `release of ${load}`, onReleased);

  const onState = ({ kind }: BrokerState): void => {
    const before = phase;
    if (kind === 'online') phase = 'online';
    else if (phase === 'online') phase = 'lost';
    if (before === 'new' || phase === before) return;
    expectRelease(RELEASE_QUIET);
    cancelTimers();
    timers = RELEASE_MOMENTS.map(wakeAfter);
  };

  return {
    start() {
      if (broker !== undefined) return;
      broker = createBroker();
      phase = 'new';
      broker.watchState(onState);
      broker.start();
    },
    async stop() {
      const leaving = broker;
      broker = undefined;
      cancelTimers();
      await leaving?.stop();
    },
    async mayHaveReleased() {
      if (broker === undefined || phase === 'new') return false;
      return phase === 'lost' || !(await broker.ping());
    },
  };
}
