/** Which wall time the agent goes by: its own, or the service's where nobody vouches for its own. Never touches the machine's clock. */

import { after, between, type Duration, type Instant, minutes, seconds, type Uptime } from '../units.ts';
import type { Clock, Moment } from '../world.ts';

/** A trusted clock further off than this is not moved: one of the two is wrong, and the owner must see which. */
export const LARGEST_SKEW = minutes(5);

export interface Timekeeper extends Clock {
  /** The service's clock minus the machine's, after each answer (header `Date`). True when the agent's time changed by it. */
  correct(skew: Duration): boolean;
  /** What is added to the machine's wall time now. */
  correction(): Duration;
  /** The machine's clock is vouched for and yet more than `LARGEST_SKEW` from the service's; steady while that stays about the same. */
  conflict(): Duration | undefined;
}

/** Half a minute never matters to 5-minute slots; half a second of machine noise is `speed` times that in accelerated time. */
const tolerance = (speed: number) => seconds(30 + speed / 2);

export function createTimekeeper(machine: Clock): Timekeeper {
  /** Uptime never steps: a wall clock set meanwhile, by the owner or a time source, does not move the service's time. */
  let service: { readonly wall: Instant; readonly uptime: Uptime } | undefined;
  let heard = false;
  let conflict: Duration | undefined;
  const slack = tolerance(machine.speed ?? 1);
  const largest = (LARGEST_SKEW + (machine.speed === undefined ? 0 : 2 * slack)) as Duration;

  const wallAt = ({ wall, uptime }: Moment): Instant =>
    service === undefined ? wall : (Math.round(after(service.wall, between(service.uptime, uptime))) as Instant);
  const correction = (): Duration => {
    const moment = machine.now();
    return between(moment.wall, wallAt(moment));
  };
  return {
    now: () => {
      const moment = machine.now();
      return { wall: wallAt(moment), uptime: moment.uptime, trusted: moment.trusted || heard };
    },
    wakeAt: (at, name, run) => machine.wakeAt(at, name, run),
    correct(skew) {
      const { wall, uptime, trusted } = machine.now();
      const news = !trusted && !heard;
      heard = true;
      const before = conflict;
      conflict = trusted && Math.abs(skew) > largest ? skew : undefined;
      if (conflict !== undefined) {
        if (before !== undefined && Math.abs(skew - before) < slack) conflict = before;
        return news;
      }
      const held = correction();
      // Two that agree: the machine's own runs smoother.
      const isOwn = trusted && Math.abs(skew) < slack;
      if (isOwn) service = undefined;
      else if (Math.abs(skew - held) >= slack) service = { wall: after(wall, skew), uptime };
      return news || Math.abs((isOwn ? 0 : skew) - held) >= slack;
    },
    correction,
    conflict: () => conflict,
  };
}
