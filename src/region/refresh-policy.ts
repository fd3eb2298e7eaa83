/** Decides when to check the region again (specification 1: at least once a month). */

import { hashFraction } from '../domain/hash-fraction.ts';
import { addDuration, type Duration, days, durationBetween, hours, type Instant } from '../domain/units.ts';

/** Below a month, so that a day without network does not make it more. */
const REFRESH_INTERVAL = days(28);
/** Devices with the same answer at the same moment spread their next check over this. */
const EARLY_SPREAD = hours(1);
/** An early check without a change is not repeated sooner. */
const EARLY_INTERVAL = days(1);
const FIRST_RETRY_DELAY = hours(1);
const MAX_RETRY_DELAY = days(1);

/** The service refuses the region, my-access no longer lists it, its index is missing, damaged or of another format, or somebody imported another map. */
export type EarlyReason = 'region-refused' | 'region-not-in-access' | 'map-unusable' | 'map-imported';

export interface RefreshState {
  /** Any stable text that differs between devices. */
  readonly device: string;
  readonly now: Instant;
  /** The last successful check by the map or region-from-loc; absent: never. */
  readonly checkedAt?: Instant;
  /** Failed attempts since then, and when the last was. */
  readonly failures: number;
  readonly failedAt?: Instant;
  readonly early?: { readonly since: Instant; readonly why: EarlyReason };
}

export interface ScheduledRefresh {
  readonly at: Instant;
  readonly why: 'first' | 'regular' | 'retry' | EarlyReason;
}

/** The first instant after `from` on the device's own grid of periods, the same after any restart. */
function findNextPeriod(device: string, from: Instant): Instant {
  const offset = hashFraction(device) * REFRESH_INTERVAL;
  const turns = Math.floor((from - offset) / REFRESH_INTERVAL) + 1;
  return Math.round(offset + turns * REFRESH_INTERVAL) as Instant;
}

const chooseLater = (a: Instant, b: Instant) => (a > b ? a : b);

const computeRetryDelay = (failures: number): Duration =>
  Math.min(FIRST_RETRY_DELAY * 2 ** Math.min(failures - 1, 10), MAX_RETRY_DELAY) as Duration;

/** When to refresh next and why. An instant in the past means now; a wall clock set back by years does not stop it. */
export function scheduleMapRefresh(state: RefreshState): ScheduledRefresh {
  const { device, now, failures, failedAt, early } = state;
  const spread = (hashFraction(`early ${device}`) * EARLY_SPREAD) as Duration;
  // A check that lies in the future was made by a clock that was wrong.
  const checkedAt = state.checkedAt !== undefined && state.checkedAt <= now ? state.checkedAt : undefined;

  const due = ((): ScheduledRefresh => {
    if (checkedAt === undefined) return { at: now, why: 'first' };
    const regular = findNextPeriod(device, checkedAt);
    if (early === undefined || early.since < checkedAt) return { at: regular, why: 'regular' };
    const soon = chooseLater(addDuration(early.since, spread), addDuration(checkedAt, EARLY_INTERVAL));
    return soon < regular ? { at: soon, why: early.why } : { at: regular, why: 'regular' };
  })();

  if (failures === 0 || failedAt === undefined || failedAt > now) return due;
  const retry = addDuration(failedAt, computeRetryDelay(failures));
  return retry > due.at ? { at: retry, why: 'retry' } : due;
}

/** Whether the last check is older than a month. */
export const isCheckOverdue = (checkedAt: Instant | undefined, now: Instant) =>
  checkedAt === undefined || durationBetween(checkedAt, now) > days(31);
