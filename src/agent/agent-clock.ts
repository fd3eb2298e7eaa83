/** The agent's wall time: the machine's own, or the service's while the machine's clock is not synchronised. */

import type { Clock, ClockReading } from '../domain/ports.ts';
import {
  addDuration,
  type Duration,
  durationBetween,
  type Instant,
  minutes,
  seconds,
  type Uptime,
} from '../domain/units.ts';

/** A trusted clock further off than this is not moved: one of the two is wrong, and the owner must see which. */
const LARGEST_TRUSTED_SKEW = minutes(5);

export interface AgentClock extends Clock {
  /** The service's clock minus the machine's, after each answer (header `Date`). True when the agent's time changed by it. */
  applySkew(skew: Duration): boolean;
  /** What is added to the machine's wall time now. */
  correction(): Duration;
  /** The machine's clock counts as synchronised and yet is more than `LARGEST_SKEW` from the service's; steady while that stays about the same. */
  skewConflict(): Duration | undefined;
}

/** Half a minute never matters to 5-minute slots; half a second of machine noise is `speed` times that in accelerated time. */
const getSkewTolerance = (speed: number) => seconds(30 + speed / 2);

export function createAgentClock(machine: Clock): AgentClock {
  /** Uptime never steps: a wall clock set meanwhile, by the owner or a time source, does not move the service's time. */
  let serviceTime: { readonly wall: Instant; readonly uptime: Uptime } | undefined;
  let hasServiceTime = false;
  let conflict: Duration | undefined;
  const allowedSkew = getSkewTolerance(machine.speed ?? 1);
  const largestSkew = (LARGEST_TRUSTED_SKEW + (machine.speed === undefined ? 0 : 2 * allowedSkew)) as Duration;

  const wallAt = ({ wall, uptime }: ClockReading): Instant =>
    serviceTime === undefined
      ? wall
      : (Math.round(addDuration(serviceTime.wall, durationBetween(serviceTime.uptime, uptime))) as Instant);
  const correction = (): Duration => {
    const moment = machine.now();
    return durationBetween(moment.wall, wallAt(moment));
  };
  return {
    now: () => {
      const moment = machine.now();
      return { wall: wallAt(moment), uptime: moment.uptime, trusted: moment.trusted || hasServiceTime };
    },
    wakeAt: (at, name, run) => machine.wakeAt(at, name, run),
    applySkew(skew) {
      const { wall, uptime, trusted } = machine.now();
      const isNewlyTrusted = !trusted && !hasServiceTime;
      hasServiceTime = true;
      const previousConflict = conflict;
      conflict = trusted && Math.abs(skew) > largestSkew ? skew : undefined;
      if (conflict !== undefined) {
        if (previousConflict !== undefined && Math.abs(skew - previousConflict) < allowedSkew)
          conflict = previousConflict;
        return isNewlyTrusted;
      }
      const currentCorrection = correction();
      // Two that agree: the machine's own runs smoother.
      const isOwn = trusted && Math.abs(skew) < allowedSkew;
      if (isOwn) serviceTime = undefined;
      else if (Math.abs(skew - currentCorrection) >= allowedSkew)
        serviceTime = { wall: addDuration(wall, skew), uptime };
      return isNewlyTrusted || Math.abs((isOwn ? 0 : skew) - currentCorrection) >= allowedSkew;
    },
    correction,
    skewConflict: () => conflict,
  };
}
