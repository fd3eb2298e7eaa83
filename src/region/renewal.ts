/** When to look again for the region (specification 1: at least once a month) and what a changed answer means. Pure; asks nobody. */

import { spreadOf } from '../spread.ts';
import { after, between, type Duration, days, hours, type Instant, type Place } from '../units.ts';
import type { HomeRegion, RegionChange } from './map.ts';

/** Below a month, so that a day without network does not make it more. */
const PERIOD = days(28);
/** Devices told the same thing at the same moment come back spread over this. */
const EARLY_SPREAD = hours(1);
/** An early look that changes nothing is not repeated sooner. */
const EARLY_AGAIN = days(1);
const FIRST_RETRY = hours(1);
const LAST_RETRY = days(1);

/** The service refuses the held region, my-access no longer lists it, or the index it came from is gone, damaged or of another format. */
export type EarlyReason = 'region-refused' | 'region-not-in-access' | 'map-unusable';

export interface RefreshState {
  /** Any stable text that differs between devices. */
  readonly device: string;
  readonly now: Instant;
  /** When the map (or region-from-loc) was last asked with success; absent: never. */
  readonly checkedAt?: Instant;
  /** Failed attempts since then, and when the last was. */
  readonly failures: number;
  readonly failedAt?: Instant;
  readonly early?: { readonly since: Instant; readonly why: EarlyReason };
}

export interface Refresh {
  readonly at: Instant;
  readonly why: 'first' | 'monthly' | 'retry' | EarlyReason;
}

/** The first instant after `from` on the device's own grid of periods, the same after any restart. */
function nextOnGrid(device: string, from: Instant): Instant {
  const offset = spreadOf(device) * PERIOD;
  const turns = Math.floor((from - offset) / PERIOD) + 1;
  return Math.round(offset + turns * PERIOD) as Instant;
}

const later = (a: Instant, b: Instant) => (a > b ? a : b);

const retryAfter = (failures: number): Duration =>
  Math.min(FIRST_RETRY * 2 ** Math.min(failures - 1, 10), LAST_RETRY) as Duration;

/** When to refresh next and why. An instant in the past means now; a wall clock set back by years does not stop it. */
export function nextMapRefresh(state: RefreshState): Refresh {
  const { device, now, failures, failedAt, early } = state;
  const spread = (spreadOf(`early ${device}`) * EARLY_SPREAD) as Duration;
  // A check that lies in the future was made by a clock that was wrong.
  const checkedAt = state.checkedAt !== undefined && state.checkedAt <= now ? state.checkedAt : undefined;

  const due = ((): Refresh => {
    if (checkedAt === undefined) return { at: now, why: 'first' };
    const monthly = nextOnGrid(device, checkedAt);
    if (early === undefined || early.since < checkedAt) return { at: monthly, why: 'monthly' };
    const soon = later(after(early.since, spread), after(checkedAt, EARLY_AGAIN));
    return soon < monthly ? { at: soon, why: early.why } : { at: monthly, why: 'monthly' };
  })();

  if (failures === 0 || failedAt === undefined || failedAt > now) return due;
  const retry = after(failedAt, retryAfter(failures));
  return retry > due.at ? { at: retry, why: 'retry' } : due;
}

/** Whether the last look is older than a month. */
export const isOverdue = (checkedAt: Instant | undefined, now: Instant) =>
  checkedAt === undefined || between(checkedAt, now) > days(31);

export interface FoundRegion {
  readonly region: string;
  readonly regionFullName: string;
  readonly mapLastUpdated?: Instant;
  readonly source: HomeRegion['source'];
}

const quoted = ({ region, regionFullName }: FoundRegion | HomeRegion) => `${region} (${regionFullName})`;

/** What a newly `found` region means: a region in use is given up for another only once the service knows that one (`adopt`). */
export function regionChange(
  place: Place,
  held: HomeRegion | undefined,
  found: FoundRegion | undefined,
): RegionChange | undefined {
  if (held === undefined) return found === undefined ? undefined : { kind: 'first', home: { place, ...found } };
  const { proposed: _, mapLastUpdated: __, ...kept } = held;
  if (found === undefined) {
    const message = `the place lies in no region any more; ${quoted(held)} stays in use; check the place's latitude and longitude`;
    return { kind: 'vanished', home: held, message };
  }
  const dated = found.mapLastUpdated === undefined ? {} : { mapLastUpdated: found.mapLastUpdated };
  if (found.region === held.region) return { kind: 'same', home: { place, ...found } };
  const { region, regionFullName } = found;
  const message = `the place now lies in ${quoted(found)} instead of ${quoted(held)}, which stays in use until the service answers for the new one`;
  return {
    kind: 'changed',
    home: { ...kept, ...dated, source: found.source, proposed: { region, regionFullName } },
    message,
  };
}

/** The proposed region in use: for when the service knows it (my-access lists it, region-from-loc names it) or refuses the old one. */
export function adopt(home: HomeRegion): HomeRegion {
  const { proposed, ...rest } = home;
  return proposed === undefined ? home : { ...rest, ...proposed };
}
