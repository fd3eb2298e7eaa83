/** Watches whether the wall clock can be gone by, and says so; moves no clock but the agent's own correction. */

import { durationText } from '../config/written.ts';
import type { Service } from '../service/service.ts';
import { after, type Duration, iso, seconds } from '../units.ts';
import type { Cancel, Clock, Log } from '../world.ts';
import type { Timekeeper } from './time.ts';
import type { Troubles } from './troubles.ts';

export interface ClockWatchParts {
  readonly clock: Timekeeper;
  readonly service: Pick<Service, 'skew'>;
  readonly troubles: Troubles;
  readonly log: Log;
  /** The time the agent goes by is another one, or may be gone by from now on. */
  readonly changed: () => void;
}

export interface ClockWatch {
  /** Until somebody vouches for the clock. */
  start(): void;
  /** After each answer of the service: what it says of the time. */
  heard(): void;
  /** For placing data: two clocks that disagree place none. */
  readonly signalClock: Clock;
  stop(): void;
}

/** Nothing tells when a time source has set the clock, so it is looked at this often until one has. */
const TRUST_AGAIN = seconds(10);
const SUBJECT = 'clock';

export function createClockWatch({ clock, service, troubles, log, changed }: ClockWatchParts): ClockWatch {
  let look: Cancel | undefined;
  let stopped = false;

  const watch = (): void => {
    if (stopped) return;
    const { wall, uptime, trusted } = clock.now();
    if (trusted) {
      troubles.clear(SUBJECT);
      changed();
      return;
    }
    troubles.raise(
      SUBJECT,
      `nothing vouches for this device's clock, which says ${iso(wall)}; the signal drives nothing until a time source or the service tells the time; check the network`,
      'untrusted',
    );
    look = clock.wakeAt(after(uptime, TRUST_AGAIN), 'trust', watch);
  };

  return {
    start: watch,
    heard() {
      const skew = service.skew();
      if (skew === undefined) return;
      const wasConflict = clock.conflict() !== undefined;
      const moved = clock.correct(skew);
      const conflict = clock.conflict();
      if (conflict === undefined) troubles.clear(SUBJECT);
      else
        troubles.raise(
          SUBJECT,
          `this device's clock is ${lengthOf(conflict)} ${conflict > 0 ? 'behind' : 'ahead of'} the service's though it is synchronised; the signal drives nothing until they agree; check the time source`,
        );
      if (moved) log('info', goingBy(clock.correction()));
      if (moved || wasConflict !== (conflict !== undefined)) changed();
    },
    signalClock: {
      ...clock,
      now: () => {
        const moment = clock.now();
        return { ...moment, trusted: moment.trusted && clock.conflict() === undefined };
      },
    },
    stop() {
      stopped = true;
      look?.();
    },
  };
}

const lengthOf = (skew: Duration) => durationText(seconds(Math.round(Math.abs(skew) / 1_000)));

function goingBy(correction: Duration): string {
  if (correction === 0) return "going by this device's own clock again";
  return `going by the service's time, ${lengthOf(correction)} ${correction > 0 ? 'ahead of' : 'behind'} this device's clock`;
}
