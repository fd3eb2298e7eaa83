/** Which wall time the agent goes by: its own, or the service's where nobody vouches for its own. Never touches the machine's clock. */

import { after, type Duration, minutes, seconds } from '../units.ts';
import type { Clock, Moment } from '../world.ts';

/** A trusted clock further off than this is not moved: one of the two is wrong, and the owner must see which. */
export const LARGEST_SKEW = minutes(5);

export interface Timekeeper extends Clock {
  /** The service's clock minus the machine's, after each answer (header `Date`). True when the agent's time changed by it. */
  correct(skew: Duration): boolean;
  /** What is added to the machine's wall time now. */
  correction(): Duration;
  /** The machine's clock is vouched for and yet more than `LARGEST_SKEW` from the service's. */
  conflict(): Duration | undefined;
}

/** Half a minute never matters to 5-minute slots; half a second of machine noise is `speed` times that in accelerated time. */
const tolerance = (speed: number) => seconds(30 + speed / 2);

export function createTimekeeper(machine: Clock): Timekeeper {
  let correction = 0 as Duration;
  let heard = false;
  let conflict: Duration | undefined;

  const now = (): Moment => {
    const { wall, uptime, trusted } = machine.now();
    return { wall: after(wall, correction), uptime, trusted: trusted || heard };
  };
  return {
    now,
    wakeAt: (at, name, run) => machine.wakeAt(at, name, run),
    correct(skew) {
      const { trusted } = machine.now();
      const news = !trusted && !heard;
      heard = true;
      conflict = trusted && Math.abs(skew) > LARGEST_SKEW ? skew : undefined;
      if (conflict !== undefined || Math.abs(skew - correction) < tolerance(machine.speed ?? 1)) return news;
      correction = skew;
      return true;
    },
    correction: () => correction,
    conflict: () => conflict,
  };
}
